import type { Span } from "../source/span.ts"
import type { Token } from "./token.ts"

/** The syntax tree of one file. Lossless: `tokens` with their comments and the blanks between them are the whole text. */
export interface Tree {
  readonly text: string
  readonly tokens: readonly Token[]
  readonly declarations: readonly Declaration[]
  /** Places of the syntax errors, in source order: something of the text there may be missing from the tree. */
  readonly errors: readonly Span[]
  /** Stretches of the text that were skipped after a syntax error, in source order: no node stands for them. */
  readonly skipped: readonly Span[]
  /** The words of declarations that were left out for want of a name. */
  readonly nameless: ReadonlySet<string>
}

// Every node spans its first to its last token. What the parser could not read is left out or marked `missing`: a tree
// with syntax errors is good enough for the checker and the editor, never for a run.

/** A name as written: an identifier, a quoted key, a header or remote name. `text` is its value. */
export interface Name extends Span {
  readonly kind: "name"
  readonly text: string
  readonly quoted: boolean
}

/** The lines of a doc comment, joined by LF, without their slashes. */
export interface Documented {
  readonly doc: string | undefined
}

/** `{ … }`. `close` is missing when the file ended, or recovery began, before it. */
export interface Block<Item> extends Span {
  readonly open: Token
  readonly close: Token | undefined
  readonly items: readonly Item[]
}

// ------------------------------------------------------------------------------------------------- declarations

export type Declaration =
  | FileImportDeclaration
  | WorkflowDeclaration
  | InputDeclaration
  | SecretsDeclaration
  | SchemaDeclaration
  | ProviderDeclaration
  | ModelDeclaration
  | McpDeclaration
  | ApiDeclaration
  | ImportDeclaration
  | BatchDeclaration
  | FunctionDeclaration
  | DynamicDeclaration
  | AgentDeclaration
  | AskDeclaration
  | WaitDeclaration
  | LimitsDeclaration
  | ChatDeclaration
  | ReleaseDeclaration
  | ScoreDeclaration
  | TriggerDeclaration
  | OutputDeclaration
  | TestsDeclaration
  | TestDeclaration

interface DeclarationBase extends Span, Documented {
  /** The word that it begins with. */
  readonly keyword: Token
}

/** `import { model.fast, tool.search as find } from "./common.wire" { secrets { … } }` */
export interface FileImportDeclaration extends DeclarationBase {
  readonly kind: "file-import"
  readonly names: Block<FileImportItem>
  readonly file: StringNode
  readonly body: Block<Property> | undefined
}

/** The kinds of declarations that a file can import from another one. */
export type SharedKind = "schema" | "provider" | "model" | "mcp" | "api" | "function" | ImportKind

/** `tool.search as find` */
export interface FileImportItem extends Span {
  readonly kind: "file-import-item"
  /** The word before the dot. */
  readonly word: Name
  /** The name in the other file. */
  readonly source: Name
  /** The name in this file: the same, unless `as` renames it. */
  readonly name: Name
}

/** `workflow triage from "./triage.wire" { secrets { … } }`: another file, to be called. */
export interface WorkflowDeclaration extends DeclarationBase {
  readonly kind: "workflow"
  readonly name: Name
  readonly file: StringNode
  readonly body: Block<Property> | undefined
}

export interface InputDeclaration extends DeclarationBase {
  readonly kind: "input"
  /** Fields, and requirements among them. */
  readonly body: Block<TypeField | Property>
}

export interface SecretsDeclaration extends DeclarationBase {
  readonly kind: "secrets"
  readonly body: Block<TypeField>
}

export interface SchemaDeclaration extends DeclarationBase {
  readonly kind: "schema"
  readonly name: Name
  /** Fields, or a single `variant tag { … }`. */
  readonly body: Block<TypeField | VariantType>
}

export interface ProviderDeclaration extends DeclarationBase {
  readonly kind: "provider"
  readonly name: Name
  /** Missing in the old spelling `provider x { driver: … }`. */
  readonly providerKind: Name | undefined
  readonly body: Block<Property>
}

export interface ModelDeclaration extends DeclarationBase {
  readonly kind: "model"
  readonly name: Name
  readonly provider: Name | undefined
  readonly body: Block<Property>
}

export interface McpDeclaration extends DeclarationBase {
  readonly kind: "mcp"
  readonly name: Name
  readonly body: Block<Property>
}

/** `api crm { … }`: an HTTP API. */
export interface ApiDeclaration extends DeclarationBase {
  readonly kind: "api"
  readonly name: Name
  readonly body: Block<Property>
}

