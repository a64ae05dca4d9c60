import type { SoughtValue } from "./erasure.ts"

// An action on many runs is stored before it begins, and processes go on with it until it is done, whatever crashes.

export const runActs = ["retry_failed", "cancel", "delete"] as const

export type RunAct = (typeof runActs)[number]

/** Runs of one action. */
export const maxActionRuns = 10_000

/** For how long an action can be asked for. */
export const actionKeptMs = 30 * 24 * 3_600_000

export interface RunsPlan {
  readonly act: RunAct
  /** Looks which runs it fits, and does nothing. */
  readonly dry_run: boolean
  readonly run_ids: readonly string[]
}

/** Erases the runs whose input has these values. What is stored of a value is a keyed hash. */
export interface ErasurePlan {
  readonly act: "erase"
  readonly dry_run: boolean
  /** It goes on until the open runs have ended, and erases them. */
  readonly also_open: boolean
  readonly where: readonly SoughtValue[]
  readonly workflow: string | null
  /** The place of the last run that was made before it began. */
  readonly until: number
}

export type ActionPlan = RunsPlan | ErasurePlan

export interface ActionProgress {
  /** How many of the runs were gone through; of an erasure: the place up to which runs were looked at. */
  readonly next: number
  readonly done: number
  readonly failed: readonly { readonly run_id: string; readonly message: string }[]
  /** Of an erasure: runs that go next. They count as erased when they are gone, so that a crash loses none. */
  readonly pending?: readonly string[]
  /** Of an erasure: runs that have not ended. */
  readonly open?: readonly string[]
  /** Of an erasure that only looks: runs that would go with others. */
  readonly others?: readonly string[]
}

export interface StoredAction<P extends ActionPlan = ActionPlan> {
  readonly id: string
  /** The name of the key that asked for it. */
  readonly caller: string
  readonly by_operator: boolean
  readonly plan: P
  readonly progress: ActionProgress
  readonly completed: boolean
  /** Changes with each write. */
  readonly revision: number
}

export type NewAction = Pick<StoredAction, "id" | "caller" | "by_operator" | "plan">

export interface ActionStore {
  /** No other process goes on with it before `due_at`; after `until` it is deleted. */
  add(action: NewAction, due_at: number, until: number): Promise<void>
  /** Null for one that does not exist (any more). */
  read(id: string): Promise<StoredAction | null>
  /** Replaces the progress that was read. `due_at`: as in `add`; null: it is completed. False: another process was first, and nothing changed. */
  advance(id: string, read: number, progress: ActionProgress, due_at: number | null): Promise<boolean>
  /** Ids of actions that no process works on, at most `limit`, those first that are due for longest. */
  due(now: number, limit: number): Promise<readonly string[]>
}

export function isErasure(action: StoredAction): action is StoredAction<ErasurePlan> {
  return action.plan.act === "erase"
}

export const noProgress: ActionProgress = { next: 0, done: 0, failed: [] }
