import type { Guard, Remedy } from "../../flow/refused";
import { catalogue, counted } from "../../words";

// The sentences of "Why does it not move?" and of "Why was it refused?": one for each reason and for each guard.

const enRefused: Record<Guard | "unknown", (r: RefusedValues) => string> = {
  business_key: () => "Another execution of this graph is active and has the same business key.",
  cancel_fence: (r) => `A cancel had won at event ${r.fence}; after it nothing moves the execution forward.`,
  execution_active: (r) => `The execution had already ended: it was ${r.execution}.`,
  not_started: () => "The execution was started already; it can only be started once.",
  started: () => "The execution was not started yet.",
  execution_terminal: (r) => `The execution had not ended yet: it was ${r.execution}.`,
  not_archived: () => "The execution was archived already.",
  retry_pending: (r) => `${r.node} was between two attempts; the next one had not begun.`,
  node_task: (r) => `${r.node} is no Task, and only Tasks have workers.`,
  node_ready: (r) => `${r.node} was ${r.nodeStatus}, not Ready, so no attempt could begin.`,
  node_running: (r) => `${r.node} was ${r.nodeStatus}, not Running, so there was nothing to report on.`,
  node_waiting: (r) => `${r.node} was ${r.nodeStatus}, not Waiting, so there was nothing to resume.`,
  node_not_terminal: (r) => `${r.node} had already ended: it was ${r.nodeStatus}.`,
  attempt_due: (r) =>
    `The report was for another attempt of ${r.node}; attempt ${r.attempt} is the one that counts.`,
  lease_owner: (r) => `The attempt of ${r.node} belongs to another worker.`,
  resume_key: (r) => `The resume key is not the wait key of ${r.node}.`,
  assignee: (r) => `${r.node} is for somebody else${r.assignees ? `: ${r.assignees}` : ""}.`,
  message: (r) =>
    `${r.node} does not take this message: its name, key or payload is not what the node asks for.`,
  unknown: (r) => r.text,
};

const jaRefused: Record<Guard | "unknown", (r: RefusedValues) => string> = {
  business_key: () => "同じグラフの別の実行が同じ業務キーで進行中です。",
  cancel_fence: (r) => `イベント ${r.fence} でキャンセルが確定済みのため、以後は実行を進められません。`,
  execution_active: (r) => `実行はすでに終了していました (${r.execution})。`,
  not_started: () => "実行はすでに開始済みです。開始は一度だけです。",
  started: () => "実行はまだ開始されていませんでした。",
  execution_terminal: (r) => `実行はまだ終了していませんでした (${r.execution})。`,
  not_archived: () => "実行はすでにアーカイブ済みです。",
  retry_pending: (r) => `${r.node} は再試行待ちで、次の試行はまだ始まっていませんでした。`,
  node_task: (r) => `${r.node} は Task ではありません。ワーカーが扱うのは Task だけです。`,
  node_ready: (r) => `${r.node} は準備完了ではなく${r.nodeStatus}だったため、試行を開始できませんでした。`,
  node_running: (r) =>
    `${r.node} は実行中ではなく${r.nodeStatus}だったため、報告を受け付けられませんでした。`,
  node_waiting: (r) =>
    `${r.node} は待機中ではなく${r.nodeStatus}だったため、再開するものがありませんでした。`,
  node_not_terminal: (r) => `${r.node} はすでに終了していました (${r.nodeStatus})。`,
  attempt_due: (r) => `${r.node} の別の試行への報告でした。有効なのは ${r.attempt} 回目の試行です。`,
  lease_owner: (r) => `${r.node} の試行は別のワーカーが担当しています。`,
  resume_key: (r) => `再開キーが ${r.node} の待機キーと一致しません。`,
  assignee: (r) => `${r.node} の担当者ではありません${r.assignees ? ` (担当: ${r.assignees})` : ""}。`,
  message: (r) => `${r.node} はこのメッセージを受け取れません。名前・キー・内容のいずれかが異なります。`,
  unknown: (r) => r.text,
};

