import type { Allowance } from "../check/allowance.ts"
import type { ImportNode, LoopVariable, StepSymbol } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type { PropertyPlace, WordList } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"

/** The surroundings of an expression, and what it may use there. */
export interface Setting extends Allowance {
  /** The agent or question around it, whose own values it sees. */
  readonly agent: StepSymbol | undefined
  /** Variables of the step's loop, and of the lists around it. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** The node of the plan that it belongs to: `agent.writer`, `dynamic.related`, `output`. */
  readonly node: string | undefined
  /** The agent's own value that it is a part of. */
  readonly local: string | undefined
  /** Its variables are all that it may refer to. */
  readonly isClosed?: true
  /** It is a requirement: `result` is the step's output. */
  readonly judges?: true
  /** It is decided after a round, which has a number. */
  readonly hasRound?: true
  /** One of a list of models, which is not chosen. */
  readonly isListed?: true
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
  | "workflow"
  | Syntax.ImportKind
  | WordList

/** A declaration that can be named elsewhere, or an agent's own dynamic value: `agent.a.dynamic.d`. */
export type DeclarationKind =
  | "schema"
  | "provider"
  | "model"
  | "mcp"
  | "api"
  | Syntax.ImportKind
  | "dynamic"
  | "local"
  | "agent"
  | "ask"
  | "wait"
  | "score"
  | "schedule"
  | "webhook"
  | "workflow"
  | "function"

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
  /** The name of something in another file; the item of the import that names it. */
  | { readonly kind: "imported-name"; readonly item: Syntax.FileImportItem }
  /** A key of the `secrets` of an import or a workflow: a secret of the other file. */
  | { readonly kind: "bound-secret"; readonly node: Syntax.ValueField }
  | { readonly kind: "property"; readonly property: Syntax.Property; readonly block: PropertyBlock }
  /** Where a field is written: of a type, or of an object. `remote` ones have the name that a server gave them. */
  | { readonly kind: "field"; readonly node: Syntax.TypeField | Syntax.ValueField; readonly remote: boolean }
  /** A key of the `input`, `bindings` or `next` of an import or a workflow. */
  | { readonly kind: "argument"; readonly node: Syntax.ValueField; readonly block: ArgumentBlock }
  /** A key of the `input` of a schedule or webhook. */
  | { readonly kind: "input-field"; readonly node: Syntax.ValueField }
  /** A key of `send`: an argument of an HTTP tool. */
  | { readonly kind: "sent"; readonly node: Syntax.SendField; readonly block: SendBlock }
  /** A word for the place that an argument is sent to, or the `status` of `output: status`. */
  | { readonly kind: "http-word"; readonly of: "send" | "output" }
  /** A key of `headers` or `extra`. */
  | { readonly kind: "foreign-key"; readonly node: Syntax.ValueField; readonly of: "headers" | "extra" }
  /** The name of a function that is called. */
  | { readonly kind: "function"; readonly node: Syntax.FunctionNode; readonly setting: Setting }
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
  | { readonly kind: "variable"; readonly name: Syntax.Name }
  /** A field in the pattern of a loop; where it has no other name there, also the variable. */
  | {
      readonly kind: "pattern-field"
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
  | Syntax.ApiDeclaration
  | Syntax.AgentDeclaration
  | Syntax.AskDeclaration
  | Syntax.WaitDeclaration
  | Syntax.TriggerDeclaration
  | Syntax.ScoreDeclaration
  | Syntax.WorkflowDeclaration
  | Syntax.FunctionDeclaration
  | ImportNode
  | Syntax.ValueField

export interface PropertyBlock {
  readonly place: PropertyPlace
  readonly items: readonly (Syntax.Property | Syntax.BatchItem)[]
}

export interface SendBlock {
  readonly items: readonly Syntax.SendField[]
  /** The name of the tool. */
  readonly tool: string
}

export interface ArgumentBlock {
  readonly name: "input" | "bindings" | "next"
  readonly items: readonly Syntax.ValueField[]
  /** `tool.find`, `workflow.triage`: what takes the arguments; undefined for those that a batch shares. */
  readonly import: { readonly kind: Syntax.ImportKind | "workflow"; readonly name: string } | undefined
}
