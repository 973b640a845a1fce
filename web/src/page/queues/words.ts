import { catalogue } from "../../words";

export const text = catalogue(
  {
    subtitle: "Tasks that no worker has claimed yet.",
    queue: "Queue",
    ready: "Ready",
    oldest: "Oldest waits since",
    waits: "Waits for",
    emptyTitle: "No task waits for a worker",
    empty: "A queue appears here while it has ready tasks. A worker claims them.",
    atLeast: (n: string) => `${n} or more`,
  },
  {
    subtitle: "まだどのワーカーも取得していないタスク。",
    queue: "キュー",
    ready: "準備完了",
    oldest: "最も古いタスクの時刻",
    waits: "待ち時間",
    emptyTitle: "ワーカーを待つタスクはありません",
    empty: "準備完了のタスクがあるキューがここに表示されます。ワーカーがタスクを取得します。",
    atLeast: (n) => `${n} 以上`,
  },
);
