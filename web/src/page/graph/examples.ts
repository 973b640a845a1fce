// What a new graph may begin with.

const order = `# An order is charged, with retries, and then shipped.
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: charge, type: Task, timeout: 5m, retry: {maxAttempts: 3}}
  - {nodeId: ship, type: Task}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: charge}
  - {from: charge, to: ship}
  - {from: ship, to: done}
`;

const approval = `# Somebody decides within two days, or nobody does.
nodes:
  - {nodeId: start, type: Start}
  - nodeId: approve
    type: Wait
    timeout: 48h
    prompt: {title: "Pay this claim?", fields: {claim: input.claim, amount: input.amount}}
    schema: {type: object, required: [approved], properties: {approved: {type: boolean}}}
  - {nodeId: pay, type: Task}
  - {nodeId: paid, type: Success, outcome: paid}
  - {nodeId: rejected, type: Success, outcome: rejected}
  - {nodeId: undecided, type: Failed}
edges:
  - {from: start, to: approve}
  - {from: approve, to: pay, when: output.approved}
  - {from: approve, to: rejected}
  - {from: approve, to: undecided, on: timeout}
  - {from: pay, to: paid}
`;

const parallel = `# Two tasks run side by side; the join waits for both.
nodes:
  - {nodeId: start, type: Start}
  - {nodeId: both, type: Fork}
  - {nodeId: pack, type: Task}
  - {nodeId: invoice, type: Task}
  - {nodeId: ready, type: Join}
  - {nodeId: done, type: Success}
edges:
  - {from: start, to: both}
  - {from: both, to: pack}
  - {from: both, to: invoice}
  - {from: pack, to: ready}
  - {from: invoice, to: ready}
  - {from: ready, to: done}
`;

const all: Record<string, string> = { order, approval, parallel };

/** The text of an example; of one that is unknown, the first. */
export function exampleOf(name: string): string {
  return all[name] ?? order;
}
