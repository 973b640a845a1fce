import type { Server } from "./server";

// Executions that wait: what the tests of Overview and of Waiting share.

/** Asks how many boxes: at most 40. */
const shelf = `
nodes:
  - {nodeId: start, type: Start}
  - nodeId: choose
    type: Wait
    prompt: {title: "Which shelf?", fields: {pallet: input.pallet}}
    schema:
      type: object
      required: [boxes]
      properties: {boxes: {type: integer, title: Boxes, maximum: 40}}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: choose}
  - {from: choose, to: done}
`;

/** Starts an execution that waits, and answers its id. */
export async function waiting(server: Server, graphId: string, graph: string, key: string): Promise<string> {
  await server.api("PUT", `graphs/${graphId}`, graph, { "Content-Type": "application/yaml" });
  const body = { graphId, businessKey: key, input: { pallet: key }, start: true };
  return (await server.api<{ executionId: string }>("POST", "executions", body)).executionId;
}

/** One that waits for somebody to choose a shelf; tests that look at a list have a graph of their own. */
export const pallet = (server: Server, key: string, graphId = "shelf") =>
  waiting(server, graphId, shelf, key);
