import type { JsonValue } from "../base/json-value.ts"

/**
 * An expression as the evaluator takes it: plain JSON, names resolved. `text` is how the author wrote it, for error
 * messages.
 */
export type Expression =
  | { readonly op: "literal"; readonly value: JsonValue }
  /** A string with interpolations: literal pieces and expressions in turn. */
  | { readonly op: "text"; readonly parts: readonly (string | Expression)[] }
  | { readonly op: "array"; readonly items: readonly Expression[] }
  | { readonly op: "object"; readonly entries: readonly Entry[] }
  | { readonly op: "reference"; readonly root: Root; readonly text: string }
  | { readonly op: "chain"; readonly base: Expression; readonly steps: readonly Step[]; readonly text: string }
  | { readonly op: "default"; readonly left: Expression; readonly right: Expression }
  | BinaryExpression
  | { readonly op: "not"; readonly value: Expression; readonly text: string }
  | ArithmeticExpression
  | { readonly op: "negate"; readonly value: Expression; readonly text: string }
  | MatchExpression
  | CallExpression
  | ReadExpression
  | RenderExpression
  | AssetExpression

export interface Entry {
  readonly key: string
  readonly value: Expression
}

export type Root =
  | { readonly kind: "input" }
  | { readonly kind: "secrets" }
  /** An agent's output; of a looped agent the array of its outputs. */
  | { readonly kind: "agent"; readonly name: string }
  /** A person's answer; of a looped question the array of answers. */
  | { readonly kind: "ask"; readonly name: string }
  /** A top-level dynamic value. */
  | { readonly kind: "dynamic"; readonly name: string }
  /** A dynamic value of the agent that the expression stands in. */
  | { readonly kind: "local"; readonly name: string }
  /** A variable of the agent's loop. */
  | { readonly kind: "variable"; readonly name: string }
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
  readonly operator: "||" | "&&" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains"
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

export interface MatchExpression {
  readonly op: "match"
  readonly value: Expression
  /** Field that names the case of a variant; null where plain values are matched. */
  readonly tag: string | null
  readonly branches: readonly MatchBranch[]
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
  readonly text: string
}

/** Each call waits for a person's approval. */
export interface ApprovalPlan {
  /** A string: a group, or a label. */
  readonly to: Expression | null
  readonly expires_seconds: number
}

export interface ReadExpression {
  readonly op: "read"
  readonly resource: string
  readonly bindings: readonly Entry[]
  readonly site: string
  readonly text: string
}

export interface RenderExpression {
  readonly op: "render"
  readonly prompt: string
  readonly bindings: readonly Entry[]
  readonly site: string
  readonly text: string
}

export interface AssetExpression {
  readonly op: "asset"
  /** A URL, a data URL, or Base64 text with a media type. */
  readonly value: Expression
  /** Null: decided when it is evaluated. */
  readonly type: "image" | "document" | "video" | null
  readonly media_type: Expression | null
  readonly title: Expression | null
  readonly context: Expression | null
  /** A boolean. */
  readonly citations: Expression | null
  readonly text: string
}
