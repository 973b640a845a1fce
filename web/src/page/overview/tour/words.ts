import { catalogue } from "../../../words";

export const text = catalogue(
  {
    title: "Tour",
    leave: "Back to Overview",
    graph: "The graph of the tour",
    execution: (n: string) => `Execution ${n} of the tour`,
    open: "Open",
    begin: "Store the graph and start it",
    approve: "Approve",
    decline: "Decline",
    second: "Start another one",
    cancel: "Cancel 1 execution",
    cancelReason: "the tour shows a cancel",
    soon: "Its tasks are being worked on. The button opens when the delivery runs.",
    steps: {
      begin: {
        title: "Store a graph and start it",
        text:
          "A graph says what is to be done: tasks, a wait for a person, and which way it goes. " +
          "One run of it is an execution.",
      },
      work: {
        title: "Watch workers do the tasks",
        text:
          "Workers claim tasks from a queue. " +
          "In this tour the page is the worker: it claims the queue “tour” and takes a second for each.",
      },
      approve: {
        title: "Approve what waits",
        text:
          "The order is above 100, so a person decides. " +
          "The execution waits, for a day if need be, and holds no worker.",
      },
      second: {
        title: "Start a second one",
        text: "This order is small: it needs no approval. Its delivery takes long, so that there is time to cancel.",
      },
      cancel: {
        title: "Cancel it while a task runs",
        text:
          "The delivery runs now. A cancel comes before everything else: whatever the worker reports " +
          "afterwards changes nothing.",
      },
      late: {
        title: "See the late result kept",
        text: "The worker has not heard of the cancel and goes on. In a moment it reports what it did.",
      },
    },
    endTitle: "Nothing was lost",
    endText:
      "The cancel won, and the worker reported too late. " +
      "Its result did not move the execution, but it did happen: it is kept, so that somebody can act on it.",
    endLate: "The late result",
    endWhy: "Why the report was refused",
    endGraph: "The graph",
  },
  {
    title: "ツアー",
    leave: "概要に戻る",
    graph: "ツアーのグラフ",
    execution: (n) => `ツアーの実行 ${n}`,
    open: "開く",
    begin: "グラフを登録して開始",
    approve: "承認",
    decline: "却下",
    second: "もう 1 件開始",
    cancel: "実行 1 件をキャンセル",
    cancelReason: "ツアーでのキャンセル",
    soon: "タスクを処理しています。配送が始まるとボタンが有効になります。",
    steps: {
      begin: {
        title: "グラフを登録して開始する",
        text: "グラフは、行うべきタスク、人を待つ箇所、進む道筋を定めます。グラフを 1 回動かしたものが実行です。",
      },
      work: {
        title: "ワーカーの処理を見る",
        text: "ワーカーはキューからタスクを受け取ります。このツアーではページ自身がワーカーとなり、キュー「tour」のタスクを 1 件 1 秒で処理します。",
      },
      approve: {
        title: "待機を承認する",
        text: "注文額が 100 を超えるため、人が判断します。実行は必要なら 1 日でも待ち、その間ワーカーを占有しません。",
      },
      second: {
        title: "2 件目を開始する",
        text: "今度は少額なので承認は不要です。配送に時間がかかるため、その間にキャンセルできます。",
      },
      cancel: {
        title: "タスクの処理中にキャンセルする",
        text: "配送を処理中です。キャンセルは他のすべてに優先し、その後のワーカーの報告で状態が変わることはありません。",
      },
      late: {
        title: "保存された遅延結果を見る",
        text: "ワーカーはキャンセルを知らずに処理を続けています。まもなく結果を報告します。",
      },
    },
    endTitle: "何も失われていません",
    endText:
      "キャンセルが優先され、ワーカーの報告は間に合いませんでした。結果は実行を進めませんが、実際に起きたことなので、後から対処できるように保存されています。",
    endLate: "遅延結果",
    endWhy: "報告が拒否された理由",
    endGraph: "グラフ",
  },
);