export interface RefusedValues {
  node: string;
  execution: string;
  nodeStatus: string;
  attempt: string;
  fence: string;
  assignees: string;
  text: string;
}

const enRemedy: Record<Remedy, string> = {
  none: "It is over; sending it again would not help.",
  start_first: "Start the execution first.",
  wait_for_end: "Wait until the execution has ended.",
  wait_for_retry: "The next attempt becomes ready by itself.",
  claim_again: "Claim the attempt that is due.",
  other_node: "Choose another node.",
  node_status: "Wait until the node is in that state.",
  other_key: "Use the right key.",
  other_person: "Ask one of the people it is for.",
  other_message: "Send the message that it waits for.",
};

const jaRemedy: Record<Remedy, string> = {
  none: "完了しているため、再送しても結果は変わりません。",
  start_first: "先に実行を開始してください。",
  wait_for_end: "実行が終わるまで待ってください。",
  wait_for_retry: "次の試行は自動的に準備完了になります。",
  claim_again: "有効な試行を取得し直してください。",
  other_node: "別のノードを選んでください。",
  node_status: "ノードがその状態になるまで待ってください。",
  other_key: "正しいキーを使ってください。",
  other_person: "担当者に依頼してください。",
  other_message: "待っているメッセージを送信してください。",
};

