import { useState } from "react";
import { ApiError, sentence } from "../api/error";
import { useWords } from "../words";
import { Icon } from "./Icon";
import { Button } from "./Button";

/** A sentence that says what happened and what to do, and the request id to copy. */
export function ErrorBox({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const w = useWords();
  const [copied, setCopied] = useState(false);
  const id = error instanceof ApiError ? error.requestId : "";
  const copy = () => {
    void navigator.clipboard.writeText(id).then(() => setCopied(true));
  };
  return (
    <div className="error-box" role="alert">
      <span className="error-mark" aria-hidden>
        <Icon name="warn" />
      </span>
      <div>
        <p>{sentence(error, w)}</p>
        {error instanceof ApiError && (
          <p className="muted small-text">
            <code>{error.code}</code>
            {id !== "" && (
              <>
                {" · "}
                {w.requestId} <code>{id}</code>{" "}
                <button type="button" className="link" onClick={copy}>
                  {copied ? w.do.copied : w.do.copy}
                </button>
              </>
            )}
          </p>
        )}
      </div>
      {onRetry && (
        <Button small onClick={onRetry}>
          {w.do.retry}
        </Button>
      )}
    </div>
  );
}
