import { useState } from "react";
import { useMe } from "../../api";
import { signOut } from "../../api/session";
import { Button, ErrorBox, Id, Page, Section, Segmented, showDuration, Time } from "../../kit";
import { setPref, usePrefs } from "../../prefs";
import { usePageWords, useWords } from "../../words";
import { text } from "./words";

/** Zone, language, theme, density; who the caller is, and what the server is. */
export default function Settings() {
  const w = useWords();
  return (
    <Page title={w.nav.settings}>
      <div className="settings">
        <Look />
        <You />
        <Server />
      </div>
    </Page>
  );
}

function Look() {
  const w = useWords();
  const t = usePageWords(text);
  const p = usePrefs();
  const options = <T extends string>(words: Record<T, string>, ...values: T[]) =>
    values.map((value) => ({ value, label: words[value] }));
  return (
    <Section title={t.look}>
      <div className="stack">
        <Segmented
          label={w.theme.label}
          value={p.theme}
          options={options(w.theme, "system", "light", "dark")}
          onChange={(v) => setPref("theme", v)}
        />
        <Segmented
          label={w.language.label}
          value={p.language}
          options={options(w.language, "en", "ja")}
          onChange={(v) => setPref("language", v)}
        />
        <Segmented
          label={w.zone.label}
          value={p.zone}
          options={options(w.zone, "local", "utc", "jst")}
          onChange={(v) => setPref("zone", v)}
        />
        <Segmented
          label={w.density.label}
          value={p.density}
          options={options(w.density, "comfortable", "compact")}
          onChange={(v) => setPref("density", v)}
        />
        <p className="hint">{t.stored}</p>
      </div>
    </Section>
  );
}

function You() {
  const w = useWords();
  const t = usePageWords(text);
  const me = useMe();
  const [error, setError] = useState<unknown>();
  const leave = () => {
    setError(undefined);
    // A fresh document: nothing that was read stays in memory.
    signOut().then(() => location.reload(), setError);
  };
  const c = me.caller;
  return (
    <Section
      title={t.you}
      actions={
        me.session.auth === "jwt" && me.session.signedIn && <Button onClick={leave}>{w.sign.out}</Button>
      }
    >
      {error !== undefined && <ErrorBox error={error} />}
      {c && (
        <dl className="facts">
          <dt>{t.tenant}</dt>
          <dd>
            <Id id={c.tenantId} full />
          </dd>
          <dt>{t.user}</dt>
          <dd>{c.user?.name ?? t.nobody}</dd>
          {c.subject && (
            <>
              <dt>{t.subject}</dt>
              <dd>
                <code>{c.subject}</code>
              </dd>
            </>
          )}
          {me.session.expiresAt && (
            <>
              <dt>{t.until}</dt>
              <dd>
                <Time at={me.session.expiresAt} age />
              </dd>
            </>
          )}
          <dt>{t.scopes}</dt>
          <dd className="small-text muted">{c.scopes.join(" · ")}</dd>
        </dl>
      )}
    </Section>
  );
}

function Server() {
  const t = usePageWords(text);
  const me = useMe();
  const { language } = usePrefs();
  const [openedAt] = useState(() => Date.now());
  const c = me.caller;
  if (!c) return null;
  const skew = Math.abs(openedAt - Date.parse(c.now));
  return (
    <Section title={t.server}>
      <dl className="facts">
        <dt>{t.version}</dt>
        <dd>{c.version}</dd>
        <dt>{t.auth}</dt>
        <dd>{c.auth === "none" ? t.none : t.jwt}</dd>
        <dt>{t.clock}</dt>
        <dd>
          <Time at={c.now} />
          {skew > 300_000 && <p className="hint">{t.skew(showDuration(skew, language))}</p>}
        </dd>
      </dl>
    </Section>
  );
}
