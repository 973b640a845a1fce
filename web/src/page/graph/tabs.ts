import { lazy } from "react";

// The tabs of a graph; each is loaded when somebody opens it and reads useGraphContext().

export const tabs = {
  graph: lazy(() => import("./PictureTab")),
  versions: lazy(() => import("./VersionsTab")),
  edit: lazy(() => import("./EditTab")),
  simulate: lazy(() => import("./SimulateTab")),
};

export type TabName = keyof typeof tabs;

export const tabNames = Object.keys(tabs) as TabName[];
