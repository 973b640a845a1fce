import { catalogue, counted } from "../../words";

export const text = catalogue(
  {
    groupBy: "Group by",
    groups: { node: "Node", branch: "Branch", worker: "Worker" },
    onlyFailed: "Only failed",
    hideSucceeded: "Hide succeeded",
    critical: "Critical path",
    nothing: "Nothing was ready yet.",
    nothingHint: "Each attempt of a node becomes a bar here, as soon as the execution is started.",
    noneFits: "No node fits these choices.",
    noneFitsHint: "Nothing failed, or everything succeeded.",
    showAll: "Show all nodes",
    partly: "The log is very long: the timeline has its first 200,000 events.",
    rows: (n: string, all: string) => `${n} of ${counted(all, "node", "nodes")}`,
  },
  {
    groupBy: "グループ",
    groups: { node: "ノード", branch: "分岐", worker: "ワーカー" },
    onlyFailed: "失敗のみ",
    hideSucceeded: "成功を隠す",
    critical: "クリティカルパス",
    nothing: "まだ準備完了になったノードはありません。",
    nothingHint: "実行を開始すると、ノードの試行がここにバーで表示されます。",
    noneFits: "条件に合うノードはありません。",
    noneFitsHint: "失敗がないか、すべて成功しています。",
    showAll: "すべてのノードを表示",
    partly: "ログが非常に長いため、最初の 200,000 件のイベントまでを表示しています。",
    rows: (n, all) => `${all} ノード中 ${n} ノード`,
  },
);
