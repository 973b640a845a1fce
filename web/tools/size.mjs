// Prints the gzip sizes of the first page and of what each later page adds, and fails above the budget:
// node tools/size.mjs
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const budget = { first: 180_000, page: 60_000, editor: 160_000 };
// Chunks that only the editor of graphs loads, on demand.
const editors = /^(editor|codemirror)/i;

const folder = "dist/assets";
const files = readdirSync(folder);
const text = (file) => readFileSync(join(folder, file), "utf8");
const size = (file) => gzipSync(readFileSync(join(folder, file)), { level: 9 }).length;

/** What a file loads at once: static imports of scripts. */
function imports(file) {
  const out = [];
  const pattern = /(?:^|[;}])(?:import|export)\s*(?:[^"'();]*?from\s*)?["']\.\/([^"']+)["']/g;
  for (const m of text(file).matchAll(pattern)) out.push(m[1]);
  return out;
}

function closure(start) {
  const seen = new Set();
  const todo = [...start];
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (file.endsWith(".js")) todo.push(...imports(file));
  }
  return seen;
}

const sum = (set) => [...set].reduce((n, f) => n + size(f), 0);
const html = readFileSync("dist/index.html", "utf8");
const entries = [...html.matchAll(/ui\/assets\/([^"]+\.(?:js|css))"/g)].map((m) => m[1]);
const first = closure(entries);
// The first page is Overview.
const overview = files.filter((f) => /^overview-.*\.(js|css)$/.test(f));
const firstPage = closure([...first, ...overview]);

let failed = false;
function line(name, bytes, limit) {
  const over = bytes > limit;
  failed ||= over;
  console.log(
    `${(bytes / 1000).toFixed(1).padStart(8)} kB of ${limit / 1000}  ${name}${over ? "  TOO LARGE" : ""}`,
  );
}

line("first page", sum(firstPage), budget.first);
for (const file of files.filter((f) => f.endsWith(".js") && !first.has(f)).sort()) {
  const name = file.replace(/-[\w-]{8}\.js$/, "");
  const css = files.filter((f) => f.endsWith(".css") && f.startsWith(`${name}-`));
  const added = new Set([...closure([file, ...css])].filter((f) => !first.has(f)));
  line(name, sum(added), editors.test(name) ? budget.editor : budget.page);
}
if (failed) process.exit(1);
