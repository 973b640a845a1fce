import { Component, type ReactNode } from "react";
import { Button, ErrorBox } from "../kit";
import { useWords } from "../words";

interface Props {
  /** Another value shows the children again: the place in the console. */
  at: string;
  children: ReactNode;
}

/** A page that throws takes nothing else with it. */
export class Boundary extends Component<Props, { error: unknown; at: string }> {
  override state = { error: undefined as unknown, at: this.props.at };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  static getDerivedStateFromProps(p: Props, s: { error: unknown; at: string }) {
    return p.at === s.at ? null : { error: undefined, at: p.at };
  }

  override render() {
    return this.state.error === undefined ? this.props.children : <Broken error={this.state.error} />;
  }
}

function Broken({ error }: { error: unknown }) {
  const w = useWords();
  // A chunk that is gone: the server was updated while this document was open.
  const stale =
    error instanceof TypeError && /dynamically imported module|module script/i.test(error.message);
  return (
    <div className="page">
      <h1>{w.page.broken}</h1>
      <p>{stale ? w.page.newVersion : w.page.brokenHint}</p>
      {!stale && <ErrorBox error={error} />}
      <p>
        <Button kind="primary" onClick={() => location.reload()}>
          {w.page.reload}
        </Button>
      </p>
    </div>
  );
}
