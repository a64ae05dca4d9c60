import type { Allowance } from "../check/allowance.ts"
import type { ImportNode, StepSymbol } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type { PropertyPlace, WordList } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"

/** The surroundings of an expression, and what it may use there. */
export interface Setting extends Allowance {
  /** The agent or question around it, whose loop variables and own values it sees. */
  readonly agent: StepSymbol | undefined
  /** The node of the plan that it belongs to: `agent.writer`, `dynamic.related`, `output`. */
  readonly node: string | undefined
  /** The agent's own value that it is a part of. */
  readonly local: string | undefined
  /** What its place takes: a value, or the name of something else. */
  readonly expects: Expected
  /** The other side of the comparison that it is an operand of. */
  readonly compared?: { readonly with: Syntax.Expression; readonly operator: Syntax.BinaryOperator }
}

export type Expected =
  | "value"
  | "model"
  /** `tool.t`, `resource.r` or `prompt.p`. */
  | "use"
  /** An agent, or `compact` and an agent. */
  | "context"
  | "agent"
  | Syntax.ImportKind
  | WordList

/** A declaration that can be named elsewhere, or an agent's own dynamic value: `agent.a.dynamic.d`. */
export type DeclarationKind =
  | "schema"
  | "provider"
  | "model"
  | "mcp"
  | Syntax.ImportKind
  | "dynamic"
  | "local"
  | "agent"
  | "ask"

/** A name in the source, with all that its place in the tree says about it. */
export type NameUse = Span & {
  readonly text: string
  /** The declaration around it. */
  readonly declaration: Syntax.Declaration
} & NameRole

export type NameRole =
  /** A word of the grammar: `agent`, `from`, `match` and `asset` (with what they begin), `maybe`, `true`. */
  | { readonly kind: "keyword"; readonly match?: Syntax.MatchNode; readonly asset?: Syntax.AssetNode }
  | {
      readonly kind: "declaration"
      readonly declares: DeclarationKind
      readonly id: string
      readonly node: DeclaredNode
    }
  | { readonly kind: "property"; readonly property: Syntax.Property; readonly block: PropertyBlock }
  /** Where a field is written: of a type, or of an object. `remote` ones have the name that a server gave them. */
  | { readonly kind: "field"; readonly node: Syntax.TypeField | Syntax.ValueField; readonly remote: boolean }
  /** A key of the `input` or `bindings` of an import. */
  | { readonly kind: "argument"; readonly node: Syntax.ValueField; readonly block: ArgumentBlock }
  /** A key of `headers` or `extra`. */
  | { readonly kind: "foreign-key"; readonly node: Syntax.ValueField; readonly of: "headers" | "extra" }
  | { readonly kind: "root"; readonly chain: Syntax.Chain; readonly setting: Setting }
  | {
      readonly kind: "step"
      readonly chain: Syntax.Chain
      readonly step: Syntax.ChainStep
      readonly index: number
      readonly setting: Setting
      /** The chain begins with the case of a branch. */
      readonly matched: boolean
    }
  | {
      readonly kind: "branch"
      readonly match: Syntax.MatchNode
      readonly branch: Syntax.MatchBranch
      readonly setting: Setting
    }
  | { readonly kind: "type"; readonly node: Syntax.TypeNode & { kind: "type-name" } }
  | { readonly kind: "type-segment"; readonly segments: readonly Syntax.Name[]; readonly index: number }
  | { readonly kind: "enum-value" }
  | { readonly kind: "tag"; readonly node: Syntax.VariantType }
  | { readonly kind: "case"; readonly node: Syntax.VariantCase; readonly variant: Syntax.VariantType }
  | { readonly kind: "variable"; readonly agent: Syntax.StepDeclaration; readonly name: Syntax.Name }
  /** A field in the pattern of a loop; where it has no other name there, also the variable. */
  | {
      readonly kind: "pattern-field"
      readonly agent: Syntax.StepDeclaration
      readonly loop: Syntax.Loop
      readonly field: Syntax.PatternField
    }
  | { readonly kind: "provider-kind" }
  | { readonly kind: "provider-name" }
  | { readonly kind: "server-name"; readonly source: Syntax.RemotePath }
  | { readonly kind: "remote-kind"; readonly source: Syntax.RemotePath }
  | { readonly kind: "remote-name"; readonly source: Syntax.RemotePath }

export type DeclaredNode =
  | Syntax.SchemaDeclaration
  | Syntax.ProviderDeclaration
  | Syntax.ModelDeclaration
  | Syntax.McpDeclaration
  | Syntax.AgentDeclaration
  | Syntax.AskDeclaration
  | ImportNode
  | Syntax.ValueField

export interface PropertyBlock {
  readonly place: PropertyPlace
  readonly items: readonly (Syntax.Property | Syntax.BatchItem)[]
}

export interface ArgumentBlock {
  readonly name: "input" | "bindings"
  readonly items: readonly Syntax.ValueField[]
  /** `tool.find`: the import that takes the arguments; undefined for those that a batch shares. */
  readonly import: { readonly kind: Syntax.ImportKind; readonly name: string } | undefined
}
