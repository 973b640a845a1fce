import type { Language, Zone } from "../prefs";
import type { Words } from "../words";

// Times are absolute, with their zone, in the one zone that the person chose; ages stand beside them.

export const zones: Record<Zone, string | undefined> = { local: undefined, utc: "UTC", jst: "Asia/Tokyo" };

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: Zone, withDate: boolean, ms: boolean): Intl.DateTimeFormat {
  const key = `${zone} ${withDate} ${ms}`;
  let f = formats.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat("en-CA", {
      ...(withDate ? { year: "numeric", month: "2-digit", day: "2-digit" } : {}),
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      ...(ms ? { fractionalSecondDigits: 3 as const } : {}),
      hourCycle: "h23",
      timeZone: zones[zone],
      timeZoneName: "longOffset",
    });
    formats.set(key, f);
  }
  return f;
}

/** `2026-01-05 18:00:00 JST`; the local zone shows its offset. */
export function showTime(
  iso: string,
  zone: Zone,
  o: { ms?: boolean; timeOnly?: boolean; bare?: boolean } = {},
): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const p of format(zone, true, o.ms ?? false).formatToParts(at)) parts[p.type] = p.value;
  const second = o.ms ? `${parts.second}.${parts.fractionalSecond}` : parts.second;
  const time = `${parts.hour}:${parts.minute}:${second}`;
  const text = o.timeOnly ? time : `${parts.year}-${parts.month}-${parts.day} ${time}`;
  return o.bare ? text : `${text} ${zoneName(zone, parts.timeZoneName ?? "")}`;
}

/** The zone as heads of columns show it: `UTC+01:00`, `UTC` or `JST`. */
export function showZone(zone: Zone, at = new Date()): string {
  const offset = format(zone, true, false)
    .formatToParts(at)
    .find((p) => p.type === "timeZoneName");
  return zoneName(zone, offset?.value ?? "");
}

function zoneName(zone: Zone, offset: string): string {
  if (zone === "utc") return "UTC";
  if (zone === "jst") return "JST";
  return offset === "GMT" ? "UTC" : offset.replace("GMT", "UTC");
}

/** `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function showDuration(ms: number, language: Language = "en"): string {
  const unit =
    language === "ja"
      ? { d: "日", h: "時間", m: "分", s: "秒", ms: "ミリ秒" }
      : { d: "d", h: "h", m: "min", s: "s", ms: "ms" };
  const n = Math.max(0, ms);
  if (n < 1000) return `${Math.round(n)} ${unit.ms}`;
  const s = n / 1000;
  if (s < 60) return `${s < 10 ? Number(s.toFixed(1)) : Math.floor(s)} ${unit.s}`;
  const two = (a: number, ua: string, b: number, ub: string) =>
    b === 0 ? `${a} ${ua}` : `${a} ${ua} ${b} ${ub}`;
  if (s < 3600) return two(Math.floor(s / 60), unit.m, Math.floor(s % 60), unit.s);
  if (s < 86_400) return two(Math.floor(s / 3600), unit.h, Math.floor((s % 3600) / 60), unit.m);
  return two(Math.floor(s / 86_400), unit.d, Math.floor((s % 86_400) / 3600), unit.h);
}

/** One unit, for ages: `4 min`. */
export function showAge(iso: string, now: number, w: Words, language: Language): string {
  const ms = now - new Date(iso).getTime();
  const abs = Math.abs(ms);
  if (Number.isNaN(ms)) return "";
  if (abs < 2_000) return w.age.now;
  const units: [number, number][] = [
    [86_400_000, 1],
    [3_600_000, 1],
    [60_000, 1],
    [1_000, 1],
  ];
  const [size] = units.find(([u]) => abs >= u) ?? [1_000];
  const one = showDuration(Math.floor(abs / size) * size, language);
  return ms >= 0 ? w.age.past(one) : w.age.future(one);
}

/** An instant as a `datetime-local` control shows it, in a zone; empty when it is none. */
export function toControl(iso: string, zone: Zone): string {
  if (iso === "" || Number.isNaN(Date.parse(iso))) return "";
  return showTime(iso, zone, { bare: true }).replace(" ", "T");
}

/** What a `datetime-local` control holds, as an instant. */
export function fromControl(value: string, zone: Zone): string {
  const offset = { local: "", utc: "Z", jst: "+09:00" }[zone];
  const at = new Date(value + (/T\d\d:\d\d$/.test(value) ? ":00" : "") + offset);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
