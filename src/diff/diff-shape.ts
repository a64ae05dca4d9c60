import type { StepChanges } from "../plan/compare-plans.ts"
import type { Bound, Bounded } from "../trust/reach-bounds.ts"

/** What a change of a workflow means to those who call it, and what it does otherwise than before. */
export interface WorkflowDiff {
  readonly contract: readonly ContractChange[]
  readonly steps: StepChanges
  readonly reach: Growth
  readonly cost: Growth & {
    readonly before: Readonly<Record<Bounded, Bound>>
    readonly after: Readonly<Record<Bounded, Bound>>
  }
  readonly trust: Growth
  readonly questions: readonly QuestionChange[]
}

/** A difference of what callers may send, or of what they read. */
export interface ContractChange {
  /** `input.region`, `output.team`, `secrets.key`, `webhook.paid`, `chat` */
  readonly path: string
  readonly change: string
  /** A caller that is right with the old version may be wrong with the new one. */
  readonly breaking: boolean
}

/** Sentences: what it can do now and could not do before, and the other way round. */
export interface Growth {
  readonly grew: readonly string[]
  readonly shrank: readonly string[]
}

/** An `ask` that differs. */
export interface QuestionChange {
  readonly question: string
  readonly change: string
  /** Questions of the old version that are open may be answered as they are. */
  readonly fits: boolean
}
