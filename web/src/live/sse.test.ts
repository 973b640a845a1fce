import { describe, expect, it } from "vitest";
import { backoff } from "./useStream";
import { Parser } from "./sse";

const stream =
  ': execution 1\n\nid: 1\nevent: NODE_READY\ndata: {"a":1}\n\nid: 2\r\ndata: one\r\ndata:two\r\n\r\n' +
  ": still there\n\nevent: end\ndata: {}\n\n";

describe("server-sent events", () => {
  it("are the same frames however the text is cut", () => {
    const want = [
      { id: "1", event: "NODE_READY", data: '{"a":1}' },
      { id: "2", event: "message", data: "one\ntwo" },
      { id: "2", event: "end", data: "{}" },
    ];
    for (let size = 1; size <= stream.length; size++) {
      const parser = new Parser();
      const got = [];
      for (let i = 0; i < stream.length; i += size) got.push(...parser.push(stream.slice(i, i + size)));
      expect(got, `in pieces of ${size}`).toEqual(want);
    }
  });

  it("come again after waits that grow to a limit", () => {
    expect([0, 1, 2, 3, 10].map((n) => backoff(n, 0.5))).toEqual([500, 1000, 2000, 4000, 15000]);
  });
});
