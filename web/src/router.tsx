import { createContext, use, useCallback, useMemo, useSyncExternalStore } from "react";
import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from "react";
import { base } from "./base";
import { match, pathOf, routes, type Match, type PageName, type Params } from "./routes";
import { readSearch, writeSearch, type Spec, type Values } from "./search";

// The router: the URL is the state. Pages are in routes.ts, typed search params in search.ts.

const listeners = new Set<() => void>();
let version = 0;

function changed() {
  version++;
  for (const l of listeners) l();
}

function subscribe(l: () => void) {
  if (listeners.size === 0) addEventListener("popstate", changed);
  listeners.add(l);
  return () => {
    listeners.delete(l);
    if (listeners.size === 0) removeEventListener("popstate", changed);
  };
}

/** Go to a URL of the console: another page begins at its top. */
export function navigate(url: string, options: { replace?: boolean } = {}) {
  const before = location.pathname;
  if (options.replace) history.replaceState(history.state, "", url);
  else history.pushState(null, "", url);
  if (location.pathname !== before) scrollTo(0, 0);
  changed();
}

type To<N extends PageName> = {
  to: N;
  search?: Record<string, string | undefined>;
  hash?: string;
} & (keyof Params<N> extends never ? { params?: undefined } : { params: Params<N> });

/** The URL of a page. */
export function href<N extends PageName>(to: To<N>): string {
  const search = new URLSearchParams();
  for (const [k, v] of Object.entries(to.search ?? {})) if (v !== undefined && v !== "") search.set(k, v);
  const s = search.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  const params = to.params as Record<string, string> | undefined;
  return `${base}ui/${pathOf(to.to, params)}${s === "" ? "" : `?${s}`}${to.hash ? `#${to.hash}` : ""}`;
}

/** Go to a page. */
export function go<N extends PageName>(to: To<N>, options: { replace?: boolean } = {}) {
  navigate(href(to), options);
}

/** The path of this document under `<base>ui/`; "" at the root of the server too. */
function here(): string {
  const path = location.pathname;
  if (!path.startsWith(base)) return "";
  const rest = path.slice(base.length);
  if (rest === "" || rest === "ui") return "";
  return rest.startsWith("ui/") ? rest.slice(3) : `\0${rest}`;
}

const snapshot = () => `${version} ${location.href}`;

export interface Location {
  page: Match | undefined;
  path: string;
  search: string;
}

/** Where the browser is; renders again when that changes. */
export function useLocation(): Location {
  const at = useSyncExternalStore(subscribe, snapshot);
  return useMemo(() => {
    void at;
    const path = here();
    return { page: match(path), path, search: location.search };
  }, [at]);
}

const PageContext = createContext<Match | undefined>(undefined);

export function PageProvider({ page, children }: { page: Match; children: ReactNode }) {
  return <PageContext value={page}>{children}</PageContext>;
}

/** The parameters of the page's path: `const { id } = useParams("execution")`. */
export function useParams<N extends PageName>(name: N): Params<N> {
  const page = use(PageContext);
  if (page?.name !== name) throw new Error(`useParams("${name}") on the page ${page?.name ?? "none"}`);
  return page.params as Params<N>;
}

/**
 * The search params that the spec names, and how to change some. A change replaces the entry in the history unless
 * `push` is set: filters and sliders replace, tabs and pages push.
 */
export function useSearch<S extends Spec>(
  spec: S,
): [Values<S>, (patch: Partial<Values<S>>, options?: { push?: boolean }) => void] {
  const { search } = useLocation();
  const values = useMemo(() => readSearch(spec, search), [spec, search]);
  const set = useCallback(
    (patch: Partial<Values<S>>, options: { push?: boolean } = {}) => {
      const next = writeSearch(spec, location.search, patch);
      if (next === location.search) return;
      navigate(location.pathname + next + location.hash, { replace: !options.push });
    },
    [spec],
  );
  return [values, set];
}

type LinkProps<N extends PageName> = To<N> & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">;

/** A link to a page. Modified clicks (new tab, new window) are the browser's. */
export function Link<N extends PageName>(props: LinkProps<N>) {
  const { to, params, search, hash, onClick, children, ...rest } = props as unknown as LinkProps<PageName> & {
    params?: Record<string, string>;
  };
  const url = href({ to, params, search, hash } as unknown as To<PageName>);
  const click = (e: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(e);
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    navigate(url);
  };
  return (
    <a {...rest} href={url} onClick={click} onPointerEnter={() => void routes[to].load()}>
      {children}
    </a>
  );
}
