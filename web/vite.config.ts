import { defineConfig, type Plugin, type ProxyOptions } from "vite";

// What the server writes into each document, for a page that Vite itself serves.
const documentOfVite: Plugin = {
  name: "renga-document",
  apply: "serve",
  transformIndexHtml: {
    order: "pre",
    handler: (html) => html.replaceAll("__RENGA_BASE__", "/").replaceAll("__RENGA_NONCE__", ""),
  },
};

// Every path that is not a page or a module belongs to the API of a running server.
const server = process.env.RENGA_URL ?? "http://127.0.0.1:8080";
const proxy: Record<string, ProxyOptions> = {
  "^/(?!$|ui(/|$)|src/|node_modules/|@|assets/|index\\.html)": { target: server, changeOrigin: true },
};

export default defineConfig(({ command }) => ({
  base: command === "build" ? "./" : "/",
  plugins: [documentOfVite],
  html: { cspNonce: "__RENGA_NONCE__" },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
    reportCompressedSize: false,
    rolldownOptions: {
      // "use client" means nothing here.
      onLog: (level, log, next) => log.code !== "MODULE_LEVEL_DIRECTIVE" && next(level, log),
    },
  },
  experimental: {
    // The server answers dist/assets/* under <base>ui/assets/; modules find each other relative to themselves.
    renderBuiltUrl: (file, { hostType }) => (hostType === "html" ? `ui/${file}` : { relative: true }),
  },
  server: { port: 5173, proxy },
}));