export type ImportKind = "tool" | "resource" | "prompt"

/** `tool name from mcp.server.tool.remote { … }`, or short `tool from mcp.server.tool.remote as name { … }`. */
export interface ImportDeclaration extends DeclarationBase {
  readonly kind: "import"
  readonly importKind: ImportKind
  readonly name: Name
  /** The name is written before `from`, after `as`, or made from the remote name (then it spans that). */
  readonly naming: "from" | "as" | "remote"
  readonly source: RemotePath
  readonly body: Block<Property> | undefined
}

/** `mcp.server`, `mcp.server.tool`, `mcp.server.tool.remote`, `api.server."GET /path"`: the parts that are there. */
export interface RemotePath extends Span {
  readonly word: "mcp" | "api"
  readonly server: Name | undefined
  readonly kindWord: Name | undefined
  readonly remote: Name | undefined
}

/** `from mcp.server { … }` */
export interface BatchDeclaration extends DeclarationBase {
  readonly kind: "batch"
  readonly source: RemotePath
  readonly body: Block<BatchItem | Property>
}

/** `tool remote-name as name { … }` */
export interface BatchItem extends Span, Documented {
  readonly kind: "batch-item"
  readonly importKind: ImportKind
  readonly keyword: Token
  readonly remote: Name
  readonly name: Name
  readonly naming: "as" | "remote"
  readonly body: Block<Property> | undefined
}

/** `function net(amount: number, rate: number): number = amount / (1 + rate)`, or `function net(…): number from "./net.js"` */
export interface FunctionDeclaration extends DeclarationBase {
  readonly kind: "function-declaration"
  readonly name: Name
  readonly parameters: readonly Parameter[]
  /** The type after the parameters. */
  readonly result: TypeNode | undefined
  /** What it computes; missing where a code file does. */
  readonly value: Expression
  /** The path of the code file. */
  readonly file: StringNode | undefined
  readonly body: undefined
}

/** `amount: number` */
export interface Parameter extends Span {
  readonly kind: "parameter"
  readonly name: Name
  readonly type: TypeNode
}

export interface DynamicDeclaration extends DeclarationBase {
  readonly kind: "dynamic"
  readonly body: Block<ValueField>
}

/** A step that is done once, or once for each item of a loop, and that a condition may skip. */
export type StepDeclaration = AgentDeclaration | AskDeclaration | WaitDeclaration

interface StepBase extends DeclarationBase {
  readonly name: Name
  readonly loop: Loop | undefined
  /** There is a `for` that could not be read. */
  readonly brokenLoop: boolean
  readonly when: When | undefined
  readonly body: Block<Property>
}

export interface AgentDeclaration extends StepBase {
  readonly kind: "agent"
}

/** `ask review { … }`: a question to a person. */
export interface AskDeclaration extends StepBase {
  readonly kind: "ask"
}

/** `wait paid { … }`: for a time, or for an event. */
export interface WaitDeclaration extends StepBase {
  readonly kind: "wait"
}

/** `when condition` */
export interface When extends Span {
  readonly keyword: Token
  readonly condition: Expression
}

/** `for pattern, index in expression` */
export interface Loop extends Span {
  readonly pattern: Pattern
  /** The variable for the position, from 0. */
  readonly index: Name | undefined
  readonly items: Expression
}

export type Pattern =
  | (Span & { readonly kind: "item"; readonly name: Name })
  /** `{ path, patch: diff }` */
  | (Span & { readonly kind: "fields"; readonly body: Block<PatternField> })

export interface PatternField extends Span {
  readonly kind: "pattern-field"
  readonly field: Name
  /** The variable: the field itself where it is not renamed. */
  readonly variable: Name
}

/** `limits { cost: 0.5 }`, for the whole run */
export interface LimitsDeclaration extends DeclarationBase {
  readonly kind: "limits"
  readonly body: Block<Property>
}

/** `chat { message: input.question reply: output.answer }` */
export interface ChatDeclaration extends DeclarationBase {
  readonly kind: "chat"
  readonly body: Block<Property>
}

/** `release { share: 0.05 }`, in the file of a candidate */
export interface ReleaseDeclaration extends DeclarationBase {
  readonly kind: "release"
  readonly body: Block<Property>
}

/** `score helpful when condition { … }`: what a run that has completed is judged by. */
export interface ScoreDeclaration extends DeclarationBase {
  readonly kind: "score"
  readonly name: Name
  readonly when: When | undefined
  readonly body: Block<Property>
}

