import { lazy, type ComponentType, type LazyExoticComponent } from "react";

// The tabs of an execution. Each is a file that is loaded when somebody opens it and reads useExecutionContext().

type Part = LazyExoticComponent<ComponentType>;

export const tabs = {
  graph: lazy(() => import("./GraphTab")),
  timeline: lazy(() => import("./TimelineTab")),
  log: lazy(() => import("./LogTab")),
  why: lazy(() => import("./WhyTab")),
  data: lazy(() => import("./DataTab")),
  compare: lazy(() => import("./CompareTab")),
} as const satisfies Record<string, Part>;

export type TabName = keyof typeof tabs;

export const tabNames = Object.keys(tabs) as TabName[];

/** What stands between the header and the tabs. */
export const bars: readonly Part[] = [lazy(() => import("./Slider"))];
