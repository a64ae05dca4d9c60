import type { JsonValue } from "../base/json-value.ts"
import type { CodeFiles } from "../source/code-files.ts"
import type { Type } from "../types/types.ts"
import type { ValueFunctionName } from "../check/function-table.ts"

/**
 * An expression as the evaluator takes it: plain JSON, names resolved. `text` is how the author wrote it, for error
 * messages.
 */
export type Expression =
  | { readonly op: "literal"; readonly value: JsonValue }
  /** A string with interpolations: literal pieces and expressions in turn. */
  | { readonly op: "text"; readonly parts: readonly (string | Expression)[] }
  | { readonly op: "array"; readonly items: readonly Expression[] }
  | ListExpression
  | { readonly op: "object"; readonly entries: readonly Entry[] }
  | ReferenceExpression
  /** `lenient`: a field that is missing makes it null, as on the left of `??`. */
  | {
      readonly op: "chain"
      readonly base: Expression
      readonly steps: readonly Step[]
      readonly lenient?: true
      readonly text: string
    }
  | { readonly op: "default"; readonly left: Expression; readonly right: Expression }
  | BinaryExpression
  | { readonly op: "not"; readonly value: Expression; readonly text: string }
  | ArithmeticExpression
  | { readonly op: "negate"; readonly value: Expression; readonly text: string }
  | FunctionExpression
  | FailureExpression
  | OwnFunctionExpression
  | MatchExpression
  | CallExpression
  | WorkflowCallExpression
  | ReadExpression
  | RenderExpression
  | AssetExpression

export interface ReferenceExpression {
  readonly op: "reference"
  readonly root: Root
  readonly text: string
}

export interface Entry {
  readonly key: string
  readonly value: Expression
}

export type Root =
  | { readonly kind: "input" }
  | { readonly kind: "secrets" }
  /** Its id, and when it began. */
  | { readonly kind: "run" }
  /** An agent's output; of a looped agent the array of its outputs. */
  | { readonly kind: "agent"; readonly name: string }
  /** The outputs of the rounds of an agent that repeats. */
  | { readonly kind: "rounds"; readonly name: string }
  /** A person's answer; of a looped question the array of answers. */
  | { readonly kind: "ask"; readonly name: string }
  /** The data of an event, or the time at which the wait ended; of a looped wait the array of them. */
  | { readonly kind: "wait"; readonly name: string }
  /** A top-level dynamic value. */
  | { readonly kind: "dynamic"; readonly name: string }
  /** A dynamic value of the agent that the expression stands in. */
  | { readonly kind: "local"; readonly name: string }
  /** A variable of the agent's loop. */
  | { readonly kind: "variable"; readonly name: string }
  /** A variable of a list around the expression. In a function of one's own `#0` is its first argument. */
  | { readonly kind: "item"; readonly name: string }
  /** In a requirement: the output or the answer that is judged. In a repetition: the output of the last round. */
  | { readonly kind: "result" }
  /** In a repetition: the number of the last round, from 1. */
  | { readonly kind: "round" }
  /** In a requirement: a value that was evaluated before, by its position among the requirement's `captures`. */
  | { readonly kind: "captured"; readonly index: number }
  /** Inside a branch of `match`: the value that is matched. */
  | { readonly kind: "matched" }

/**
 * Steps after a `pluck` apply to each plucked element (`a.*.b.c` is c of b of each), so that a second pluck nests. An
 * `optional` step on null makes the whole rest of the chain null (of that element, after a pluck).
 */
export type Step =
  | { readonly step: "field"; readonly name: string; readonly optional: boolean }
  /** Null when out of range. */
  | { readonly step: "index"; readonly index: number; readonly optional: boolean }
  /** Nulls (elements, or their fields) are kept, dropped, or refused together with mixed JSON types. */
  | {
      readonly step: "pluck"
      readonly name: string
      readonly nulls: "keep" | "drop" | "refuse"
      readonly optional: boolean
    }
  /** The object itself when its tag names the case, else null (the rest of the chain is skipped then). */
  | { readonly step: "case"; readonly tag: string | null; readonly name: string; readonly optional: boolean }

/** The right side of `&&` and `||` is evaluated only when it decides. */
export interface BinaryExpression {
  readonly op: "binary"
  readonly operator: "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "in"
  readonly left: Expression
  readonly right: Expression
  readonly text: string
}

export interface ArithmeticExpression {
  readonly op: "arithmetic"
  readonly operator: "+" | "-" | "*" | "/" | "%"
  readonly left: Expression
  readonly right: Expression
  /** The result is of type `integer`, and must be an exact one. */
  readonly integer: boolean
  readonly text: string
}

export interface FunctionExpression {
  readonly op: "function"
  readonly name: ValueFunctionName
  readonly items: readonly Expression[]
  /** The result is of type `integer`, and must be an exact one. */
  readonly integer: boolean
  readonly text: string
}

/** Why a step or a call failed that the run went on after; null where it did not. Arrays where it stands in loops. */
export interface FailureExpression {
  readonly op: "failure"
  /** The step's value, which has as many elements. */
  readonly of: ReferenceExpression
  /** The site of the call; null for an agent. */
  readonly site: string | null
  /** How many loops or lists it stands in. */
  readonly depth: number
  readonly text: string
}

