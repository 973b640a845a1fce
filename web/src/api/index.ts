export { api, data, newId, once } from "./client";
export { ApiError, sentence } from "./error";
export { read, readKey, useAction, useOnline, useRead, useRefresh, type Action, type Answer } from "./query";
export { useMe, type Caller } from "./session";
export { useActAs } from "./caller";
export type { components, paths } from "./schema";
export { usePages, type Pages } from "./pages";
