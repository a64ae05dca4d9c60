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
  | { readonly kind: "file"; readonly value: FileValue; readonly field: "text" | "flag" }
  | ToolCall

export interface ToolCall {
  readonly kind: "call"
  readonly tool: string
  /** Left out where the import binds it. */
  readonly to?: Text
  readonly body: Text
  readonly approval: Approval
}

/** What a called file gives: of a call that stands there, or of a dynamic value that makes one. */
export type FileValue = { readonly kind: "file-dynamic"; readonly name: string; readonly by: FileCall } | FileCall

export interface FileCall {
  readonly kind: "file-call"
  /** The name of its `workflow` declaration. */
  readonly workflow: string
  readonly input: FileInput
  readonly approval: Approval
  readonly skips: boolean
  /** `repeat` in place of `call`. */
  readonly repeat?: { readonly until: RoundCondition; readonly next: RoundInput }
}

/** What the input of every file has: what a call gives to each of its fields. */
export interface FileInput {
  readonly mail: Text
  readonly iban: Text
  readonly shop: Text
  readonly customer: { readonly note: Text; readonly name: Text; readonly id: Text }
  readonly mails: List
  readonly letters: List
  readonly rows: { readonly loop: Loop; readonly id: Text; readonly note: Text }
  readonly go: Condition
}

/** A condition after a round: on its result, or on something else. */
export type RoundCondition =
  | { readonly kind: "flag" }
  | { readonly kind: "text" }
  | { readonly kind: "list" }
  | Condition

/** What replaces a field in the next round: a part of the result, or something else. */
export interface RoundInput {
  readonly mail?: RoundText
  readonly iban?: RoundText
  readonly mails?: RoundList
  readonly letters?: RoundList
}

export type RoundText = { readonly kind: "result" } | { readonly kind: "round" } | Text
export type RoundList = { readonly kind: "result-list" } | List

export type Condition =
  | { readonly kind: "go" }
  | { readonly kind: "equal"; readonly left: Text; readonly right: Text }
  | { readonly kind: "not"; readonly of: Condition }
  | { readonly kind: "and"; readonly left: Condition; readonly right: Condition }
  | { readonly kind: "longer"; readonly list: List }
  | { readonly kind: "agent"; readonly name: string; readonly isNullable: boolean }
  | { readonly kind: "item-field"; readonly name: string; readonly isNullable: boolean }
  | { readonly kind: "file-flag"; readonly value: FileValue; readonly field: "flag" | "done" | "missing" }

/** An array of texts. */
export type List =
  | { readonly kind: "mails" | "letters" | "ids" | "notes" }
  | { readonly kind: "lines"; readonly of: Text }
  | { readonly kind: "slice"; readonly of: List }
  | { readonly kind: "concat"; readonly left: List; readonly right: List }
  | { readonly kind: "array"; readonly items: readonly Text[] }
  | { readonly kind: "dynamic-list"; readonly name: string }
  | { readonly kind: "pluck"; readonly name: string; readonly field: "text" | "ok"; readonly drops: boolean }
  | { readonly kind: "file-list"; readonly value: FileValue }
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
  readonly files: readonly FileUse[]
  readonly skips: boolean
}

/** A file that a model may call, with what is bound. */
export interface FileUse {
  readonly workflow: string
  readonly bound: Partial<FileInput>
  readonly approval: Approval
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
  | { readonly file: FileCall }
)

/** A part of the input that may have a marker. */
export type MarkedPath =
  | "mail"
  | "iban"
  | "shop"
  | "customer.note"
  | "customer.name"
  | "customer.id"
  | "mails.*"
  | "letters"
  | "rows.*.note"

export type Label = "untrusted" | "private"

/** `workflow w from "./w.wire"` */
export interface FileDeclaration {
  readonly name: string
  readonly file: CalledFile
  readonly gives: readonly Label[]
  readonly requiresTrust: boolean
}

export interface CalledFile {
  /** `f0.wire` */
  readonly path: string
  readonly workflow: Workflow
}

export interface Workflow {
  readonly marks: Readonly<Partial<Record<MarkedPath, Label>>>
  readonly files: readonly FileDeclaration[]
  readonly servers: Readonly<
    Record<"shop" | "web", { readonly gives?: "trusted" | "private"; readonly isCleared: boolean }>
  >
  readonly tools: readonly Tool[]
  readonly steps: readonly (Agent | Ask | Dynamic)[]
  /** Of a file that is called. */
  readonly output?: { readonly text: Text; readonly flag: Condition; readonly list: List }
}
