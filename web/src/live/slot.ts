// At most four streams for all tabs of a browser: an HTTP/1.1 origin has six connections, and with six streams the
// seventh page would not load. Whoever gets no slot polls, and asks for one again when one is free.

const slots = 4;

/**
 * Wait for a slot, hold it while `work` runs, and give it back. `onWait` is called when all are taken; the wait goes on
 * until one is free or the signal ends it.
 */
export async function withSlot(
  signal: AbortSignal,
  onWait: () => void,
  work: () => Promise<void>,
): Promise<void> {
  // Plain http beyond loopback has no Web Locks: then every tab may hold a stream.
  const locks = (navigator as { locks?: LockManager }).locks;
  if (!locks) return work();
  for (let i = 0; i < slots; i++) {
    const got = await locks.request(`renga-stream-${i}`, { ifAvailable: true }, async (lock) => {
      if (!lock) return false;
      await work();
      return true;
    });
    if (got || signal.aborted) return;
  }
  onWait();
  await anySlot(locks, signal, work);
}

/** Ask for all slots at once; the first that is free is held, the others are let go. */
async function anySlot(locks: LockManager, signal: AbortSignal, work: () => Promise<void>) {
  const first = new AbortController();
  const stop = () => first.abort();
  signal.addEventListener("abort", stop, { once: true });
  let taken = false;
  const asks = Array.from({ length: slots }, (_, i) =>
    locks
      .request(`renga-stream-${i}`, { signal: first.signal }, async () => {
        if (taken || signal.aborted) return;
        taken = true;
        first.abort();
        await work();
      })
      .catch((e: unknown) => {
        if (!(e instanceof DOMException && e.name === "AbortError")) throw e;
      }),
  );
  await Promise.all(asks);
  signal.removeEventListener("abort", stop);
}