export const text = catalogue(
  {
    /** What stands between two sentences. */
    space: " ",
    why: "Why does it not move?",
    refused: "Why was it refused?",
    movesNot: {
      COMPLETED: "It has completed; nothing is left to do.",
      FAILED: "It has failed; nothing moves it any more. Run it again to get a new execution.",
      CANCELED: "It was canceled; nothing moves it any more.",
    } as Record<string, string>,
    notStarted: (d: string) => `It was created ${d} ago and nobody has started it.`,
    canceling: (n: string) => `A cancel was requested at event ${n}; running workers are told to stop.`,
    resting: "No node is ready, running or waiting. The server is about to decide what comes next.",
    ready: (queue: string, d: string) =>
      `is ready${d && ` for ${d}`}; a worker of the queue ${queue} takes it.`,
    readyHere: "is ready; the server takes it.",
    unclaimed: (queue: string, d: string) => `is ready for ${d}, and nobody claims the queue ${queue}.`,
    ahead: (n: string) => `${counted(n, "task waits", "tasks wait")} in this queue.`,
    retry: (n: string, d: string) => `waits for attempt ${n}, in ${d}.`,
    retryDue: (n: string) => `waits for attempt ${n}, which is due now.`,
    lastFailed: (e: string) => `The last attempt failed: ${e}.`,
    running: (worker: string, d: string) => `runs${worker && ` with ${worker}`}${d && ` since ${d}`}.`,
    lease: (d: string) => `Its lease runs out in ${d} unless the worker is heard of.`,
    leaseOver: "Its lease is over: the server takes the attempt back.",
    timeout: (d: string) => `It times out in ${d}.`,
    progress: (n: string) => `It says ${n} %.`,
    wait: (d: string) => `waits for somebody${d && ` since ${d}`}.`,
    waitKey: (key: string) => `Its wait key is ${key}.`,
    mayDecide: (who: string) => `${who} may decide.`,
    anybody: "Everybody with the right scope may resume it.",
    endsIn: (d: string) => `It times out in ${d}.`,
    reminded: (n: string) => `Reminded ${counted(n, "time", "times")}.`,
    remindsIn: (d: string) => `The next reminder comes in ${d}.`,
    timer: (d: string) => `goes on by itself in ${d}.`,
    message: (name: string) => `waits for the message ${name}.`,
    messageKey: (key: string) => `It must have the key ${key}.`,
    join: (done: string, all: string) => `has ${done} of ${counted(all, "branch", "branches")}.`,
    joinNeeds: (n: string) => `It needs ${n} more.`,
    missing: (list: string) => `Missing: ${list}.`,
    failedBranches: (n: string) => `${counted(n, "branch", "branches")} failed.`,
    more: (n: string) => `and ${n} more`,
    noRefusals: "Nothing was refused.",
    noRefusalsHint: "Commands that come too late or do not fit appear here, with the rule that refused them.",
    sawEvent: (n: string) => `event ${n}`,
    because: "Because of",
    kept: "What it reported was kept: this did happen.",
    remedy: enRemedy,
    guard: enRefused,
    resumeIt: "Resume it",
    openQueue: "Open the queues",
    showNode: "Show the node",
    count: (n: string) => counted(n, "node", "nodes"),
    showAll: "Show all",
    commandOf: (command: string, node: string) => `${command} of ${node}`,
    moreRefused: (n: string) => `${counted(n, "older refusal is", "older refusals are")} in the log.`,
  },
  {
    space: "",
    why: "なぜ進まないのか",
    refused: "なぜ拒否されたのか",
    movesNot: {
      COMPLETED: "完了しました。残っている処理はありません。",
      FAILED: "失敗して終了しました。再実行すると新しい実行が作られます。",
      CANCELED: "キャンセルされて終了しました。",
    },
    notStarted: (d) => `${d}前に作成されましたが、まだ開始されていません。`,
    canceling: (n) => `イベント ${n} でキャンセルが要求され、実行中のワーカーに停止を通知しています。`,
    resting: "準備完了・実行中・待機中のノードはありません。サーバーが次を決定するところです。",
    ready: (queue, d) => `は準備完了です${d && ` (${d})`}。キュー ${queue} のワーカーが取得します。`,
    readyHere: "は準備完了です。サーバーが処理します。",
    unclaimed: (queue, d) =>
      `は準備完了のまま ${d} 経過しましたが、キュー ${queue} を取得するワーカーがいません。`,
    ahead: (n) => `このキューで ${n} 件のタスクが待っています。`,
    retry: (n, d) => `は ${n} 回目の試行を待っています (あと ${d})。`,
    retryDue: (n) => `は ${n} 回目の試行がまもなく始まります。`,
    lastFailed: (e) => `前回の試行は失敗しました: ${e}。`,
    running: (worker, d) => `は${worker && ` ${worker} が`}実行中です${d && ` (${d})`}。`,
    lease: (d) => `ワーカーから連絡がなければ、リースは ${d}後に切れます。`,
    leaseOver: "リースが切れました。サーバーが試行を取り戻します。",
    timeout: (d) => `${d}後に時間切れになります。`,
    progress: (n) => `進捗 ${n} %。`,
    wait: (d) => `は誰かの応答を待っています${d && ` (${d})`}。`,
    waitKey: (key) => `待機キーは ${key} です。`,
    mayDecide: (who) => `${who} が決定できます。`,
    anybody: "権限のある人なら誰でも再開できます。",
    endsIn: (d) => `${d}後に時間切れになります。`,
    reminded: (n) => `${n} 回リマインドしました。`,
    remindsIn: (d) => `次のリマインドは ${d}後です。`,
    timer: (d) => `は ${d}後に自動的に進みます。`,
    message: (name) => `はメッセージ ${name} を待っています。`,
    messageKey: (key) => `キーは ${key} である必要があります。`,
    join: (done, all) => `は ${all} 分岐中 ${done} 分岐が到着しています。`,
    joinNeeds: (n) => `あと ${n} 分岐が必要です。`,
    missing: (list) => `未到着: ${list}。`,
    failedBranches: (n) => `${n} 分岐が失敗しました。`,
    more: (n) => `ほか ${n} 件`,
    noRefusals: "拒否されたコマンドはありません。",
    noRefusalsHint: "遅すぎたコマンドや条件に合わないコマンドが、拒否した規則とともにここに表示されます。",
    sawEvent: (n) => `イベント ${n}`,
    because: "原因:",
    kept: "報告された内容は保存されています。これは実際に起きたことです。",
    remedy: jaRemedy,
    guard: jaRefused,
    resumeIt: "再開する",
    openQueue: "キューを開く",
    showNode: "ノードを表示",
    count: (n) => `${n} ノード`,
    showAll: "すべて表示",
    commandOf: (command, node) => `${node} の ${command}`,
    moreRefused: (n) => `それ以前の拒否 ${n} 件はログにあります。`,
  },
);
