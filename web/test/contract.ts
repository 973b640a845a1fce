import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

// The operations of api/openapi.yaml: what the console may call.

interface Operation {
  method: string;
  path: RegExp;
}

function operations(): Operation[] {
  const file = fileURLToPath(new URL("../../api/openapi.yaml", import.meta.url));
  const out: Operation[] = [];
  let path: RegExp | undefined;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const at = /^ {2}(\/\S*):\s*$/.exec(line)?.[1];
    if (at) path = new RegExp(`^${at.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`);
    else if (/^ {2}\S|^\S/.test(line)) path = undefined;
    const method = /^ {4}(get|put|post|patch|delete|head):\s*$/.exec(line)?.[1];
    if (path && method) out.push({ method: method.toUpperCase(), path });
  }
  if (out.length < 100)
    throw new Error(`api/openapi.yaml has only ${out.length} operations: it is read wrongly`);
  return out;
}

const all = operations();

/** Whether a request below the base ("/executions") is an operation of the contract, or the document and its parts. */
export function inContract(method: string, path: string): boolean {
  if (method === "GET" && (path === "/" || path === "/ui" || path.startsWith("/ui/"))) return true;
  return all.some((o) => o.method === method && o.path.test(path));
}
