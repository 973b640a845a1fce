import { useState } from "react";
import { loginUrl, signIn, useMe } from "../api/session";
import icon from "../icon.svg";
import { Button, Dialog, ErrorBox, Field } from "../kit";
import { useWords } from "../words";

/** Give the server a token, or go where the organisation asks for a password. */
function SignInForm({ onDone }: { onDone: () => void }) {
  const w = useWords();
  const me = useMe();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await signIn(token.trim());
      setToken("");
      await me.refresh();
      onDone();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="form"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      {me.session.oidc && (
        <>
          <a className="button primary" href={loginUrl()}>
            {w.sign.oidc}
          </a>
          <p className="or">{w.sign.or}</p>
        </>
      )}
      <Field label={w.sign.token} hint={w.sign.tokenHint}>
        {(id, by) => (
          <textarea
            id={id}
            aria-describedby={by}
            className="code"
            rows={4}
            autoComplete="off"
            spellCheck={false}
            value={token}
            onChange={(e) => setToken(e.target.value)}
          />
        )}
      </Field>
      {error !== undefined && <ErrorBox error={error} />}
      <Button
        type="submit"
        kind={me.session.oidc ? "plain" : "primary"}
        busy={busy}
        disabled={token.trim() === ""}
      >
        {w.sign.go}
      </Button>
      <p className="hint">{w.sign.hint}</p>
    </form>
  );
}

/** The screen of who is not signed in. */
export function SignIn() {
  const w = useWords();
  return (
    <main className="sign">
      <span className="brand">
        <img src={icon} alt="" />
        {w.product}
      </span>
      <h1>{w.sign.title}</h1>
      <SignInForm onDone={() => undefined} />
    </main>
  );
}

/** The session ended: sign in, and the page goes on where it was. */
export function Expired() {
  const w = useWords();
  return (
    <Dialog title={w.sign.expired} onClose={() => undefined} stays>
      <p>{w.sign.expiredHint}</p>
      <SignInForm onDone={() => undefined} />
    </Dialog>
  );
}
