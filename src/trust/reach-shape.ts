import type { Bound, Bounded } from "./reach-bounds.ts"

/** What a workflow can do at most, from its plan alone. Lists are sorted, so that two can be compared. */
export interface Reach {
  readonly hosts: readonly ReachedHost[]
  readonly tools: readonly ReachedTool[]
  readonly agents: readonly ReachedAgent[]
  readonly decisions: readonly Decision[]
  readonly ways: readonly ReachedWay[]
  readonly most: Readonly<Record<Bounded, Bound>>
  readonly exceptions: readonly Exception[]
  /** Files of code. They reach nothing. */
  readonly code?: readonly ReachedCode[]
}

export interface ReachedCode {
  readonly file: string
  /** SHA-256 of its text. */
  readonly hash: string
}

export interface ReachedHost {
  /** `api.example.com`; `demo`; the expression where the request decides it. */
  readonly host: string
  /** `provider.eu`, `mcp.shop`, `api.crm` */
  readonly backend: string
  readonly inputs: readonly string[]
  readonly secrets: readonly string[]
  /** Whether private data may be sent there. */
  readonly private: boolean
}

export interface ReachedTool {
  readonly tool: string
  readonly requires: "trusted" | "strict" | "none" | "undeclared" | readonly string[]
  /** The agents that may call it, and the steps that do. */
  readonly callers: readonly string[]
  /** What guards every call: `approval`, `max_calls: 3`, `bound: to`, `trust`. */
  readonly guards: readonly string[]
  /** What guards the calls of each caller. Absent where it is the same for all of them. */
  readonly per_caller?: readonly GuardedCaller[]
}

export interface GuardedCaller {
  readonly caller: string
  readonly guards: readonly string[]
}

export type Pattern = "quarantined" | "privileged" | "guarded" | "open" | "plain"

export interface ReachedAgent {
  readonly agent: string
  readonly pattern: Pattern
  /** The sources of strangers' words that it reads. */
  readonly reads: readonly string[]
  /** The share of its literal text that backends can keep, 0 to 1; null where it has no literal text. */
  readonly cacheable: number | null
}

/** A closed value that a model makes from strangers' words: they choose it. */
export interface Decision {
  readonly value: string
  readonly type: string
  readonly sources: readonly string[]
  /** The steps that use it. */
  readonly leads_to: readonly string[]
}

/** Something labelled that a step reads, from the input, from another step, or from what it calls or uses. */
export interface ReachedWay {
  readonly from: string
  readonly to: string
  readonly untrusted: boolean
  readonly private: boolean
}

export interface Exception {
  readonly place: string
  readonly word: "trust" | "release"
  readonly value: string
  readonly because: string
}
