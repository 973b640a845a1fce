import { useRead } from "../../api";
import { useMe } from "../../api/session";
import { cx, Icon, showDuration, useNow } from "../../kit";
import { usePrefs } from "../../prefs";
import { useLocale, usePageWords } from "../../words";
import { consumerLag, outboxLag, type Consumer } from "./lag";
import { Part } from "./Part";
import { text } from "./words";

/** The way of events: what waits to be published, and how far each consumer has read. */
export function Flow() {
  const t = usePageWords(text);
  const locale = useLocale();
  const can = useMe().can("events:read");
  const options = { every: 2_000, enabled: can, keep: true };
  const outbox = useRead("/events/outbox", { query: { page_size: 10 } }, options);
  const consumers = useRead("/events/consumers", {}, options);
  const now = useNow();
  const read = {
    data: outbox.data && consumers.data,
    error: outbox.error ?? consumers.error,
    refetch: () => Promise.all([outbox.refetch(), consumers.refetch()]),
  };
  return (
    <Part title={t.flow} note={t.flowHint} scope="events:read" read={read} className="ov-flow">
      {() => {
        const o = outbox.data;
        if (!o || !consumers.data) return null;
        const behind = outboxLag(o, now);
        const known = consumers.data.items.filter((c) => c.configured);
        return (
          <div className="ov-strip">
            <div className={cx("ov-station", behind > late && "late")} data-station="outbox">
              <b>{t.outbox}</b>
              <Lag ms={behind} />
              <span className="muted small-text">
                {o.unpublished > 0 ? t.unpublished(o.unpublished.toLocaleString(locale)) : t.published}
              </span>
            </div>
            <span className="ov-arrow" aria-hidden>
              <Icon name="right" />
            </span>
            <ul>
              {known.map((c) => (
                <Station key={c.consumer} consumer={c} now={now} />
              ))}
            </ul>
          </div>
        );
      }}
    </Part>
  );
}

/** From here on somebody should look, in milliseconds. */
const late = 10_000;

function Station({ consumer, now }: { consumer: Consumer; now: number }) {
  const t = usePageWords(text);
  const locale = useLocale();
  const at = consumerLag(consumer, now);
  const said = [
    at.nobody ? t.nobody : "",
    at.pending > 0 ? t.pending(at.pending.toLocaleString(locale)) : "",
    at.keys > 0 ? t.waitingKeys(at.keys.toLocaleString(locale)) : "",
    at.dead > 0 ? t.deadLetters(at.dead.toLocaleString(locale)) : "",
  ].filter((s) => s !== "");
  return (
    <li
      className={cx("ov-station", (at.lag > late || at.nobody || at.dead > 0) && "late")}
      data-station={consumer.consumer}
    >
      <b>{consumer.consumer}</b>
      <Lag ms={at.lag} />
      <span className="muted small-text">{said.length > 0 ? said.join(" · ") : t.upToDate}</span>
    </li>
  );
}

function Lag({ ms }: { ms: number }) {
  const t = usePageWords(text);
  const { language } = usePrefs();
  const s = Math.floor(ms / 1000);
  return (
    <span className="ov-lag num" data-lag={s}>
      {t.lag(s === 0 ? "0 s" : showDuration(s * 1000, language))}
    </span>
  );
}
