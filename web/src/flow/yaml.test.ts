import { expect, test } from "vitest";
import { graphYaml, nodeYaml } from "./yaml";

test("a graph is a line per node and edge, without what is the default", () => {
  const text = graphYaml({
    nodes: [
      { type: "Start", nodeId: "start" },
      {
        type: "Task",
        nodeId: "pay",
        timeout: "5m0s",
        queue: "default",
        retry: { maxAttempts: 3, initialInterval: "1s", backoff: 2, maxInterval: "1h0m0s" },
      },
      {
        nodeId: "ship",
        type: "Task",
        queue: "stock",
        retry: { maxAttempts: 1, initialInterval: "1s", backoff: 2, maxInterval: "1h0m0s" },
      },
      { nodeId: "done", type: "Success" },
    ],
    edges: [
      { from: "start", to: "pay", on: "success" },
      { from: "pay", to: "ship", on: "success", when: "output.sum > 10 && output.paid" },
      { from: "ship", to: "done", on: "failure" },
    ],
    onCancel: { graph: "undo" },
  });
  expect(text).toBe(`nodes:
  - {nodeId: start, type: Start}
  - {nodeId: pay, type: Task, timeout: 5m, retry: {maxAttempts: 3}}
  - {nodeId: ship, type: Task, queue: stock}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: pay}
  - {from: pay, to: ship, when: output.sum > 10 && output.paid}
  - {from: ship, to: done, on: failure}
onCancel: {graph: undo}
`);
});

test("what YAML would misread is quoted", () => {
  const text = nodeYaml({
    nodeId: "1",
    type: "Wait",
    waitKey: "yes",
    timeout: "24h0m0s",
    outcome: "a: b #c",
  });
  expect(text).toBe('nodeId: "1"\ntype: Wait\nwaitKey: "yes"\ntimeout: 24h\noutcome: "a: b #c"');
});

test("a long node has a line for each member", () => {
  const schema = {
    type: "object",
    properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  };
  const text = graphYaml({
    nodes: [{ nodeId: "approve", type: "Wait", schema, prompt: { title: "Pay this claim, please?" } }],
    edges: [],
  });
  expect(text).toBe(`nodes:
  - nodeId: approve
    type: Wait
    schema: {type: object, properties: {approved: {type: boolean}, reason: {type: string}}}
    prompt: {title: "Pay this claim, please?"}
edges:
`);
});
