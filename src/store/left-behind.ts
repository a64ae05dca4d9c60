// The list of what runs leave behind, and of what else a store keeps. Retention, deletion, erasure, moves, `wire store check` and their tests read it. A table or a map without
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

/**
 * What erasing a run does besides deleting it.
 *
 * - `as deleted`: nothing, for a deletion leaves none of it
 * - `at once`: rows go that a deletion leaves to their own time: those of the columns that `of` names
 * - `by its log`: entries go that the log of the run names
 * - `with its last run`: those go that no other run uses
 * - `stays`: it holds nothing that a run was given or made
 */
export type Erasing = "as deleted" | "at once" | "by its log" | "with its last run" | "stays"

interface LeftTable {
  readonly key: string
  readonly run?: string
  readonly until?: string
  readonly of?: string
}

export interface LeftBehind {
  readonly goes: Going
  readonly erased: Erasing
  /**
   * SQL: tables, each with the column of its rows' key. `run`: the column with the number of the run. `until`: the column with the time from which on a row is dead. `of`: a
   * column that the table of runs has, too, under the same name.
   */
  readonly tables: Readonly<Record<string, LeftTable>>
  /** Memory: fields of the store and of its parts. */
  readonly maps: readonly string[]
}

export const leftBehind = {
  /** How it stands, and whatever finds it. */
  run: {
    goes: "with the run",
    erased: "as deleted",
    tables: { runs: { key: "num" } },
    maps: ["runs", "active", "parked", "uncounted", "shadows"],
  },
  /** Keyed hashes of values of its input, by which an erasure finds it. */
  values: {
    goes: "with the run",
    erased: "as deleted",
    tables: { run_values: { key: "run, path", run: "run" } },
    maps: [],
  },
  /** Its events. */
  log: {
    goes: "after the run",
    erased: "as deleted",
    tables: { events: { key: "id", run: "run" } },
    maps: [],
  },
  request: {
    goes: "after the run",
    erased: "as deleted",
    tables: { requests: { key: "run", run: "run" } },
    maps: [],
  },
  secrets: {
    goes: "at its end",
    erased: "as deleted",
    tables: { secrets: { key: "run", run: "run" } },
    maps: [],
  },
  /** What it waited for, with the outcomes. */
  waits: {
    goes: "with the run",
    erased: "as deleted",
    tables: { waits: { key: "num", run: "run" } },
    maps: ["waits"],
  },
  notices: {
    goes: "when settled",
    erased: "at once",
    tables: { outbox: { key: "run_id, event_id", of: "run_id" } },
    maps: ["outbox"],
  },
  /** Idempotency keys; on SQL databases those that outlive their runs: the others are columns of the run. */
  keys: {
    goes: "by age",
    erased: "at once",
    tables: { kept_keys: { key: "idempotency", until: "until", of: "idempotency" } },
    maps: ["byKey", "keptKeys"],
  },
  /** Ids of erased runs stay. */
  tombstone: {
    goes: "by age",
    erased: "stays",
    tables: { tombstones: { key: "run_id", until: "until" } },
    maps: ["tombstones", "erased", "erasure"],
  },
  /** Tells whether something of a deleted run is still there. */
  remains: {
    goes: "after the run",
    erased: "stays",
    tables: { leftovers: { key: "run" } },
    maps: [],
  },
  /** Events that callers sent: kept ones, and the ids of all. */
  events: {
    goes: "by age",
    erased: "stays",
    tables: { sent_events: { key: "num", until: "until" } },
    maps: ["sentEvents"],
  },
  /** Files, and their objects in another place. Those that a run refers to stay as long as the run at least. */
  files: {
    goes: "stays",
    erased: "with its last run",
    tables: { files: { key: "num" }, file_objects: { key: "num" }, file_totals: { key: "caller" } },
    maps: [],
  },
  /** Which files it uses. */
  fileUses: {
    goes: "with the run",
    erased: "as deleted",
    tables: { file_refs: { key: "run, file, made, step", run: "run" } },
    maps: ["files"],
  },
  /** Answers of models, for all runs of a caller. */
  cache: {
    goes: "by age",
    erased: "by its log",
    tables: { cache: { key: "entry", until: "expires_at" } },
    maps: ["cache"],
  },
  /** What the runs of each caller take. It is less by a run that is deleted. */
  bytes: { goes: "stays", erased: "stays", tables: { stored: { key: "caller" } }, maps: ["stored"] },
  /** What it has used, by hour. */
  use: {
    goes: "with the run",
    erased: "as deleted",
    tables: { ledger: { key: "run, hour, model", run: "run" } },
    maps: ["ledger"],
  },
  /** Sums of what runs have used: those that are deleted stay in them. */
  spending: {
    goes: "by age",
    erased: "stays",
    tables: { spending: { key: "caller, hour, workflow, model", until: "until" } },
    maps: [],
  },
  /** How it ended, for charts: deleted runs go on to count. */
  counts: { goes: "by age", erased: "stays", tables: { ended_runs: { key: "num", until: "until" } }, maps: ["ended"] },
  /** What it was judged by. */
  scores: {
    goes: "with the run",
    erased: "as deleted",
    tables: { run_scores: { key: "run, name, author", run: "run" } },
    maps: ["scores"],
  },
  /** How often each value was given: deleted runs go on to count. What judges have cost. */
  scoreSums: {
    goes: "by age",
    erased: "stays",
    tables: {
      score_sums: { key: "caller, workflow, name, day, version, model, value", until: "until" },
      score_days: { key: "day", until: "until" },
      shadow_days: { key: "day", until: "until" },
    },
    maps: [],
  },
  /** What was done to many runs at once. */
  actions: {
    goes: "by age",
    erased: "stays",
    tables: { run_actions: { key: "id", until: "until" } },
    maps: ["actions"],
  },
  slices: {
    goes: "by age",
    erased: "stays",
    tables: { slices: { key: "account, start, holder", until: "until" } },
    maps: [],
  },
  triggers: {
    goes: "stays",
    erased: "at once",
    tables: {
      trigger_states: { key: "name" },
      trigger_pauses: { key: "name" },
      kept_outputs: { key: "name", of: "run_id" },
    },
    maps: ["triggers"],
  },
  /** Versions of workflows: those without runs go by a rule of their own. */
  versions: {
    goes: "stays",
    erased: "stays",
    tables: {
      versions: { key: "num" },
      version_texts: { key: "hash" },
      version_uses: { key: "hash, workflow, version" },
      pins: { key: "workflow" },
    },
    maps: ["versions"],
  },
  replicas: { goes: "by age", erased: "stays", tables: { replicas: { key: "replica", until: "until" } }, maps: [] },
  /** The keys of the store, the places that keys of secrets are put into, and the processes that have it open or listen. */
  store: {
    goes: "stays",
    erased: "stays",
    tables: { store: { key: "id" }, secret_keys: { key: "place" } },
    maps: ["cancelListeners", "hashKey"],
  },
} as const satisfies Readonly<Record<string, LeftBehind>>

export interface TableRule extends LeftTable {
  readonly table: string
  readonly goes: Going
  readonly erased: Erasing
}

/** Every table of the schema. */
export const tableRules: readonly TableRule[] = Object.values<LeftBehind>(leftBehind).flatMap(
  ({ goes, erased, tables }) => Object.entries(tables).map(([table, rule]) => ({ table, goes, erased, ...rule })),
)

/** The tables that a run is deleted from by its number, at this time. */
export function tablesOfRun(goes: Going): readonly (TableRule & { readonly run: string })[] {
  return tableRules.flatMap((rule) =>
    rule.goes === goes && rule.run !== undefined ? [{ ...rule, run: rule.run }] : [],
  )
}

/** The tables of which rows go with an erased run that a deleted one leaves. */
export const tablesErasedAtOnce: readonly (TableRule & { readonly of: string })[] = tableRules.flatMap((rule) =>
  rule.erased === "at once" && rule.of !== undefined ? [{ ...rule, of: rule.of }] : [],
)

type Entries = (typeof leftBehind)[keyof typeof leftBehind]

/** The maps that go at these times. The memory store has something to do for each of them: one that is missing does not compile. */
export type MapsThat<G extends Going> = Extract<Entries, { goes: G }>["maps"][number]
