import { expect, test } from "vitest";
import { fixtures } from "../../flow/fixtures";
import { Replay } from "../../flow/reduce";
import { stateChanges } from "./logDiff";

test("an event changes its node, and nothing of the others", () => {
  for (const f of fixtures()) {
    const replay = new Replay(f.events);
    for (const e of f.events) {
      const changes = stateChanges(replay.stateAt(e.seq - 1), replay.stateAt(e.seq));
      const { nodeId } = e.payload as { nodeId?: string };
      for (const c of changes.filter((c) => c.nodeId !== undefined)) expect(c.nodeId, f.script).toBe(nodeId);
      if (e.type === "NODE_SUCCEEDED" && changes.length > 0) {
        const status = changes[0]?.changes.find((c) => c.path.join() === "status");
        expect(status, f.script).toMatchObject({ kind: "changed", after: "SUCCEEDED" });
      }
    }
  }
});
