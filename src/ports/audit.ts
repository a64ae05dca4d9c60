/** What people and programs did that may have to be accounted for. */
export type AuditAct = "started" | "answered" | "approved" | "denied" | "cancelled" | "deleted" | "read_secrets"

/** Who did what to which run: names and ids, never content. */
export interface AuditEntry {
  readonly act: AuditAct
  readonly run_id: string
  /** The name of the key; empty without keys. */
  readonly caller: string
  /** The workflow of the server's folder. */
  readonly workflow?: string
  /** Of a run that takes results over: the earlier run. */
  readonly rerun_of?: string
  /** The id of the question, and the label that came with the answer. */
  readonly question?: string
  readonly by?: string
  /** The names of the server's secrets that the run was given. */
  readonly secrets?: readonly string[]
}

export type Audit = (entry: AuditEntry) => void
