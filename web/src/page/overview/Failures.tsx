import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { Age } from "../../kit";
import { Link } from "../../router";
import { useLocale, usePageWords } from "../../words";
import { failureGroups } from "./failures";
import { Part } from "./Part";
import { text } from "./words";

const shown = 5;

/** What failed lately: one line for each graph and error code, which opens the executions. */
export function Failures() {
  const t = usePageWords(text);
  const locale = useLocale();
  const can = useMe().can("executions:read");
  const failed = useRead(
    "/executions",
    { query: { status: ["FAILED"], page_size: 100 } },
    { every: 5_000, enabled: can, keep: true },
  );
  const groups = failureGroups(failed.data?.items ?? []);
  const n = groups.reduce((sum, g) => sum + g.count, 0).toLocaleString(locale);
  return (
    <Part
      title={t.failures}
      note={groups.length > 0 ? t.failuresHint(n) : undefined}
      scope="executions:read"
      read={failed}
      className="ov-failures"
    >
      {() =>
        groups.length === 0 ? (
          <p className="muted">{t.noFailures}</p>
        ) : (
          <ul className="ov-rows">
            {groups.slice(0, shown).map((g) => (
              <li key={`${g.graphId} ${g.errorCode}`}>
                <b className="num">{g.count.toLocaleString(locale)}</b>
                <span className="ov-what">
                  <Link
                    to="executions"
                    search={{ status: "FAILED", graphId: g.graphId, errorCode: g.errorCode }}
                  >
                    {g.graphId}
                  </Link>
                  <code>{g.errorCode === "" ? t.noCode : g.errorCode}</code>
                </span>
                <Age at={g.last} />
              </li>
            ))}
          </ul>
        )
      }
    </Part>
  );
}