/** `schedule nightly { … }`, `webhook pushed { … }`: what starts runs without a caller. */
export interface TriggerDeclaration extends DeclarationBase {
  readonly kind: "schedule" | "webhook"
  readonly name: Name
  readonly body: Block<Property>
}

export interface OutputDeclaration extends DeclarationBase {
  readonly kind: "output"
  readonly body: Block<ValueField>
}

// -------------------------------------------------------------------------------------------------------- tests

/** `tests "./other.wire"`: the file that the tests of this one are about. */
export interface TestsDeclaration extends DeclarationBase {
  readonly kind: "tests"
  readonly file: StringNode
  readonly body: undefined
}

/** `test "title" for row in "./rows.jsonl" { … }` */
export interface TestDeclaration extends DeclarationBase {
  readonly kind: "test"
  readonly title: StringNode
  readonly rows: TestRows | undefined
  readonly body: Block<TestItem>
}

export interface TestRows extends Span {
  readonly variable: Name
  readonly index: Name | undefined
  readonly file: StringNode
}

export type TestItem = TestInput | TestGiven | TestExpect | Property

/** `input { … }` of a test: values. */
export interface TestInput extends Span {
  readonly kind: "test-input"
  readonly keyword: Token
  readonly body: Block<ValueField>
}

/** `given agent.x: value`, or `given agent.x fails kind "message"`. */
export interface TestGiven extends Span {
  readonly kind: "given"
  readonly keyword: Token
  readonly step: Chain
  readonly result:
    | { readonly kind: "value"; readonly value: Expression }
    | { readonly kind: "fails"; readonly errorKind: Name; readonly message: StringNode | undefined }
    | { readonly kind: "missing" }
}

/** `expect condition`, or `expect judge model.m "criterion"`. */
export interface TestExpect extends Span {
  readonly kind: "expect"
  readonly keyword: Token
  /** The model that judges, where one does: then the condition is the criterion, a text. */
  readonly judge: Chain | undefined
  readonly condition: Expression
}

// --------------------------------------------------------------------------------------------------- properties

/** `name: value`, or `name { … }` where the value is a block. */
export interface Property extends Span, Documented {
  readonly kind: "property"
  readonly name: Name
  readonly colon: Token | undefined
  readonly value: PropertyValue
}

export type PropertyValue =
  | { readonly kind: "expression"; readonly expression: Expression }
  /** `input { a: string }` of a tool, `output { … }` of an agent. */
  | { readonly kind: "types"; readonly block: Block<TypeField> }
  /** `output: string`, the old spelling. */
  | { readonly kind: "type"; readonly type: TypeNode }
  /** `bindings { … }`, `headers { … }`, `dynamic { … }`, the `input { … }` of a call. */
  | { readonly kind: "values"; readonly block: Block<ValueField> }
  /** `send { fields: query, trace: header "X-Trace" }` */
  | { readonly kind: "send"; readonly block: Block<SendField> }
  /** `inference { … }`, `price { … }`, `limits { … }`, `file { … }`, `approval { … }`, and unknown blocks. */
  | { readonly kind: "properties"; readonly block: Block<Property> }
  | UsesValue
  /** `model.fast { inference { … } }`, `hmac { header: "…" }` */
  | { readonly kind: "configured"; readonly reference: Chain; readonly block: Block<Property> }
  | ModelsValue
  | ContextValue
  /** `file input.report { name: "…" }`, the short form of `file { content: … }`. */
  | { readonly kind: "file"; readonly content: Expression; readonly block: Block<Property> | undefined }
  | RequirementValue
  /** Nothing that could be read follows the name. */
  | { readonly kind: "missing" }

/** `require condition else "text"`: what an output or an answer must fulfil besides its type. */
export interface RequirementValue {
  readonly kind: "requirement"
  readonly condition: Expression
  /** The text for an output that does not fulfil it. */
  readonly otherwise: StringNode | undefined
}

/** `[tool.a, tool.b { max_calls: 1 }]` */
export interface UsesValue {
  readonly kind: "uses"
  readonly open: Token
  readonly close: Token | undefined
  readonly entries: readonly UseEntry[]
}

export interface UseEntry extends Span {
  readonly kind: "use-entry"
  readonly reference: Chain
  readonly block: Block<Property> | undefined
}

/** `[model.fast, model.careful { inference { … } }]` */
export interface ModelsValue {
  readonly kind: "models"
  readonly open: Token
  readonly close: Token | undefined
  readonly entries: readonly ModelEntry[]
}

