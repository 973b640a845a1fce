import { catalogue } from "../../words";

export const text = catalogue(
  {
    subtitle: "What executions run. Each change of a graph is a new version.",
    graph: "Graph",
    newest: "Version",
    v: (n: string) => `v${n}`,
    active: "Active",
    total: "Executions",
    changed: (zone: string) => `Changed, ${zone}`,
    create: "New graph",
    emptyTitle: "No graph yet",
    empty:
      "A graph says which steps an execution takes, and in what order. It is a text in YAML. " +
      "Register one with the command, or write one here.",
    id: "Name",
    idHint: "Letters, digits, dots, hyphens and underscores. Executions name their graph with it.",
    idWrong: "Give it a name of 1 to 128 letters, digits, dots, hyphens and underscores.",
    example: "Begin with",
    examples: {
      order: "An order: two tasks, one of them with retries",
      approval: "An approval: somebody decides, in time or not",
      parallel: "Tasks side by side: fork and join",
    },
    openEditor: "Open the editor",
  },
  {
    subtitle: "実行の設計図です。変更するたびに新しいバージョンになります。",
    graph: "グラフ",
    newest: "バージョン",
    v: (n) => `v${n}`,
    active: "実行中",
    total: "実行数",
    changed: (zone) => `変更日時 (${zone})`,
    create: "グラフを作成",
    emptyTitle: "グラフはまだありません",
    empty:
      "グラフは、実行がどのステップをどの順序で行うかを YAML で記述したものです。コマンドで登録するか、ここで作成してください。",
    id: "名前",
    idHint: "英数字、ドット、ハイフン、アンダースコア。実行はこの名前でグラフを指定します。",
    idWrong: "英数字、ドット、ハイフン、アンダースコアで 1〜128 文字の名前を入力してください。",
    example: "ひな形",
    examples: {
      order: "注文: 2 つのタスク、うち 1 つは再試行あり",
      approval: "承認: 担当者が期限までに判断",
      parallel: "並行タスク: 分岐と合流",
    },
    openEditor: "エディターを開く",
  },
);
