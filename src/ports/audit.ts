import type { RunAct } from "./run-actions.ts"

/** What people and programs did that may have to be accounted for. */
export type AuditAct =
  | "started"
  | "answered"
  | "approved"
  | "denied"
  | "cancelled"
  | "deleted"
  | "read_secrets"
  | "paused"
  | "resumed"
  | "served"
  | "withdrew"
  | "moved"
  | "runs.action"
  | "erase"
  | "erased"
  | "stopped_candidate"
  | "resumed_candidate"

/** Who did what to which run or trigger: names and ids, never content. */
export interface AuditEntry {
  readonly act: AuditAct
  /** Of an action on many runs: what is done to them. */
  readonly action?: RunAct
  /** The id of that action, in its line and in those of its runs. */
  readonly id?: string
  /** Of an erasure: the paths of the values that runs are found by. */
  readonly paths?: readonly string[]
  /** Missing where a trigger is paused or resumed, and where a version is served or withdrawn. */
  readonly run_id?: string
  /** The name of the key; empty without keys. */
  readonly caller: string
  /** The workflow of the server's folder. */
  readonly workflow?: string
  /** The schedule or webhook of that workflow that was paused or resumed. */
  readonly trigger?: string
  /** The version that serves from now on, that was withdrawn, or that a run moved to. Missing where the file serves again. */
  readonly version?: string
  /** The earlier run whose results this one takes over. */
  readonly rerun_of?: string
  /** The id of the question, and the label that came with the answer. */
  readonly question?: string
  readonly by?: string
  /** The names of the server's secrets that the run was given. */
  readonly secrets?: readonly string[]
}

export type Audit = (entry: AuditEntry) => void