export interface ModelEntry extends Span {
  readonly kind: "model-entry"
  readonly reference: Chain
  readonly block: Block<Property> | undefined
}

/** `context: agent.x`, `context: compact agent.x { … }`, and the old `context(agent.x)`. */
export interface ContextValue {
  readonly kind: "context"
  readonly reference: Chain
  readonly compact: Token | undefined
  readonly block: Block<Property> | undefined
  readonly obsolete: boolean
}

/** `trace: header "X-Trace"`: where an argument of an HTTP tool goes. */
export interface SendField extends Span, Documented {
  readonly kind: "send-field"
  readonly name: Name
  readonly colon: Token | undefined
  /** `query`, `header` or `body`; missing where nothing that could be read follows. */
  readonly to: Name | undefined
  readonly header: Name | undefined
}

/** A field whose value is an expression. */
export interface ValueField extends Span, Documented {
  readonly kind: "value-field"
  readonly name: Name
  readonly colon: Token | undefined
  readonly value: Expression
}

// -------------------------------------------------------------------------------------------------------- types

/** A field whose value is a type. */
export interface TypeField extends Span, Documented {
  readonly kind: "type-field"
  readonly name: Name
  readonly colon: Token | undefined
  readonly type: TypeNode
  /** `= value`, of a field of an input. */
  readonly default: Expression | undefined
}

export type TypeNode =
  /** `string`, or any other single word. */
  | (Span & { readonly kind: "type-name"; readonly name: Name })
  /** `schema.name.field` */
  | (Span & { readonly kind: "type-path"; readonly segments: readonly Name[] })
  | (Span & { readonly kind: "type-literal"; readonly value: string })
  | (Span & { readonly kind: "enum"; readonly keyword: Token; readonly body: Block<Name> })
  | (Span & { readonly kind: "array-type"; readonly element: TypeNode; readonly length: NumberNode | undefined })
  | (Span & { readonly kind: "tuple-type"; readonly elements: readonly TypeNode[] })
  | (Span & { readonly kind: "group-type"; readonly type: TypeNode })
  | (Span & { readonly kind: "object-type"; readonly body: Block<TypeField> })
  | (Span & { readonly kind: "maybe"; readonly type: TypeNode })
  /** `map number` */
  | (Span & { readonly kind: "map-type"; readonly type: TypeNode })
  | MarkedType
  | (Span & { readonly kind: "union-type"; readonly members: readonly TypeNode[] })
  | VariantType
  /** Already reported. */
  | (Span & { readonly kind: "missing-type" })

/** `untrusted T`, `private T`: the type is T, and the checker follows what has it. */
export interface MarkedType extends Span {
  readonly kind: "marked"
  readonly mark: "untrusted" | "private"
  readonly type: TypeNode
}

export interface VariantType extends Span {
  readonly kind: "variant"
  readonly keyword: Token
  readonly tag: Name
  readonly body: Block<VariantCase>
}

export interface VariantCase extends Span, Documented {
  readonly kind: "variant-case"
  readonly name: Name
  readonly body: Block<TypeField>
}

// -------------------------------------------------------------------------------------------------- expressions

export type Expression =
  | StringNode
  | NumberNode
  | (Span & { readonly kind: "word"; readonly value: true | false | null })
  | (Span & { readonly kind: "array"; readonly items: readonly Expression[] })
  | ListNode
  | (Span & { readonly kind: "object"; readonly body: Block<ValueField> })
  | (Span & { readonly kind: "group"; readonly expression: Expression })
  | Chain
  | (Span & { readonly kind: "default"; readonly left: Expression; readonly right: Expression })
  | BinaryNode
  /** `!operand` */
  | (Span & { readonly kind: "not"; readonly operand: Expression })
  /** `-operand` */
  | (Span & { readonly kind: "negate"; readonly operand: Expression })
  | FunctionNode
  | MatchNode
  | InvokeNode
  | AssetNode
  | ExceptionNode
  | ObservedNode
  | FailureNode
  | FixtureNode
  /** Already reported. */
  | (Span & { readonly kind: "missing-expression" })

export interface StringNode extends Span {
  readonly kind: "string"
  readonly block: boolean
  /** Values, escapes resolved and indentation removed: one more than there are interpolations. */
  readonly texts: readonly string[]
  readonly interpolations: readonly Expression[]
}

export interface NumberNode extends Span {
  readonly kind: "number"
  readonly value: number
}

