import { useMe } from "../api";
import icon from "../icon.svg";
import { cx, Icon } from "../kit";
import { Link, useLocation } from "../router";
import { routes, type PageName } from "../routes";
import { useWords } from "../words";

type Plain = "overview" | "executions" | "waiting" | "bulks" | "graphs" | "queues" | "settings";

/** The groups of the rail and their pages, in the order in which they are shown. */
export const groups: readonly { name: "work" | "flow" | undefined; pages: readonly Plain[] }[] = [
  { name: "work", pages: ["overview", "executions", "waiting", "bulks"] },
  { name: "flow", pages: ["graphs", "queues"] },
  { name: undefined, pages: ["settings"] },
];

export function Rail({ open, onNavigate }: { open: boolean; onNavigate: () => void }) {
  const w = useWords();
  const me = useMe();
  const { page } = useLocation();
  const current = page ? (routes[page.name].rail as PageName) : undefined;
  return (
    <nav id="rail" className={cx("rail", open && "open")} aria-label={w.nav.menu} onClick={onNavigate}>
      <Link to="overview" className="brand">
        <img src={icon} alt="" />
        {w.product}
      </Link>
      {groups.map((g) => (
        <div key={g.name ?? "end"}>
          {g.name ? <h2 id={`rail-${g.name}`}>{w.nav[g.name]}</h2> : <h2 aria-hidden> </h2>}
          <ul aria-labelledby={g.name ? `rail-${g.name}` : undefined}>
            {g.pages.map((p) => (
              <li key={p}>
                <Link to={p} aria-current={p === current ? "page" : undefined}>
                  <Icon name={p} />
                  {w.nav[p]}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <div className="rail-foot">{me.caller && <span>Renga {me.caller.version}</span>}</div>
    </nav>
  );
}
