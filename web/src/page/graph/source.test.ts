import { expect, test } from "vitest";
import { readGraph } from "./source";

test("nodes and edges are read from both styles of YAML, with anchors", () => {
  const text = `# a comment
nodes:
  - {nodeId: start, type: Start}
  - nodeId: "pay"
    type: Task # charged
    retry: &r {maxAttempts: 3}
  - {nodeId: ship, type: Task, retry: *r}
  - nodeId: 'done'
    type: Success
edges:
  - {from: start, to: pay, when: "input.sum > 10"}
  - from: pay
    to: ship
    on: failure
  - {from: ship, to: nowhere}
`;
  expect(readGraph(text)).toEqual({
    nodes: [
      { nodeId: "start", type: "Start" },
      { nodeId: "pay", type: "Task", retry: { maxAttempts: 3 } },
      { nodeId: "ship", type: "Task", retry: { maxAttempts: 3 } },
      { nodeId: "done", type: "Success" },
    ],
    edges: [
      { from: "start", to: "pay", when: "input.sum > 10" },
      { from: "pay", to: "ship", on: "failure" },
    ],
  });
});

test("a text that somebody is in the middle of keeps what can be read", () => {
  const text =
    "nodes:\n  - {nodeId: start, type: Start}\n  - {nodeId: pay, ty\nedges:\n  - {from: start, to: ";
  expect(readGraph(text)?.nodes.map((n) => n.nodeId)).toContain("start");
  expect(readGraph("nodes: ")).toBeUndefined();
  expect(readGraph("")).toBeUndefined();
});

test("JSON is read, too", () => {
  expect(readGraph('{"nodes": [{"nodeId": "a", "type": "Start"}], "edges": []}')?.nodes).toHaveLength(1);
});
