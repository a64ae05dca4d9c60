/** The states that have a colour, an icon and a word. */
export type StateName =
  | "waiting"
  | "running"
  | "asking"
  | "completed"
  | "cached"
  /** A re-run took its result over. */
  | "reused"
  | "retried"
  | "failed"
  | "cancelled"
  | "skipped"
  /** The run ended before it. */
  | "unreached"
  /** The connection to the run is gone. */
  | "unknown"

export const stateWords: Readonly<Record<StateName, string>> = {
  waiting: "waiting",
  running: "running",
  asking: "asking",
  completed: "done",
  cached: "cached",
  reused: "reused",
  retried: "retried",
  failed: "failed",
  cancelled: "cancelled",
  skipped: "skipped",
  unreached: "not reached",
  unknown: "unknown",
}
