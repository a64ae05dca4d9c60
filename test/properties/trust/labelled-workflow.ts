// A workflow in the words of the tests: small enough to be followed path by path. `write-workflow.ts` writes it down as a `.wire` file.

/** A text. `call` may not stand where calls are refused. */
export type Text =
  | { readonly kind: "literal" }
  | { readonly kind: "input"; readonly field: "mail" | "iban" | "shop" }
  | { readonly kind: "customer"; readonly field: "note" | "name" | "id" }
  | { readonly kind: "agent"; readonly name: string; readonly field: "text" | "ok"; readonly otherwise?: Text }
  | { readonly kind: "ask"; readonly name: string; readonly otherwise?: Text }
  | { readonly kind: "dynamic"; readonly name: string }
  | { readonly kind: "part"; readonly name: string; readonly field: "p" | "q" }
  | { readonly kind: "all"; readonly name: string }
  | { readonly kind: "item"; readonly name: string }
  | { readonly kind: "item-field"; readonly name: string; readonly field: "text" | "ok"; readonly isNullable: boolean }
  | { readonly kind: "interpolation"; readonly parts: readonly Text[] }
  | { readonly kind: "upper"; readonly of: Text }
  | { readonly kind: "match"; readonly on: Condition; readonly yes: Text; readonly no: Text }
  | { readonly kind: "exception"; readonly id: number; readonly word: "trust" | "release"; readonly of: Text }
  | { readonly kind: "join"; readonly list: List }
  | ToolCall

export interface ToolCall {
  readonly kind: "call"
  readonly tool: string
  /** Left out where the import binds it. */
  readonly to?: Text
  readonly body: Text
  readonly approval: Approval
}

export type Condition =
  | { readonly kind: "go" }
  | { readonly kind: "equal"; readonly left: Text; readonly right: Text }
  | { readonly kind: "not"; readonly of: Condition }
  | { readonly kind: "and"; readonly left: Condition; readonly right: Condition }
  | { readonly kind: "longer"; readonly list: List }
  | { readonly kind: "agent"; readonly name: string; readonly isNullable: boolean }
  | { readonly kind: "item-field"; readonly name: string; readonly isNullable: boolean }

/** An array of texts. */
export type List =
  | { readonly kind: "mails" | "letters" | "ids" | "notes" }
  | { readonly kind: "lines"; readonly of: Text }
  | { readonly kind: "slice"; readonly of: List }
  | { readonly kind: "concat"; readonly left: List; readonly right: List }
  | { readonly kind: "array"; readonly items: readonly Text[] }
  | { readonly kind: "dynamic-list"; readonly name: string }
  | { readonly kind: "pluck"; readonly name: string; readonly field: "text" | "ok"; readonly drops: boolean }
  | {
      readonly kind: "list"
      readonly loop: Loop
      readonly value: Text
      readonly when?: Condition
      readonly by?: Text
    }

export interface Loop {
  readonly variable: string
  /** Texts, or the outputs of a looped agent. */
  readonly over: List | { readonly kind: "outputs"; readonly name: string; readonly isNullable: boolean }
}

export type Approval = "none" | "caller" | "group" | "cleared group"

export interface Tool {
  readonly name: string
  readonly server: "shop" | "web"
  readonly gives: readonly ("trusted" | "untrusted" | "private")[] | undefined
  readonly requires: "trusted" | "none" | "to" | undefined
  readonly isCleared: boolean
  readonly approval: Approval
  /** What the import binds for `to`. */
  readonly to: "mail" | "shop" | "iban" | undefined
}

export interface Agent {
  readonly kind: "agent"
  readonly name: string
  readonly loop?: Loop
  readonly when?: Condition
  readonly models: readonly ("safe" | "fast")[]
  readonly instruction: Text
  readonly system?: Text
  readonly requirement?: Text
  readonly context?: {
    readonly name: string
    readonly compact?: { readonly model: "safe" | "fast"; readonly instruction: Text }
  }
  readonly uses: readonly { readonly tool: string; readonly to?: Text; readonly approval: Approval }[]
  readonly skips: boolean
}

export interface Ask {
  readonly kind: "ask"
  readonly name: string
  readonly when?: Condition
  readonly question: Text
  readonly to?: Text
  readonly isCleared: boolean
  readonly expired?: Text
}

export type Dynamic = { readonly kind: "dynamic"; readonly name: string } & (
  | { readonly value: Text }
  | { readonly parts: { readonly p: Text; readonly q: Text } }
  | { readonly list: List }
)

export interface Workflow {
  readonly servers: Readonly<
    Record<"shop" | "web", { readonly gives?: "trusted" | "private"; readonly isCleared: boolean }>
  >
  readonly tools: readonly Tool[]
  readonly steps: readonly (Agent | Ask | Dynamic)[]
}
