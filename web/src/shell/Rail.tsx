import { useMe } from "../api";
import icon from "../icon.svg";
import { cx } from "../kit";
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

// 16 × 16, drawn as strokes.
const icons: Record<Plain, string> = {
  overview: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  executions: "M2.5 4h1M2.5 8h1M2.5 12h1M6 4h7.5M6 8h7.5M6 12h7.5",
  waiting: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3",
  bulks: "M2.5 5.5l5.5-3l5.5 3l-5.5 3zM2.5 8.3l5.5 3l5.5-3M2.5 11l5.5 3l5.5-3",
  graphs:
    "M4 2.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M12 6.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M4 10.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M5.5 4.3l5 3M5.5 11.7l5-3",
  queues: "M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z",
  settings:
    "M2.5 4.5h6M12 4.5h1.5M2.5 11.5h1.5M7.5 11.5h6M10.2 2.8a1.7 1.7 0 1 0 0 3.4a1.7 1.7 0 1 0 0-3.4M5.8 9.8a1.7 1.7 0 1 0 0 3.4a1.7 1.7 0 1 0 0-3.4",
};

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
                  <svg viewBox="0 0 16 16" aria-hidden>
                    <path d={icons[p]} />
                  </svg>
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