/** A call of one of the plan's `functions`. */
export interface OwnFunctionExpression {
  readonly op: "own-function"
  readonly name: string
  readonly items: readonly Expression[]
  /** What identifies the function, with all that it calls, in another plan: neither its name nor those of its parameters. */
  readonly version: string
  /** It goes over lists. */
  readonly loops: boolean
  /** Calls of code in it. Absent where there are none. */
  readonly code?: number
  /** What the checker could not know of the arguments is checked when it is called. */
  readonly untyped: boolean
  readonly text: string
}

export interface FunctionPlan {
  readonly parameters: readonly { readonly name: string; readonly type: Type }[]
  readonly value: Expression
  /** The export of a code file that computes it, in place of `value`. */
  readonly code?: { readonly files: CodeFiles; readonly name: string }
  /** The type of the result, where the checker could not know it. */
  readonly result: Type | null
  readonly version: string
}

export interface MatchExpression {
  readonly op: "match"
  readonly value: Expression
  /** Field that names the case of a variant; null where plain values are matched. */
  readonly tag: string | null
  readonly branches: readonly MatchBranch[]
  /** It is the `when` of a call, whose value is a boolean. */
  readonly isCondition?: true
  readonly text: string
}

export interface MatchBranch {
  readonly takes:
    | { readonly kind: "case"; readonly name: string }
    | { readonly kind: "value"; readonly value: string | boolean | null }
    /** `_` */
    | { readonly kind: "rest" }
  readonly value: Expression
}

export interface LoopPlan {
  readonly items: Expression
  /** The variable for the position in the list. Absent where none is asked for. */
  readonly index?: string
  /** One variable for the item, or one for each named field of it. */
  readonly pattern:
    | { readonly kind: "item"; readonly variable: string }
    | { readonly kind: "fields"; readonly fields: readonly { readonly field: string; readonly variable: string }[] }
}

/** `[value for item in list when condition by key descending]`: filtered first, then sorted, then made. */
export interface ListExpression {
  readonly op: "list"
  readonly loop: LoopPlan
  /** Without calls, as the key is. */
  readonly when: Expression | null
  readonly by: { readonly key: Expression; readonly descending: boolean } | null
  readonly value: Expression
  /** Elements whose calls are made at a time. Absent: as many as the run may call. */
  readonly concurrency?: number
  readonly text: string
}

export interface CallExpression {
  readonly op: "call"
  readonly tool: string
  readonly input: readonly Entry[]
  readonly bindings: readonly Entry[]
  readonly max_calls: number | null
  /** What the import and the call demand together; null: no approval is needed. */
  readonly approval: ApprovalPlan | null
  /** Durable identity of the call site: `dynamic.related/call find_issues`. Edits elsewhere in the file do not change it. */
  readonly site: string
  /** Its value is null where it fails for good. */
  readonly skips?: true
  readonly text: string
}

/** Calls a file of the plan's `workflows`, once or until its output is good enough. */
export interface WorkflowCallExpression {
  readonly op: "call-workflow"
  /** Its name in the plan's `workflows`. */
  readonly workflow: string
  /** Where it stands: `dynamic.first`, `agent.a.instruction`; `dynamic.first(2)` for the second call of the same workflow there. */
  readonly site: string
  readonly input: readonly Entry[]
  /** Null: no approval is needed. */
  readonly approval: ApprovalPlan | null
  /** Its value is null where it fails for good. */
  readonly skips?: true
  readonly repeat?: RepeatPlan
  readonly text: string
}

/** The value of a call that has it is `{ result, rounds, done }`. */
export interface RepeatPlan {
  /** A boolean: the round's output is good enough. */
  readonly until: Expression
  /** Fields of the next round's input that are not those of the last; not evaluated after the last round. */
  readonly next: readonly Entry[]
  /** 1 to 100. */
  readonly at_most: number
}

/** Each call waits for a person's approval. */
export interface ApprovalPlan {
  /** A string: what the person is asked. Absent where nothing is written. */
  readonly question?: Expression
  /** What the person looks at. Absent where nothing is written. */
  readonly show?: Expression
  /** A string: a group, or a label. */
  readonly to: Expression | null
  readonly expires_seconds: number
}

export interface ReadExpression {
  readonly op: "read"
  readonly resource: string
  readonly bindings: readonly Entry[]
  readonly site: string
  /** Its value is null where it fails for good. */
  readonly skips?: true
  readonly text: string
}

export interface RenderExpression {
  readonly op: "render"
  readonly prompt: string
  readonly bindings: readonly Entry[]
  readonly site: string
  /** Its value is null where it fails for good. */
  readonly skips?: true
  readonly text: string
}

export interface AssetExpression {
  readonly op: "asset"
  /** A URL, a data URL, or Base64 text with a media type. */
  readonly value: Expression
  /** Null: decided when it is evaluated. */
  readonly type: "image" | "document" | "video" | "audio" | null
  readonly media_type: Expression | null
  readonly title: Expression | null
  readonly context: Expression | null
  /** A boolean. */
  readonly citations: Expression | null
  readonly text: string
}
