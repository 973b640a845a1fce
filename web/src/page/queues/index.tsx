import { useRead, type Answer } from "../../api";
import { CopyAs, Duration, Empty, ErrorBox, Loading, Page, Table, Time, type Column } from "../../kit";
import { useLocale, usePageWords, useWords } from "../../words";
import { text } from "./words";

type Queue = Answer<"/tasks/queues">["items"][number];

/** Do workers keep up? */
export default function Queues() {
  const w = useWords();
  const t = usePageWords(text);
  const locale = useLocale();
  const queues = useRead("/tasks/queues", { query: { page_size: 100 } }, { every: 2_000 });
  const items = queues.data?.items ?? [];
  const number = (n: number) => n.toLocaleString(locale);
  const columns: Column<Queue>[] = [
    { id: "queue", head: t.queue, cell: (q) => <code>{q.queue}</code>, width: "minmax(10rem, 2fr)" },
    {
      id: "ready",
      head: t.ready,
      number: true,
      width: "9rem",
      cell: (q) => (q.more ? t.atLeast(number(q.ready)) : number(q.ready)),
    },
    {
      id: "waits",
      head: t.waits,
      number: true,
      width: "9rem",
      cell: (q) => <Duration from={q.oldestReadyAt} />,
    },
    {
      id: "oldest",
      head: t.oldest,
      from: 620,
      width: "minmax(14rem, 1fr)",
      cell: (q) => <Time at={q.oldestReadyAt} />,
    },
  ];
  return (
    <Page
      title={w.nav.queues}
      subtitle={t.subtitle}
      actions={<CopyAs method="GET" path="tasks/queues" cli="renga tasks queues" />}
    >
      {queues.isPending && <Loading label={w.page.loading} />}
      {queues.error && <ErrorBox error={queues.error} onRetry={() => void queues.refetch()} />}
      {queues.data && items.length === 0 && (
        <Empty title={t.emptyTitle} command="renga tasks claim --queue default">
          {t.empty}
        </Empty>
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
