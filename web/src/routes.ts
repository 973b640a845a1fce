import type { ComponentType } from "react";

/** A page: its path under `<base>ui/`, and the module that is loaded when somebody goes there. */
export interface Route {
  path: string;
  load: () => Promise<{ default: ComponentType }>;
  /** The page whose entry in the rail is marked. */
  rail: string;
}

// Every page of the console. The default export of a module is the page; nothing of it is in the first load.
export const routes = {
  overview: { path: "", load: () => import("./page/overview"), rail: "overview" },
  executions: { path: "executions", load: () => import("./page/executions"), rail: "executions" },
  execution: { path: "executions/:id", load: () => import("./page/execution"), rail: "executions" },
  bulks: { path: "bulks", load: () => import("./page/bulks"), rail: "bulks" },
  bulk: { path: "bulks/:id", load: () => import("./page/bulks/one"), rail: "bulks" },
  waiting: { path: "waiting", load: () => import("./page/waiting"), rail: "waiting" },
  graphs: { path: "graphs", load: () => import("./page/graphs"), rail: "graphs" },
  graph: { path: "graphs/:id", load: () => import("./page/graph"), rail: "graphs" },
  queues: { path: "queues", load: () => import("./page/queues"), rail: "queues" },
  settings: { path: "settings", load: () => import("./page/settings"), rail: "settings" },
} as const satisfies Record<string, Route>;

export type PageName = keyof typeof routes;

/** The names of the parameters of a path: `executions/:id` → `id`. */
type Names<P extends string> = P extends `${infer A}/${infer B}`
  ? Names<A> | Names<B>
  : P extends `:${infer N}`
    ? N
    : never;

export type Params<N extends PageName> = { [K in Names<(typeof routes)[N]["path"]>]: string };

export interface Match {
  name: PageName;
  params: Record<string, string>;
}

/** Which page a path under `<base>ui/` is, or undefined. */
export function match(path: string): Match | undefined {
  const parts = split(path);
  for (const name of Object.keys(routes) as PageName[]) {
    const want = split(routes[name].path);
    if (want.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = want.every((w, i) => {
      const got = parts[i] ?? "";
      if (!w.startsWith(":")) return w === got;
      params[w.slice(1)] = got;
      return got !== "";
    });
    if (fits) return { name, params };
  }
  return undefined;
}

function split(path: string): string[] {
  return path
    .split("/")
    .filter((p) => p !== "")
    .map((p) => {
      try {
        return decodeURIComponent(p);
      } catch {
        return p;
      }
    });
}

/** The path of a page under `<base>ui/`. */
export function pathOf(name: PageName, params: Record<string, string> = {}): string {
  return routes[name].path
    .split("/")
    .map((p) => (p.startsWith(":") ? encodeURIComponent(params[p.slice(1)] ?? "") : p))
    .join("/");
}