/** `base.a?.b[0].*.c#case`: a name or another expression, and the steps from there (none for a bare name). */
export interface Chain extends Span {
  readonly kind: "chain"
  readonly base: Name | Expression
  readonly steps: readonly ChainStep[]
}

export type ChainStep =
  | (Span & { readonly kind: "field"; readonly name: Name; readonly optional: boolean })
  | (Span & { readonly kind: "index"; readonly index: NumberNode | undefined; readonly optional: boolean })
  | (Span & { readonly kind: "pluck"; readonly stars: 1 | 2 | 3; readonly name: Name; readonly optional: boolean })
  | (Span & { readonly kind: "case"; readonly name: Name; readonly optional: boolean })

export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains" | "in"
export type Arithmetic = "+" | "-" | "*" | "/" | "%"
export type BinaryOperator = "||" | "&&" | Comparison | Arithmetic

export interface BinaryNode extends Span {
  readonly kind: "binary"
  readonly operator: BinaryOperator
  /** Where the operator is written. */
  readonly sign: Token
  readonly left: Expression
  readonly right: Expression
}

/** `[value for item in list when condition by key descending]` */
export interface ListNode extends Span {
  readonly kind: "list"
  readonly value: Expression
  readonly loop: Loop
  readonly when: When | undefined
  readonly by: SortKey | undefined
}

/** `by key descending` */
export interface SortKey extends Span {
  readonly keyword: Token
  readonly key: Expression
  readonly descending: Token | undefined
}

/** `name(item, …)`. Any name: the checker knows which functions there are. */
export interface FunctionNode extends Span {
  readonly kind: "function"
  readonly name: Name
  /** What stands before the dot of `input.s.trim()`: the checker reports it. */
  readonly receiver: Expression | undefined
  /** The arguments. */
  readonly items: readonly Expression[]
  /** It is written as `[...a, b]` or `{ ...a, y: 1 }`, or as `{ [key]: value }`. */
  readonly form?: "spread" | "map"
  /** A computed key of an object that has names, too. */
  readonly mixed?: Span
}

/** `match v { case_a.path  case_b: e  _ e }` */
export interface MatchNode extends Span {
  readonly kind: "match"
  readonly keyword: Token
  readonly value: Expression
  readonly body: Block<MatchBranch>
}

export interface MatchBranch extends Span {
  readonly kind: "branch"
  /** Missing for `_`. */
  readonly case: Name | undefined
  readonly colon: Token | undefined
  /**
   * What follows `_` or the colon. In the short form `case.path` a chain with the case's name as its base, or a default
   * with such a chain at its left.
   */
  readonly value: Expression
}

/** `call tool.t when condition { … }`, `read resource.r { … }`, `render prompt.p { … }`, `call workflow.w { … }`, `repeat workflow.w { … }` */
export interface InvokeNode extends Span {
  readonly kind: "call" | "read" | "render" | "repeat"
  readonly keyword: Token
  readonly target: Chain
  /** The value is null where it does not hold. */
  readonly when: When | undefined
  readonly block: Block<Property> | undefined
}

export interface AssetNode extends Span {
  readonly kind: "asset"
  readonly keyword: Token
  readonly value: Expression
  readonly block: Block<Property> | undefined
}

/** `trust input.text because "reason"`, `release (a + b) because "reason"`: the value, without a label. */
export interface ExceptionNode extends Span {
  readonly kind: "exception"
  readonly keyword: Token
  readonly word: "trust" | "release"
  /** A reference, or a group. */
  readonly value: Expression
  /** Missing where it could not be read. */
  readonly reason: StringNode | undefined
}

/** `ran agent.x`, `asked agent.x[0]`, `not called tool.t with { … }` and their like: what a test says of a step of its workflow. */
export interface ObservedNode extends Span {
  readonly kind: "observed"
  /** `not` before `called`. */
  readonly not: Token | undefined
  readonly keyword: Token
  readonly word: "ran" | "skipped" | "asked" | "calls" | "rejections" | "called" | "calls_of"
  readonly target: Chain
  /** The arguments of `called … with { … }`. */
  readonly arguments: Block<ValueField> | undefined
}

/** `fail "HTTP 404"` in the list of results that a test gives. */
export interface FailureNode extends Span {
  readonly kind: "fail"
  readonly keyword: Token
  readonly message: Expression
}

/** `file "fixtures/contract.pdf"` in the values that a test gives: a file beside the test file. */
export interface FixtureNode extends Span {
  readonly kind: "fixture"
  readonly keyword: Token
  readonly path: StringNode
}
