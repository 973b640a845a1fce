import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "@playwright/test";
import type { Server } from "./server";

// What the sweep and the pictures show: a company that pays expense claims and ships orders, as one finds it on a day
// of work.

interface Task {
  executionId: string;
  nodeId: string;
  attempt: number;
}

const example = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../examples/${name}`, import.meta.url)), "utf8");

const order = `
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: charge, type: Task, queue: payments, timeout: 5m, retry: {maxAttempts: 3}}
  - {nodeId: prepare, type: Fork}
  - {nodeId: pack, type: Task, queue: packing}
  - {nodeId: invoice, type: Task, queue: mail}
  - {nodeId: insure, type: Task, queue: mail}
  - {nodeId: prepared, type: Join}
  - {nodeId: ship, type: Task, queue: packing}
  - {nodeId: done, type: Success, outcome: shipped}
edges:
  - {from: start, to: charge}
  - {from: charge, to: prepare}
  - {from: prepare, to: pack}
  - {from: prepare, to: invoice}
  - {from: prepare, to: insure}
  - {from: pack, to: prepared}
  - {from: invoice, to: prepared}
  - {from: insure, to: prepared}
  - {from: prepared, to: ship}
  - {from: ship, to: done}
`;

/** Ids that the pages of the sweep need. */
export interface Works {
  /** Runs: a fork with a branch that succeeded, one that runs and one that is ready. */
  running: string;
  /** Waits for a manager, with a prompt. */
  waiting: string;
  /** Cancelled while a worker charged; the worker reported later. */
  canceled: string;
  failed: string;
  bulk: string;
}

class Company {
  constructor(readonly server: Server) {}

  async graph(id: string, text: string) {
    await this.server.api("PUT", `graphs/${id}`, text, { "Content-Type": "application/yaml" });
  }

  async create(graphId: string, businessKey: string, input: object): Promise<string> {
    const body = { graphId, businessKey, input, start: true, labels: { region: "north" } };
    const made = await this.server.api<{ executionId: string }>("POST", "executions", body);
    return made.executionId;
  }

  /** Claims a node of an execution for a worker; those of other executions on the way are given back as done. */
  async claim(queue: string, id: string, workerId = "worker-1"): Promise<Task> {
    let found: Task | undefined;
    await expect
      .poll(async () => {
        const body = { workerId, queues: [queue], max: 1, leaseSeconds: 3600 };
        const answer = await this.server.api<{ tasks: Task[] }>("POST", "tasks/claim", body);
        const task = answer.tasks[0];
        if (task && task.executionId !== id) await this.succeed(task, {}, workerId);
        else found = task;
        return found?.executionId;
      })
      .toBe(id);
    return found as Task;
  }

  succeed(t: Task, output: object, workerId = "worker-1"): Promise<unknown> {
    return this.#report(t, "success", { attempt: t.attempt, workerId, output });
  }

  fail(t: Task, error: object, workerId = "worker-1"): Promise<unknown> {
    return this.#report(t, "fail", { attempt: t.attempt, workerId, error });
  }

  #report(t: Task, how: string, body: object): Promise<unknown> {
    return this.server.api("POST", `executions/${t.executionId}/nodes/${t.nodeId}/${how}`, body);
  }
}

/** Lets the company work for a moment. */
export async function works(server: Server): Promise<Works> {
  const c = new Company(server);
  await c.graph("order", order);
  await c.graph("expense-undo", example("expense/expense-undo.yaml"));
  // Anybody may decide: there are no managers in a fresh tenant.
  const expense = example("expense/expense.yaml").replace(/^ *assignees:.*\n/gm, "");
  await c.graph("expense", expense);

  for (let i = 1; i <= 3; i++) {
    const id = await c.create("order", `A-${i}`, { total: 1200 * i });
    await c.succeed(await c.claim("payments", id), { receipt: `R-${i}` });
    for (const queue of ["packing", "mail", "mail", "packing"]) await c.succeed(await c.claim(queue, id), {});
  }
  const failed = await c.create("order", "A-4", { total: 80 });
  await c.fail(await c.claim("payments", failed), {
    code: "CARD_DECLINED",
    message: "The bank declines the card.",
    final: true,
  });
  const canceled = await c.create("order", "A-17", { total: 4200 });
  const charge = await c.claim("payments", canceled);
  await server.api("POST", `executions/${canceled}/cancel`, { reason: "the customer called" });
  await c.succeed(charge, { receipt: "R-17" }).then(
    () => expect("the late result").toBe("refused"),
    (e: unknown) => expect(String(e)).toContain("cancel_fence"),
  );
  const running = await c.create("order", "注文-18", { total: 5600, customer: "株式会社サンプル" });
  await c.succeed(await c.claim("payments", running), { receipt: "R-18" });
  await c.succeed(await c.claim("mail", running), { sent: true });
  await c.claim("packing", running, "worker-7");

  const claim = { claim: "E-17", amount: 120, account: "JP-1", costCenter: "sales" };
  const waiting = await c.create("expense", "E-17", claim);
  await c.succeed(await c.claim("expense", waiting), {});
  for (let i = 5; i <= 30; i++) await c.create("order", `B-${i}`, { total: i });

  const bulk = await server.api<{ bulkId: string }>("POST", "bulks", {
    command: "archive",
    filter: { graphId: "order", status: ["COMPLETED"] },
    reason: "settled",
  });
  return { running, waiting, canceled, failed, bulk: bulk.bulkId };
}
