// Drawn as strokes on 16 × 16: fonts of many machines lack the signs.
const paths = {
  overview: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  executions: "M2.5 4h1M2.5 8h1M2.5 12h1M6 4h7.5M6 8h7.5M6 12h7.5",
  waiting: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3",
  bulks: "M2.5 5.5l5.5-3l5.5 3l-5.5 3zM2.5 8.3l5.5 3l5.5-3M2.5 11l5.5 3l5.5-3",
  graphs:
    "M4 2.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M12 6.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3" +
    "M4 10.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M5.5 4.3l5 3M5.5 11.7l5-3",
  queues: "M2.5 3.5h11v3h-11zM2.5 9.5h11v3h-11z",
  settings:
    "M2.5 4.5h6M12 4.5h1.5M2.5 11.5h1.5M7.5 11.5h6M10.2 2.8a1.7 1.7 0 1 0 0 3.4a1.7 1.7 0 1 0 0-3.4" +
    "M5.8 9.8a1.7 1.7 0 1 0 0 3.4a1.7 1.7 0 1 0 0-3.4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M10.3 10.3l3.2 3.2",
  copy: "M6 5.5h7.5v8h-7.5zM10 5.5v-3h-7.5v8h3.5",
  check: "M3 8.5l3.2 3.2l6.8-7.2",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  down: "M4.5 6.5l3.5 3.5l3.5-3.5",
  right: "M6.5 4.5l3.5 3.5l-3.5 3.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6v-3.5h3.5M10 2.5h3.5v3.5M13.5 10v3.5h-3.5M6 13.5h-3.5v-3.5",
  flag: "M4 14v-11.5M4 3h8.5l-2.5 3l2.5 3h-8.5",
  diamond: "M8 2.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
  mail: "M2.5 4h11v8.5h-11zM2.5 4.5l5.5 4.5l5.5-4.5",
  join: "M2.5 3.5l5.5 4.5l-5.5 4.5M8 8h5.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2.5v2.5h-2.5",
  download: "M8 2.5v7.5M5 7.5l3 3l3-3M2.5 13.5h11",
  warn: "M8 2.5l6 10.5h-12zM8 6.5v3M8 11.2v.1",
  play: "M5 3l8 5l-8 5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  back: "M11.5 3.5v9l-6.5-4.5zM4 3.5v9",
  on: "M4.5 3.5v9l6.5-4.5zM12 3.5v9",
  up: "M4.5 9.5l3.5-3.5l3.5 3.5",
  ban: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M4.2 11.8l7.6-7.6",
  ring: "M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9",
  quarter: "M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9M8 3.5v4.5h4.5",
} as const;

export type IconName = keyof typeof paths;

/** The outline of an icon, for SVG that draws more than one. */
export function iconPath(name: IconName): string {
  return paths[name];
}

export function Icon({ name, size = 16, bold = false }: { name: IconName; size?: number; bold?: boolean }) {
  return (
    <svg
      className={bold ? "icon-mark bold" : "icon-mark"}
      viewBox="0 0 16 16"
      width={size}
      height={size}
      aria-hidden
    >
      <path d={paths[name]} />
    </svg>
  );
}
