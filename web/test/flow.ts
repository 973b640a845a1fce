import type { Page } from "@playwright/test";
import { expect } from "./fixture";
import type { Server } from "./server";

// What tests of executions share: graphs, executions, and workers that report by the API.

export interface Spec {
  nodeId: string;
  type: string;
  [member: string]: unknown;
}

export interface Edge {
  from: string;
  to: string;
  on?: string;
  when?: string;
}

export interface GraphSpec {
  nodes: Spec[];
  edges: Edge[];
  onCancel?: { graph: string };
}

export interface Task {
  executionId: string;
  nodeId: string;
  attempt: number;
}

export interface State {
  status: string;
  seq: number;
  endedAt?: string;
  archivedAt?: string;
  cancel?: { seq: number; reason?: string };
  input?: unknown;
  nodes: { nodeId: string; type: string; status: string; attempt: number; output?: unknown }[];
  lateResults?: { nodeId: string }[];
}

export const task = (nodeId: string, more: object = {}): Spec => ({
  nodeId,
  type: "Task",
  queue: nodeId,
  ...more,
});

/** A graph whose nodes follow each other, between a Start and a Success. */
export function chain(...nodes: Spec[]): GraphSpec {
  const all: Spec[] = [{ nodeId: "start", type: "Start" }, ...nodes, { nodeId: "done", type: "Success" }];
  const edges = all.slice(1).map((n, i) => ({ from: (all[i] as Spec).nodeId, to: n.nodeId }));
  return { nodes: all, edges };
}

/** A graph with a Fork over nodes and their Join. */
export function fan(branches: Spec[], join: object = {}): GraphSpec {
  return {
    nodes: [
      { nodeId: "start", type: "Start" },
      { nodeId: "fan", type: "Fork" },
      ...branches,
      { nodeId: "all", type: "Join", ...join },
      { nodeId: "done", type: "Success" },
    ],
    edges: [
      { from: "start", to: "fan" },
      ...branches.flatMap((b) => [
        { from: "fan", to: b.nodeId },
        { from: b.nodeId, to: "all" },
      ]),
      { from: "all", to: "done" },
    ],
  };
}

/** A Fork over n tasks that share the queue "many". */
export const wide = (n: number): GraphSpec =>
  fan(
    Array.from({ length: n }, (_, i) => task(`t${i}`, { queue: "many" })),
    { policy: "ALL_DONE" },
  );

let last = 0;

/** One execution of a graph of its own. */
export class Run {
  private constructor(
    readonly server: Server,
    readonly graphId: string,
    readonly id: string,
  ) {}

  static async of(server: Server, graph: GraphSpec, more: object = {}, prefix = ""): Promise<Run> {
    const graphId = `${prefix}g${++last}-${Date.now()}`;
    // Queues are shared by all executions: here each graph has its own.
    const nodes = graph.nodes.map((n) =>
      n.queue === undefined ? n : { ...n, queue: `${graphId}.${String(n.queue)}` },
    );
    await server.api("PUT", `graphs/${graphId}`, { ...graph, nodes });
    const body = { graphId, start: true, ...more };
    const made = await server.api<{ executionId: string }>("POST", "executions", body);
    return new Run(server, graphId, made.executionId);
  }

  get path(): string {
    return `executions/${this.id}`;
  }

  state(at?: number): Promise<State> {
    return this.server.api("GET", this.path + (at === undefined ? "" : `?at=${at}`));
  }

  async claim(queue: string, workerId = "w1", more: object = {}): Promise<Task> {
    const body = { workerId, queues: [`${this.graphId}.${queue}`], max: 1, leaseSeconds: 600, ...more };
    let found: Task | undefined;
    await expect
      .poll(async () => {
        const answer = await this.server.api<{ tasks: Task[] }>("POST", "tasks/claim", body);
        found = answer.tasks[0];
        return found?.nodeId;
      })
      .toBeDefined();
    return found as Task;
  }

  /** Works a queue until the execution has completed, a hundred tasks at once. */
  async workAll(queue: string): Promise<void> {
    const body = { workerId: "w1", queues: [`${this.graphId}.${queue}`], max: 100, leaseSeconds: 600 };
    for (;;) {
      const { tasks } = await this.server.api<{ tasks: Task[] }>("POST", "tasks/claim", body);
      if (tasks.length === 0) break;
      const commands = tasks.map(({ executionId, nodeId, attempt }) => ({
        ...{ command: "SucceedNode", idempotencyKey: crypto.randomUUID() },
        ...{ executionId, nodeId, attempt, workerId: "w1", output: {} },
      }));
      await this.server.api("POST", "commands", { commands });
    }
    await expect.poll(async () => (await this.state()).status).toBe("COMPLETED");
  }

  succeed(t: Task, output: unknown = {}, workerId = "w1"): Promise<unknown> {
    return this.send(t.nodeId, "success", { attempt: t.attempt, workerId, output });
  }

  fail(t: Task, error: object, workerId = "w1"): Promise<unknown> {
    return this.send(t.nodeId, "fail", { attempt: t.attempt, workerId, error });
  }

  /** A command to a node. */
  send(
    nodeId: string,
    command: string,
    body: object = {},
    headers: Record<string, string> = {},
  ): Promise<unknown> {
    return this.server.api("POST", `${this.path}/nodes/${nodeId}/${command}`, body, headers);
  }

  /** A command that a guard refuses: its name. */
  async refused(call: Promise<unknown>): Promise<string> {
    const text = await call.then(
      () => "accepted",
      (e: unknown) => String(e),
    );
    const guard = /"guard":"(\w+)"/.exec(text)?.[1];
    if (guard === undefined) throw new Error(`not refused by a guard: ${text}`);
    return guard;
  }

  cancel(reason?: string): Promise<unknown> {
    return this.server.api("POST", `${this.path}/cancel`, reason === undefined ? {} : { reason });
  }

  /** Opens its page; search is without the question mark. */
  async open(page: Page, search = ""): Promise<void> {
    await page.goto(`/ui/${this.path}${search === "" ? "" : `?${search}`}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  }
}

/** The drawing of the graph, when it is there. */
export async function drawing(page: Page) {
  const area = page.getByRole("application");
  await expect(area).toHaveAttribute("data-drawn", /\d+/);
  return area;
}

/** A node in the drawing. */
export function drawn(page: Page, nodeId: string) {
  return page.locator(`.graph-svg [data-node="${nodeId}"]`);
}

/** Chooses an entry of the menu that a button opens. */
export async function choose(
  page: Page,
  button: ReturnType<Page["getByRole"]>,
  entry: string,
): Promise<void> {
  await button.click();
  await page.getByRole("menuitem", { name: entry }).filter({ visible: true }).click();
}
