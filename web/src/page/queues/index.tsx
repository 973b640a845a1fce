import { useRead, type Answer } from "../../api";
import {
  CopyAs,
  copyText,
  Button,
  Duration,
  Empty,
  ErrorBox,
  Icon,
  Loading,
  Page,
  showDuration,
  StateBadge,
  Table,
  Time,
  toast,
  useNow,
  useZoneName,
  type Column,
} from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords, useWords } from "../../words";
import { text } from "./words";
import "./queues.css";

type Queue = Answer<"/tasks/queues">["items"][number];

/** Workers claim the oldest task first, so while it waits nobody has claimed. Longer than this is worth a word. */
const patience = 15_000;

/** The command that claims a task of a queue by hand. */
const claim = (queue: string) => `renga tasks claim --worker w1 --queue ${queue}`;

/** Do workers keep up? */
export default function Queues() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const zone = useZoneName();
  const now = useNow();
  const queues = useRead("/tasks/queues", { query: { page_size: 100 } }, { every: 2_000 });
  const items = queues.data?.items ?? [];
  const most = Math.max(1, ...items.map((q) => q.ready));
  const number = (n: number) => n.toLocaleString(locale);
  const waits = (q: Queue) => now - Date.parse(q.oldestReadyAt);
  const idle = items.filter((q) => waits(q) > patience);
  const columns: Column<Queue>[] = [
    { id: "queue", head: t.queue, cell: (q) => <code>{q.queue}</code>, width: "minmax(5rem, 2fr)" },
    {
      id: "state",
      head: t.state,
      width: "10rem",
      cell: (q) =>
        waits(q) > patience ? (
          <StateBadge state="WAITING" word={t.none} />
        ) : (
          <StateBadge state="RUNNING" word={t.claims} />
        ),
    },
    {
      id: "ready",
      head: t.ready,
      number: true,
      width: "5.5rem",
      cell: (q) => (q.more ? t.atLeast(number(q.ready)) : number(q.ready)),
    },
    {
      id: "share",
      head: t.share,
      from: 760,
      width: "minmax(6rem, 1fr)",
      cell: (q) => (
        <span className="queue-bar" style={{ width: `${Math.max(2, (q.ready / most) * 100)}%` }} />
      ),
    },
    {
      id: "waits",
      head: t.waits,
      number: true,
      width: "9rem",
      from: 420,
      cell: (q) => <Duration from={q.oldestReadyAt} />,
    },
    {
      id: "oldest",
      head: t.oldest(zone),
      from: 860,
      width: "15rem",
      cell: (q) => <Time at={q.oldestReadyAt} bare />,
    },
  ];
  return (
    <Page
      title={w.nav.queues}
      subtitle={
        items.length > 0 && queues.data
          ? `${t.total(number(queues.data.total), queues.data.total === 1)} · ${t.subtitle}`
          : t.subtitle
      }
      actions={<CopyAs method="GET" path="tasks/queues" cli="renga tasks queues" />}
    >
      {queues.isPending && <Loading label={w.page.loading} />}
      {queues.error && <ErrorBox error={queues.error} onRetry={() => void queues.refetch()} />}
      {queues.data && items.length === 0 && (
        <Empty title={t.emptyTitle} command={claim("default")}>
          {t.empty}
        </Empty>
      )}
      {idle.length > 0 && (
        <div className="queue-warnings">
          {idle.map((q) => (
            <Warning key={q.queue} queue={q} ms={waits(q)} />
          ))}
        </div>
      )}
      {items.length > 0 && (
        <Table
          label={w.nav.queues}
          columns={columns}
          count={items.length}
          row={(i) => items[i]}
          rowKey={(q) => q.queue}
        />
      )}
    </Page>
  );
}

/** A queue with ready tasks that nobody claims: what it means, and what to do. */
function Warning({ queue, ms }: { queue: Queue; ms: number }) {
  const t = usePageWords(text);
  const w = useWords();
  const { language } = usePrefs();
  const command = claim(queue.queue);
  return (
    <div className="queue-warning">
      <Icon name="warn" />
      <div>
        <p>{t.noneWhy(queue.queue, showDuration(Math.floor(ms / 1000) * 1000, language))}</p>
        <p className="muted">
          {t.start} <code>{command}</code>
        </p>
      </div>
      <Button small onClick={() => void copyText(command).then((ok) => toast(ok ? w.do.copied : command))}>
        {w.do.copy}
      </Button>
    </div>
  );
}
