import { catalogue } from "../../words";

export const text = catalogue(
  {
    subtitle: "Tasks that no worker has claimed yet.",
    queue: "Queue",
    ready: "Ready",
    share: "Share",
    oldest: (zone: string) => `Oldest since, ${zone}`,
    waits: "Oldest waits",
    state: "Workers",
    claims: "claim",
    none: "Nobody claims",
    noneWhy: (queue: string, for_: string) =>
      `No worker has claimed a task of “${queue}” for ${for_}. None asks for this queue, or all are busy.`,
    start: "Start a worker, or claim by hand:",
    emptyTitle: "No task waits for a worker",
    empty: "A queue appears here while it has ready tasks. A worker claims them.",
    atLeast: (n: string) => `${n} or more`,
    total: (n: string, one: boolean) => (one ? "1 queue" : `${n} queues`),
  },
  {
    subtitle: "まだどのワーカーも取得していないタスク。",
    queue: "キュー",
    ready: "準備完了",
    share: "割合",
    oldest: (zone) => `最も古いタスクの時刻 (${zone})`,
    waits: "最長の待ち時間",
    state: "ワーカー",
    claims: "取得中",
    none: "取得なし",
    noneWhy: (queue, for_) =>
      `キュー「${queue}」のタスクは ${for_} の間どのワーカーにも取得されていません。このキューを担当するワーカーがないか、すべて処理中です。`,
    start: "ワーカーを起動するか、手動で取得してください:",
    emptyTitle: "ワーカーを待つタスクはありません",
    empty: "準備完了のタスクがあるキューがここに表示されます。ワーカーがタスクを取得します。",
    atLeast: (n) => `${n} 以上`,
    total: (n) => `${n} 個のキュー`,
  },
);
