import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { Empty, Page } from "../../kit";
import { Link } from "../../router";
import { usePageWords, useWords } from "../../words";
import { Failures } from "./Failures";
import { Flow } from "./Flow";
import { Needs } from "./Needs";
import { Numbers } from "./Numbers";
import "./overview.css";
import { Ready } from "./Ready";
import { text } from "./words";

/** Is all well, and what needs me? */
export default function Overview() {
  const w = useWords();
  const t = usePageWords(text);
  const can = useMe().can("executions:read");
  const counts = useRead("/executions/counts", { query: { groupBy: "status" } }, { enabled: can });
  const nothing = counts.data?.total === 0;
  const actions = (
    <>
      <Ready />
    </>
  );
  return (
    <Page title={w.nav.overview} subtitle={t.subtitle} actions={actions}>
      {nothing ? (
        <section className="section">
          <Empty
            title={t.tryTitle}
            command="renga graph apply examples/order.yaml"
            action={<Link to="graphs">{w.nav.graphs}</Link>}
          >
            {t.tryHint}
          </Empty>
        </section>
      ) : (
        <Numbers />
      )}
      <div className="ov-grid">
        <Needs />
        <div className="ov-side">
          <Flow />
          <Failures />
        </div>
      </div>
    </Page>
  );
}
