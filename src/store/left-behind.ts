// The list of what runs leave behind, and of what else a store keeps. Retention, deletion, moves, `wire store check` and their tests read it. A table or a map without
// an entry fails `test/contract/left-behind.test.ts`.

/**
 * When something goes.
 *
 * - `with the run`: in the step that deletes the run
 * - `after the run`: nothing of it can be read any more from that step on; it is deleted in slices, also by a process that starts later
 * - `at its end`: when the run ends
 * - `by age`: when its own time is over, which may be long after the run
 * - `when settled`: with the run, or when it has been delivered or given up, whichever is later
 * - `stays`: it belongs to no run
 */
export type Going = "with the run" | "after the run" | "at its end" | "by age" | "when settled" | "stays"

export interface LeftBehind {
  readonly goes: Going
  /** SQL: tables, each with the column of its rows' key. `run`: the column with the number of the run. `until`: the column with the time from which on a row is dead. */
  readonly tables: Readonly<Record<string, { readonly key: string; readonly run?: string; readonly until?: string }>>
  /** Memory: fields of the store and of its parts. */
  readonly maps: readonly string[]
}

export const leftBehind = {
  /** How it stands, and whatever finds it. */
  run: {
    goes: "with the run",
    tables: { runs: { key: "num" } },
    maps: ["runs", "active", "parked", "uncounted", "shadows"],
  },
  /** Its events. */
  log: {
    goes: "after the run",
    tables: { events: { key: "id", run: "run" } },
    maps: [],
  },
  request: {
    goes: "after the run",
    tables: { requests: { key: "run", run: "run" } },
    maps: [],
  },
  secrets: {
    goes: "at its end",
    tables: { secrets: { key: "run", run: "run" } },
    maps: [],
  },
  /** What it waited for, with the outcomes. */
  waits: {
    goes: "with the run",
    tables: { waits: { key: "num", run: "run" } },
    maps: ["waits"],
  },
  notices: {
    goes: "when settled",
    tables: { outbox: { key: "run_id, event_id" } },
    maps: ["outbox"],
  },
  /** Idempotency keys; on SQL databases those that outlive their runs: the others are columns of the run. */
  keys: {
    goes: "by age",
    tables: { kept_keys: { key: "idempotency", until: "until" } },
    maps: ["byKey", "keptKeys"],
  },
  tombstone: {
    goes: "by age",
    tables: { tombstones: { key: "run_id", until: "until" } },
    maps: ["tombstones"],
  },
  /** Tells whether something of a deleted run is still there. */
  remains: {
    goes: "after the run",
    tables: { leftovers: { key: "run" } },
    maps: [],
  },
  /** Events that callers sent: kept ones, and the ids of all. */
  events: {
    goes: "by age",
    tables: { sent_events: { key: "num", until: "until" } },
    maps: ["sentEvents"],
  },
  /** Files, and their objects in another place. Those that a run refers to stay as long as the run at least. */
  files: {
    goes: "stays",
    tables: { files: { key: "num" }, file_objects: { key: "num" }, file_totals: { key: "caller" } },
    maps: [],
  },
  /** Which files it uses. */
  fileUses: {
    goes: "with the run",
    tables: { file_refs: { key: "run, file, made, step", run: "run" } },
    maps: ["files"],
  },
  /** Answers of models, for all runs of a caller. */
  cache: {
    goes: "by age",
    tables: { cache: { key: "entry", until: "expires_at" } },
    maps: ["cache"],
  },
  /** What the runs of each caller take. It is less by a run that is deleted. */
  bytes: { goes: "stays", tables: { stored: { key: "caller" } }, maps: ["stored"] },
  /** What it has used, by hour. */
  use: {
    goes: "with the run",
    tables: { ledger: { key: "run, hour, model", run: "run" } },
    maps: ["ledger"],
  },
  /** Sums of what runs have used: those that are deleted stay in them. */
  spending: {
    goes: "by age",
    tables: { spending: { key: "caller, hour, workflow, model", until: "until" } },
    maps: [],
  },
  /** How it ended, for charts: deleted runs go on to count. */
  counts: { goes: "by age", tables: { ended_runs: { key: "num", until: "until" } }, maps: ["ended"] },
  /** What was done to many runs at once. */
  actions: { goes: "by age", tables: { run_actions: { key: "id", until: "until" } }, maps: ["actions"] },
  slices: { goes: "by age", tables: { slices: { key: "account, start, holder", until: "until" } }, maps: [] },
  triggers: {
    goes: "stays",
    tables: { trigger_states: { key: "name" }, trigger_pauses: { key: "name" }, kept_outputs: { key: "name" } },
    maps: ["triggers"],
  },
  /** Versions of workflows: those without runs go by a rule of their own. */
  versions: {
    goes: "stays",
    tables: {
      versions: { key: "num" },
      version_texts: { key: "hash" },
      version_uses: { key: "hash, workflow, version" },
      pins: { key: "workflow" },
    },
    maps: ["versions"],
  },
  replicas: { goes: "by age", tables: { replicas: { key: "replica", until: "until" } }, maps: [] },
  /** The keys of the store, the places that keys of secrets are put into, and the processes that have it open or listen. */
  store: {
    goes: "stays",
    tables: { store: { key: "id" }, secret_keys: { key: "place" } },
    maps: ["cancelListeners", "hashKey"],
  },
} as const satisfies Readonly<Record<string, LeftBehind>>

export interface TableRule {
  readonly table: string
  readonly goes: Going
  readonly key: string
  readonly run?: string
  readonly until?: string
}

/** Every table of the schema. */
export const tableRules: readonly TableRule[] = Object.values<LeftBehind>(leftBehind).flatMap(({ goes, tables }) =>
  Object.entries(tables).map(([table, rule]) => ({ table, goes, ...rule })),
)

/** The tables that a run is deleted from by its number, at this time. */
export function tablesOfRun(goes: Going): readonly (TableRule & { readonly run: string })[] {
  return tableRules.flatMap((rule) =>
    rule.goes === goes && rule.run !== undefined ? [{ ...rule, run: rule.run }] : [],
  )
}

type Entries = (typeof leftBehind)[keyof typeof leftBehind]

/** The maps that go at these times. The memory store has something to do for each of them: one that is missing does not compile. */
export type MapsThat<G extends Going> = Extract<Entries, { goes: G }>["maps"][number]
