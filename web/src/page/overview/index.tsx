import { lazy, Suspense } from "react";
import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { Empty, Loading, Page } from "../../kit";
import { useChanges } from "../../live";
import { Link, useSearch } from "../../router";
import { text as textParam } from "../../search";
import { usePageWords, useWords } from "../../words";
import { Failures } from "./Failures";
import { Flow } from "./Flow";
import { Needs } from "./Needs";
import { Numbers } from "./Numbers";
import "./overview.css";
import { Ready } from "./Ready";
import { text } from "./words";

const Tour = lazy(() => import("./tour/Tour"));
/** The name of a tour, or `new`. */
const spec = { tour: textParam() };

/** Is all well, and what needs me? */
export default function Overview() {
  const w = useWords();
  const t = usePageWords(text);
  const can = useMe().can("executions:read");
  const counts = useRead("/executions/counts", { query: { groupBy: "status" } }, { enabled: can });
  const nothing = counts.data?.total === 0;
  const [{ tour }] = useSearch(spec);
  const every = useChanges("", can && tour === "");
  const tryIt = (kind: string) => (
    <Link to="overview" search={{ tour: "new" }} className={`button ${kind}`}>
      {t.tryIt}
    </Link>
  );
  if (tour !== "") {
    return (
      <Page title={w.nav.overview} subtitle={t.tourHint} actions={<Ready />}>
        <Suspense fallback={<Loading label={w.page.loading} lines={6} />}>
          <Tour run={tour} />
        </Suspense>
      </Page>
    );
  }
  const actions = (
    <>
      <Ready />
      {!nothing && tryIt("")}
    </>
  );
  return (
    <Page title={w.nav.overview} subtitle={t.subtitle} actions={actions}>
      {nothing ? (
        <section className="section">
          <Empty title={t.tryTitle} command="renga graph apply examples/order.yaml" action={tryIt("primary")}>
            {t.tryHint}
          </Empty>
        </section>
      ) : (
        <Numbers every={every} />
      )}
      <div className="ov-grid">
        <Needs every={every} />
        <div className="ov-side">
          <Flow />
          <Failures />
        </div>
      </div>
    </Page>
  );
}
