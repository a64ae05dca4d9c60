import type { RunTrigger, WireError } from "../log/events.ts"

export type { RunTrigger }

export const triggerOutcomes = ["started", "skipped", "missed", "refused"] as const

export type TriggerOutcome = (typeof triggerOutcomes)[number]

/** The memory of a schedule or webhook, which retention does not delete. Times are in milliseconds since 1970. */
export interface TriggerState {
  /** The schedule that `mark` belongs to: its cron expression and timezone. */
  readonly definition: string | null
  /** Due times up to this one have been decided. For a webhook: when `last` happened. */
  readonly mark: number | null
  /** The last thing that happened, for a webhook the last refusal; `run_id` and `due_at` are null where there is none. */
  readonly last: LastOutcome | null
  /** The run of the last due time that started one: the next may have to wait for its end. */
  readonly previous: string | null
}

export interface LastOutcome {
  readonly outcome: TriggerOutcome
  readonly run_id: string | null
  readonly due_at: number | null
  readonly error: WireError | null
}

export const freshTrigger: TriggerState = { definition: null, mark: null, last: null, previous: null }

export interface StoredTrigger {
  readonly state: TriggerState
  /** Changes with each write. */
  readonly revision: number
}

/** Whether a trigger is paused, and since when it has been so. */
export interface TriggerPause {
  readonly paused: boolean
  readonly at: number
}

/** The schedule that remembers the output of a run, and the time that the run saw as due. */
export interface OutputKeeper {
  readonly id: string
  readonly due_at: number
}

/** A schedule remembers this of its last run that completed. */
export interface KeptOutput {
  /** JSON; null for one that was too long. */
  readonly output: string | null
  readonly due_at: number
}

/** The marks and pauses of triggers, and what schedules remember of their runs. `id` is the workflow and the trigger's name. */
export interface TriggerStore {
  /** Null where nothing is remembered. */
  read(id: string): Promise<StoredTrigger | null>
  /** Replaces what was read; null: nothing was there. False: another process was first, and nothing changed. */
  write(id: string, state: TriggerState, read: number | null): Promise<boolean>
  /** Null for one that was never paused. */
  pause(id: string): Promise<TriggerPause | null>
  /** Replaces what is there, and is apart from the state: no process that advances a mark can undo what an operator did. */
  setPause(id: string, pause: TriggerPause): Promise<void>
  /**
   * What the run with `request.keeper` that completed last has left. It is stored with the end of that run, outlives the run, and goes where the run is
   * deleted by request. Null where there is none.
   */
  kept(id: string): Promise<KeptOutput | null>
}
