import type { Plan } from "../plan/plan-shape.ts"
import type { RunRequest, StoreFailure } from "../ports/store.ts"
import type { Deadlines } from "./budget/deadlines.ts"
import type { HeldLease } from "./log/lease-keeper.ts"
import type { RunMemory } from "./shares/memory-share.ts"
import type { StoredRun } from "./shares/stored-share.ts"
import type { Suspects, SuspectTurn } from "./suspects.ts"

/** Why a run is taken up again. */
export interface Resumption {
  readonly reason: string
  /** True when the process before gave the run back; false when that process died. */
  readonly given_back: boolean
  /** It was parked, and people have answered. */
  readonly woken?: boolean
}

/** A run whose lease this process holds, ready to run. */
export interface HeldRun {
  readonly held: HeldLease
  readonly plan: Plan
  readonly request: RunRequest
  readonly caller: string
  /** The tenant whose slots it takes: its caller, unless the caller has no name. */
  readonly share: string
  /** Milliseconds since the epoch: no event of the run is older. */
  readonly created_at: number
  /** Why there is a log already; null for a run that is new. */
  readonly resumed: Resumption | null
}

/** A run with what the process lends it. */
export interface RunJob extends Omit<HeldRun, "share"> {
  readonly deadlines: Deadlines
  /** Counts what the run keeps with what others do. */
  readonly memory?: RunMemory
  /** Counts what it adds to the store. */
  readonly stored?: StoredRun
  /** Its events wait for a store that fails. */
  readonly stalled?: (error: StoreFailure) => void
  /** For runs that may have killed the process before. */
  readonly suspects?: Suspects
  /** This one may have. */
  readonly suspected?: SuspectTurn
}
