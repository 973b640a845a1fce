import { useState } from "react";
import { useMe, useOnline } from "../api";
import { ApiError } from "../api/error";
import { setActAs, useActAs } from "../api/caller";
import { Button, Dialog, Field } from "../kit";
import { useWords } from "../words";

/** What everybody must know: nobody is asked who they are; the network is away. */
export function Banners() {
  const w = useWords();
  const me = useMe();
  const online = useOnline();
  const who = useActAs();
  const [picking, setPicking] = useState(false);
  const away = me.error instanceof ApiError && me.error.status === 0;
  return (
    <>
      {!online && (
        <div className="banner offline" role="status">
          {w.banner.offline}
        </div>
      )}
      {online && away && (
        <div className="banner offline" role="status">
          {w.banner.unreachable}
        </div>
      )}
      {me.session.auth === "none" && me.caller && (
        <div className="banner">
          <strong title={w.banner.noneHint}>{w.banner.none}</strong>
          <span>
            {w.banner.tenant} <code>{who.tenant === "" ? w.banner.defaultTenant : who.tenant.slice(-8)}</code>
          </span>
          <span>
            {w.banner.actAs}{" "}
            {who.user === "" ? w.banner.nobody : (me.caller.user?.name ?? <code>{who.user.slice(-8)}</code>)}
          </span>
          <button type="button" className="link" onClick={() => setPicking(true)}>
            {w.banner.pick}
          </button>
        </div>
      )}
      {picking && <Picker onClose={() => setPicking(false)} />}
    </>
  );
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Tenant and user of this tab, in mode none. */
export function Picker({ onClose }: { onClose: () => void }) {
  const w = useWords();
  const now = useActAs();
  const [tenant, setTenant] = useState(now.tenant);
  const [user, setUser] = useState(now.user);
  const ok = tenant.trim() === "" || uuid.test(tenant.trim());
  const save = () => {
    if (!ok) return;
    setActAs({ tenant: tenant.trim().toLowerCase(), user: user.trim() });
    onClose();
  };
  return (
    <Dialog
      title={w.banner.pick}
      onClose={onClose}
      actions={
        <>
          <Button
            onClick={() => {
              setActAs({ tenant: "", user: "" });
              onClose();
            }}
          >
            {w.do.reset}
          </Button>
          <Button kind="primary" disabled={!ok} onClick={save}>
            {w.do.apply}
          </Button>
        </>
      }
    >
      <Field label={w.banner.tenant} hint={w.banner.tenantHint}>
        {(id, by) => (
          <input
            id={id}
            aria-describedby={by}
            aria-invalid={!ok}
            className="code"
            value={tenant}
            onChange={(e) => setTenant(e.target.value)}
          />
        )}
      </Field>
      <Field label={w.banner.actAs} hint={w.banner.actAsHint}>
        {(id, by) => (
          <input
            id={id}
            aria-describedby={by}
            className="code"
            value={user}
            onChange={(e) => setUser(e.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
