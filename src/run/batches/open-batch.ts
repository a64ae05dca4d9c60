import type { BatchAnswer, BatchedCall, CallToBatch } from "../../ports/batch-seat.ts"
import type { BatchProgress, BatchReplayData } from "../../log/replay-data.ts"
import type { BatchLook, BatchTarget } from "../../ports/model-batches.ts"
import type { BudgetClaim } from "../budget/budgets.ts"
import type { Grant } from "../budget/budget.ts"

import { backendOf } from "../context/backends.ts"
import type { LaneClaims, RunContext } from "../context/run-context.ts"

/** A call of one item that waits for its answer. */
export interface SeatedCall {
  readonly iteration: number
  readonly call: CallToBatch
  /** What it may use at most, in a run with limits. */
  grant: Grant | null
  /** Reserves from the budgets of the caller, and what it got. Null where there are none. */
  readonly claims: LaneClaims | null
  claim: BudgetClaim | null
  readonly resolve: (made: BatchedCall | null) => void
  readonly reject: (reason: unknown) => void
}

/** A batch that was sent, or is about to be, and that items wait for. */
export interface OpenBatch extends Pick<BatchReplayData, "model" | "hash"> {
  readonly id: string
  readonly sentAt: number
  providerId: string | null
  submittedAt: number | null
  /** Items that it was made of, and that wait for it: by iteration. */
  readonly seated: Map<number, SeatedCall>
  /** Iterations that it has answers for, or that have not come yet. */
  readonly open: Set<number>
  /** Answers to calls whose steps have not come yet. */
  readonly early: Map<number, BatchAnswer>
  /** Items that were given their answers, and have not shown what came of them. */
  readonly taken: Set<number>
  watched: boolean
  /** It is known from the log. */
  readonly isOld: boolean
  progress: BatchProgress | null
  ended: BatchLook | null
}

/** Each call's name at the vendor begins with our id of the batch. */
export function customId(batch: string, iteration: number): string {
  return `${batch}-${iteration}`
}

export function iterationOf(batch: string, custom_id: string): number | null {
  const rest = custom_id.startsWith(`${batch}-`) ? custom_id.slice(batch.length + 1) : ""
  return /^\d{1,9}$/.test(rest) ? Number(rest) : null
}

export function targetOf(running: RunContext, model: string, signal = running.signal): BatchTarget {
  const { runId: run_id, gate } = running
  return { run_id, backend: backendOf(running, model), signal, gate }
}
