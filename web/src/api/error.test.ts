import { describe, expect, it } from "vitest";
import { en } from "../words/en";
import { ja } from "../words/ja";
import { networkError, parseError, sentence } from "./error";

const headers = new Headers({ "X-Request-Id": "R-1" });

describe("errors", () => {
  it("are read from the shapes of all surfaces", () => {
    const core = {
      error: {
        code: "COMMAND_REJECTED",
        message: "no",
        details: { guard: "cancel_fence", retryAdvice: "do_not_retry" },
      },
    };
    const got = parseError(core, 409, headers);
    expect(got).toMatchObject({
      code: "COMMAND_REJECTED",
      status: 409,
      advice: "do_not_retry",
      requestId: "R-1",
    });
    expect(got.guard).toBe("cancel_fence");
    expect(parseError({ error: "invalid_window", message: "too long" }, 400, headers)).toMatchObject({
      code: "invalid_window",
      message: "too long",
    });
    expect(parseError({ detail: "gone" }, 404, headers)).toMatchObject({ code: "HTTP_404", message: "gone" });
    expect(parseError(undefined, 502, headers)).toMatchObject({ code: "HTTP_502", message: "HTTP 502" });
  });

  it("say what happened and what to do", () => {
    const refused = parseError(
      { error: { code: "NEW_CODE", message: "the node is done", details: { retryAdvice: "do_not_retry" } } },
      409,
      headers,
    );
    expect(sentence(refused, en)).toBe("The node is done. Sending it again would not help.");
    const slow = parseError({ error: { code: "RATE_LIMITED" } }, 429, new Headers({ "Retry-After": "7" }));
    expect(sentence(slow, en)).toContain("Wait 7 s first.");
    expect(sentence(slow, ja)).toContain("7 秒");
    expect(sentence(networkError(new TypeError("failed")), en)).toBe(en.error.codes.NETWORK);
  });

  it("have the same sentences in both languages", () => {
    expect(Object.keys(ja.error.codes).sort()).toEqual(Object.keys(en.error.codes).sort());
  });
});
