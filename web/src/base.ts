// Where the console lives. The server writes the path of --public-url into each document, so that everything
// works under a sub path; Vite serves at "/".

function meta(name: string): string {
  if (typeof document === "undefined") return "";
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? "";
}

/** The path that everything is under: it begins and ends with a slash. */
export const base = meta("renga-base").startsWith("/") ? meta("renga-base") : "/";

/** The nonce of this document's `style-src`, for the editor, which mounts style sheets of its own. */
export const nonce = meta("renga-nonce");
