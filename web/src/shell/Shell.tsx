import { lazy, Suspense, useEffect, useState, type ComponentType } from "react";
import { useMe } from "../api";
import { ApiError } from "../api/error";
import { Empty, ErrorBox, Loading } from "../kit";
import { useShellKeys } from "../kit/keys";
import { Toasts } from "../kit/Toast";
import { usePrefs } from "../prefs";
import { go, Link, PageProvider, useLocation } from "../router";
import { routes, type PageName } from "../routes";
import { useWords } from "../words";
import { Banners } from "./Banners";
import { Boundary } from "./Broken";
import { KeyList } from "./Keys";
import { Palette } from "./Palette";
import { Rail } from "./Rail";
import { Expired, SignIn } from "./SignIn";
import { Top } from "./Top";
import "./shell.css";

// One lazy component for each page: made once, loaded when somebody goes there.
const pages = Object.fromEntries(
  Object.entries(routes).map(([name, r]) => [name, lazy(r.load)]),
) as unknown as Record<PageName, ComponentType>;

/** What is around every page. */
export function Shell() {
  const w = useWords();
  const me = useMe();
  const { page, path } = useLocation();
  const [open, setOpen] = useState<"palette" | "keys">();
  const [menu, setMenu] = useState(false);
  const signedOut = me.session.auth === "jwt" && !me.session.signedIn && !me.loading;
  useLook();
  useShellKeys({
    palette: () => !signedOut && setOpen("palette"),
    help: () => setOpen("keys"),
    go: (to) => !signedOut && go({ to } as Parameters<typeof go>[0]),
  });

  if (signedOut) return <SignIn />;
  const fallback = (
    <div className="page">
      <Loading label={w.page.loading} />
    </div>
  );
  const PageOf = page ? pages[page.name] : undefined;
  const refused = me.error instanceof ApiError && me.error.status !== 0 && !me.expired;
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {w.nav.skip}
      </a>
      <Rail open={menu} onNavigate={() => setMenu(false)} />
      <div className="main">
        <Top
          onPalette={() => setOpen("palette")}
          onHelp={() => setOpen("keys")}
          onMenu={() => setMenu(!menu)}
          menuOpen={menu}
        />
        <Banners />
        <main id="main" tabIndex={-1} onPointerDown={() => setMenu(false)}>
          {refused && (
            <div className="page">
              <ErrorBox error={me.error} onRetry={() => void me.refresh()} />
            </div>
          )}
          {me.ready ? (
            <Boundary at={path}>
              <Suspense fallback={fallback}>
                {page && PageOf ? (
                  <PageProvider page={page}>
                    <PageOf key={JSON.stringify(page)} />
                  </PageProvider>
                ) : (
                  <Unknown path={path} />
                )}
              </Suspense>
            </Boundary>
          ) : (
            !refused && fallback
          )}
        </main>
      </div>
      {open === "palette" && <Palette onClose={() => setOpen(undefined)} />}
      {open === "keys" && <KeyList onClose={() => setOpen(undefined)} />}
      {me.expired && <Expired />}
      <Toasts />
    </div>
  );
}

function Unknown({ path }: { path: string }) {
  const w = useWords();
  useEffect(() => {
    document.title = `${w.page.unknown} · ${w.product}`;
  }, [w]);
  return (
    <div className="page">
      <Empty title={w.page.unknown} action={<Link to="overview">{w.page.home}</Link>}>
        {w.page.unknownHint(path.replace("\0", "/"))}
      </Empty>
    </div>
  );
}

/** Theme, language and density, on the root element. */
function useLook() {
  const { theme, language, density } = usePrefs();
  useEffect(() => {
    const root = document.documentElement;
    root.lang = language;
    root.dataset.density = density;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      root.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    };
    apply();
    dark.addEventListener("change", apply);
    return () => dark.removeEventListener("change", apply);
  }, [theme, language, density]);
}
