import type { Advice } from "../api/error";

export interface ErrorWords {
  unexpected: string;
  wait: (s: number) => string;
  advice: Record<Exclude<Advice, "">, string>;
  codes: Record<string, string>;
}

// Sentences for errors. A code that is not here shows the server's message and what its retry advice means.
export const errors: { en: ErrorWords; ja: ErrorWords } = {
  en: {
    unexpected: "Something went wrong in the console.",
    wait: (s) => `Wait ${s} s first.`,
    advice: {
      do_not_retry: "Sending it again would not help.",
      retry_after_fix: "Correct it and send it again.",
      retry_with_backoff: "Try again in a moment.",
      retry_immediately: "Try again.",
    },
    codes: {
      NETWORK: "The server did not answer. Check the connection; sending it again has one effect.",
      UNAUTHORIZED: "You are not signed in, or your session is over. Sign in again.",
      FORBIDDEN: "You may not do this. Ask for the scope that it needs.",
      RATE_LIMITED: "There were too many requests. Try again in a moment.",
      UNAVAILABLE: "The server cannot do this right now, and nothing was done. Try again in a moment.",
      INTERNAL: "The server failed. Its log has the cause under the request id.",
      EXECUTION_NOT_FOUND: "There is no such execution in this tenant.",
      GRAPH_NOT_FOUND: "There is no such graph in this tenant.",
      BULK_NOT_FOUND: "There is no such bulk in this tenant.",
      HOST_NOT_ALLOWED:
        "The server does not answer under this host name. Open it under a name that it allows.",
      HTTPS_REQUIRED: "A session needs https: over plain http the cookie could be read on the way.",
    },
  },
  ja: {
    unexpected: "コンソールで問題が発生しました。",
    wait: (s) => `${s} 秒待ってください。`,
    advice: {
      do_not_retry: "再送しても結果は変わりません。",
      retry_after_fix: "修正してから再送してください。",
      retry_with_backoff: "少し待ってから再試行してください。",
      retry_immediately: "再試行してください。",
    },
    codes: {
      NETWORK: "サーバーから応答がありません。接続を確認してください。再送しても効果は一度だけです。",
      UNAUTHORIZED: "サインインしていないか、セッションが終了しました。もう一度サインインしてください。",
      FORBIDDEN: "この操作は許可されていません。必要なスコープを管理者に依頼してください。",
      RATE_LIMITED: "リクエストが多すぎます。少し待ってから再試行してください。",
      UNAVAILABLE:
        "サーバーは今この操作を実行できません。何も変更されていません。少し待って再試行してください。",
      INTERNAL: "サーバーで障害が発生しました。原因はリクエスト ID でログから確認できます。",
      EXECUTION_NOT_FOUND: "このテナントにその実行はありません。",
      GRAPH_NOT_FOUND: "このテナントにそのグラフはありません。",
      BULK_NOT_FOUND: "このテナントにその一括処理はありません。",
      HOST_NOT_ALLOWED: "このホスト名ではサーバーは応答しません。許可された名前で開いてください。",
      HTTPS_REQUIRED: "セッションには https が必要です。http では Cookie が途中で読まれるおそれがあります。",
    },
  },
};
