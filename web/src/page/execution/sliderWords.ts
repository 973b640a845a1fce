import { catalogue } from "../../words";

export const text = catalogue(
  {
    slider: "State after event",
    now: "Now",
    toNow: "Back to now",
    position: (n: string, all: string) => `Event ${n} of ${all}`,
    command: (command: string, node: string) => (node === "" ? command : `${command} · ${node}`),
    back: "One command back",
    on: "One command on",
    tenBack: "Ten commands back",
    tenOn: "Ten commands on",
    play: "Play",
    stop: "Stop",
    speed: "Commands a second",
    refused: (n: string) => `${n} refused after it`,
  },
  {
    slider: "イベント直後の状態",
    now: "現在",
    toNow: "現在に戻る",
    position: (n, all) => `イベント ${n} / ${all}`,
    command: (command, node) => (node === "" ? command : `${command} · ${node}`),
    back: "1 コマンド戻る",
    on: "1 コマンド進む",
    tenBack: "10 コマンド戻る",
    tenOn: "10 コマンド進む",
    play: "再生",
    stop: "停止",
    speed: "毎秒のコマンド数",
    refused: (n) => `直後に ${n} 件拒否`,
  },
);
