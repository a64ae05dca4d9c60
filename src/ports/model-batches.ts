import type { BatchAnswer } from "./batch-seat.ts"
import type { Backend } from "./model.ts"
import type { Gate } from "./gate.ts"

/** Where the batches of a run's agent go. */
export interface BatchTarget {
  readonly run_id: string
  readonly backend: Backend
  readonly signal: AbortSignal
  readonly gate: Gate
}

export interface BatchCall {
  /** Unique in the batch: it begins with the batch's id. */
  readonly custom_id: string
  /** JSON text. */
  readonly body: string
}

export type BatchSubmission =
  | { readonly outcome: "accepted"; readonly provider_id: string }
  /** The backend makes no batches. */
  | { readonly outcome: "refused" }
  /** It was surely not made. */
  | { readonly outcome: "failed"; readonly answer: BatchAnswer }
  /** It was surely not made, because the backend has no room for it now. */
  | { readonly outcome: "busy"; readonly retryAfterMs: number | null }
  /** Nobody knows whether it was made. */
  | { readonly outcome: "unknown"; readonly answer: BatchAnswer }

export interface BatchLook {
  /** The vendor's word. */
  readonly status: string
  readonly ended: boolean
  readonly completed: number
  readonly failed: number
  /** Why no call of it was made. */
  readonly problem?: string
  /** Files of the vendor: those with results, and the one that was uploaded. */
  readonly results?: readonly string[]
  readonly uploaded?: string
}

/** `maybe`: one that has not ended may be it. */
export type BatchSearch = { readonly provider_id: string } | "maybe" | "none"

/** Batches of model calls at their vendors. Unless it says otherwise, a method rejects with an `EgressFailure` or a `BatchTrouble`. */
export interface ModelBatches {
  /** Whether a call of the caller has shown which output format the backend honours. */
  knowsFormat(caller: string, backend: Backend, model: string): boolean
  /** Rejects only where the run stops. */
  submit(target: BatchTarget, id: string, calls: readonly BatchCall[]): Promise<BatchSubmission>
  /** The batch with our id among those that were made since (milliseconds). */
  find(target: BatchTarget, id: string, calls: number, since: number): Promise<BatchSearch>
  /** Null: the key does not find it (any more). */
  look(target: BatchTarget, provider_id: string): Promise<BatchLook | null>
  /** Gives the answers of an ended batch one after the other, in any order. */
  results(
    target: BatchTarget,
    provider_id: string,
    look: BatchLook,
    take: (custom_id: string, answer: BatchAnswer) => void,
  ): Promise<void>
  cancel(target: BatchTarget, provider_id: string): Promise<void>
  /** Deletes at the vendor what an ended batch leaves behind. Never rejects. */
  remove(target: BatchTarget, provider_id: string, look: BatchLook): Promise<void>
}

/** A vendor's answer that says nothing about the batch. */
export class BatchTrouble extends Error {
  readonly answer: BatchAnswer
  /** How long the vendor asks to wait. */
  readonly retryAfterMs: number | null

  constructor(answer: BatchAnswer, retryAfterMs: number | null = null) {
    super(`The model backend answered ${answer.status}`)
    this.name = "BatchTrouble"
    this.answer = answer
    this.retryAfterMs = retryAfterMs
  }
}
