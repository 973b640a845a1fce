import { useOnline } from "../api";
import { Button, Icon, Menu, cx, useNow } from "../kit";
import { useLiveState } from "../live";
import { setPref, usePrefs, type Zone } from "../prefs";
import { useWords } from "../words";

export function Top({
  onPalette,
  onHelp,
  onMenu,
  menuOpen,
}: {
  onPalette: () => void;
  onHelp: () => void;
  onMenu: () => void;
  menuOpen: boolean;
}) {
  const w = useWords();
  const { zone } = usePrefs();
  const apple = navigator.platform.startsWith("Mac");
  const zones: Zone[] = ["local", "utc", "jst"];
  return (
    <header className="top">
      <Button
        kind="quiet"
        className="burger icon"
        aria-label={w.nav.openMenu}
        aria-expanded={menuOpen}
        aria-controls="rail"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </Button>
      <button type="button" className="top-search" onClick={onPalette}>
        <Icon name="search" />
        <span>{w.palette.title}</span>
        <kbd>{apple ? "⌘ K" : "Ctrl K"}</kbd>
      </button>
      <span className="top-space" />
      <LiveLine />
      <Menu
        quiet
        small
        name={w.zone.label}
        label={w.zone[zone]}
        items={zones.map((z) => ({
          label: w.zone[z],
          checked: z === zone,
          onSelect: () => setPref("zone", z),
        }))}
      />
      <Button kind="quiet" small className="icon wide-only" aria-label={w.keys.title} onClick={onHelp}>
        ?
      </Button>
    </header>
  );
}

/** "live", "reconnecting (3 s)", "behind 1.2 s", "every 2 s" or "paused". */
function LiveLine() {
  const w = useWords();
  const state = useLiveState();
  const online = useOnline();
  if (!online)
    return (
      <span className="live live-offline" role="status">
        {w.live.offline}
      </span>
    );
  if (!state) return null;
  return (
    <span className={cx("live", `live-${state.kind}`)} role="status" aria-label={w.live.label}>
      {state.kind === "reconnecting" ? (
        <Countdown at={state.at} />
      ) : state.kind === "behind" ? (
        w.live.behind(`${(state.ms / 1000).toFixed(1)} s`)
      ) : (
        w.live[state.kind]
      )}
    </span>
  );
}

function Countdown({ at }: { at: number }) {
  const now = useNow();
  return useWords().live.reconnecting(Math.max(0, Math.ceil((at - now) / 1000)));
}
