import type { FileSpace } from "./file-space.ts"
import type { CheckedCode, CodeFiles } from "../source/code-files.ts"
import type { Span } from "../source/span.ts"
import type { WordOf } from "../syntax/property-table.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Field, RecordType, Type, TypeTable, VariantType } from "../types/types.ts"

/**
 * A checked workflow: its declarations by name, the types of its expressions, and what each reference refers to. There
 * is one for every tree, also for a broken one (for the editor); only one without errors may be planned.
 */
export interface Program {
  readonly tree: Syntax.Tree
  /** Its path from the root, and the files around it. */
  readonly files: FileLookup
  /** Declarations that come from other files, by their ids here: `model.fast`, `provider.lib/common.wire#llm`. */
  readonly importedDeclarations: ReadonlyMap<string, ImportedSymbol>
  /** The files that they come from. */
  readonly imported: ReadonlySet<Program>
  readonly types: TypeTable
  readonly input: BlockSymbol | undefined
  readonly secrets: BlockSymbol | undefined
  readonly schemas: ReadonlyMap<string, Syntax.SchemaDeclaration>
  readonly providers: ReadonlyMap<string, Syntax.ProviderDeclaration>
  readonly models: ReadonlyMap<string, Syntax.ModelDeclaration>
  readonly servers: ReadonlyMap<string, Syntax.McpDeclaration>
  readonly apis: ReadonlyMap<string, Syntax.ApiDeclaration>
  readonly tools: ReadonlyMap<string, ImportSymbol>
  readonly resources: ReadonlyMap<string, ImportSymbol>
  readonly prompts: ReadonlyMap<string, ImportSymbol>
  /** The files that it calls, by the names of their declarations; those that can be used. */
  readonly workflows: ReadonlyMap<string, WorkflowSymbol>
  readonly functions: ReadonlyMap<string, FunctionSymbol>
  readonly dynamics: ReadonlyMap<string, DynamicSymbol>
  readonly agents: ReadonlyMap<string, AgentSymbol>
  /** Agents whose prompt begins with private values that stay the same from item to item. Whoever follows labels adds them. */
  readonly privateBeginnings: Set<string>
  readonly asks: ReadonlyMap<string, AskSymbol>
  readonly waits: ReadonlyMap<string, WaitSymbol>
  readonly limits: Syntax.LimitsDeclaration | undefined
  /** Undefined without a `chat` block, and where it does not say what it must. */
  readonly chat: ChatFields | undefined
  /** Undefined without a `release` block. */
  readonly release: ReleaseSymbol | undefined
  /** Of a candidate: input fields that webhooks of the current file fill. Absent for all others. */
  readonly filledElsewhere?: readonly string[]
  /** By name; those that can be computed. */
  readonly scores: ReadonlyMap<string, ScoreSymbol>
  /** Scores that are made from private values. Whoever follows labels adds them. */
  readonly privateScores: Set<string>
  /** Schedules and webhooks, by name. */
  readonly triggers: ReadonlyMap<string, TriggerSymbol>
  readonly output: OutputSymbol | undefined
  /** What every `chain` that begins with a name refers to. */
  readonly roots: ReadonlyMap<Syntax.Chain, ResolvedRoot>
  /** The tag of the variant that a `#case` step or a match chooses from. */
  readonly tags: ReadonlyMap<Syntax.ChainStep | Syntax.MatchNode, string>
  /** The type of what each step of a chain is taken from (after a pluck: of each element). */
  readonly receivers: ReadonlyMap<Syntax.ChainStep, Type>
  /** Where the fields of types and of object literals are written. */
  readonly fieldNodes: ReadonlyMap<Field, Syntax.TypeField | Syntax.ValueField>
  /** Bindings of secrets, with where the other file declares them. */
  readonly secretNodes: ReadonlyMap<Syntax.ValueField, Syntax.TypeField | Syntax.ValueField>
  /** Where the variants are written, and with them their cases and tags. */
  readonly variantNodes: ReadonlyMap<VariantType, Syntax.VariantType>
  /** Pairs of types where one must fit the other: renaming a field of one must rename the field of the other. */
  readonly fittedTypes: readonly (readonly [Type, Type])[]
  /** Types of whole expressions, for hovers and for those who complete them. */
  readonly expressionTypes: ReadonlyMap<Syntax.Expression, Type>
  /** What each `failure(…)` asks about. */
  readonly failures: ReadonlyMap<Syntax.FunctionNode, FailureSymbol>
  /** The variables of every list from a list. */
  readonly lists: ReadonlyMap<Syntax.ListNode, ReadonlyMap<string, LoopVariable>>
  /** Which nodes (`agent.x`, `ask.y`, `wait.z`, `dynamic.d`, `output`) refer to which. */
  readonly dependencies: ReadonlyMap<string, ReadonlySet<string>>
  /** The agent-local dynamic values of an agent (by its name) that another of its values refers to. */
  readonly localDependencies: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>
}

/** What the path of another file leads to. */
export type FoundFile =
  | { readonly kind: "found"; readonly file: string; readonly program: Program; readonly base: number }
  /** There is no such file, or it is not one that may be read. `near`: the existing path that is most like it. */
  /** `rootRule`: the path leaves the root, and this says what that is. */
  | { readonly kind: "unknown"; readonly near: string | undefined; readonly rootRule?: string }
  /** It leads back to the file that names it: the paths on the way, that file at both ends. */
  | { readonly kind: "cycle"; readonly way: readonly string[] }
  | {
      readonly kind: "invalid"
      readonly file: string
      readonly errors: number
      readonly first: string
      /** It has code, which is not allowed. */
      readonly refused: boolean
    }

/** The other files, as the file that is checked sees them. */
export interface FileLookup {
  /** The path of the file that is checked, from the root. */
  readonly file: string
  readonly space: FileSpace
  find(written: string): FoundFile
  /** The code file that a path leads to from a file. */
  code(from: string, written: string): FoundCode
  /** The version of a file, with all that it needs. Empty where no plan is run, as in a page. */
  version(file: string): string
}

/** A declaration of another file. */
export interface ImportedSymbol {
  readonly file: string
  /** Its name there. */
  readonly name: string
  /** Where it is declared, a span of the other file. */
  readonly declared: Span
  /** The import that names it; undefined where it came along with another. */
  readonly item: Syntax.FileImportItem | undefined
  /** Set for a schema. */
  readonly along: SchemaAlong | undefined
}

/** A schema of a file as others have it where it comes along. */
export interface SchemaAlong {
  /** `lib/common.wire#finding` */
  readonly name: string
  readonly node: Syntax.SchemaDeclaration
  readonly symbol: ImportedSymbol
  /** The schemas that it refers to. */
  next(): readonly SchemaAlong[]
  /** It, and all that it leads to. */
  all(): ReadonlySet<SchemaAlong>
}

/** A file that is called. */
export interface WorkflowSymbol {
  readonly name: Syntax.Name
  readonly declaration: Syntax.WorkflowDeclaration
  /** Its path from the root. */
  readonly file: string
  readonly program: Program
  /** The first offset of its text among those of other files. */
  readonly base: number
  /** Types with the names that its schemas have here. */
  readonly input: RecordType
  readonly output: RecordType
}

/** A function of one's own. */
export interface FunctionSymbol {
  readonly name: Syntax.Name
  readonly declaration: Syntax.FunctionDeclaration
  /** By name, in their order: all that its body sees. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** What it gives: declared, or that of its body. */
  readonly result: Type
  /** The code file that computes it, where one does and could be read. */
  readonly code: FunctionCode | undefined
  /** Code computes it, or a function that it calls. */
  readonly usesCode: boolean
}

/** A function of a code file: the export of this name, else the default. */
export interface FunctionCode {
  readonly files: CodeFiles
  readonly name: string
}

/** What the path of a code file leads to. */
export type FoundCode =
  | { readonly kind: "found"; readonly files: CodeFiles; readonly checked: CheckedCode | undefined }
  | { readonly kind: "unknown"; readonly near: string | undefined }
  /** Code is not allowed: nothing is read. */
  | { readonly kind: "refused" }

export interface BlockSymbol {
  readonly declaration: Syntax.InputDeclaration | Syntax.SecretsDeclaration
  readonly type: RecordType
}

export type ImportNode = Syntax.ImportDeclaration | Syntax.BatchItem

/** A tool, resource or prompt, declared alone or in a batch. */
export interface ImportSymbol {
  readonly name: Syntax.Name
  readonly kind: Syntax.ImportKind
  readonly node: ImportNode
  /** What kind of server it comes from. */
  readonly origin: Syntax.RemotePath["word"]
  readonly server: Syntax.Name | undefined
  readonly remote: string
  /** The batch that it stands in, whose `bindings` and `max_calls` it shares. */
  readonly batch: Syntax.BatchDeclaration | undefined
  readonly input: RecordType | undefined
  readonly output: Type | undefined
}

/** The assets that a value may be. */
export interface AssetsIn {
  /** Their kinds, as far as the source tells them. */
  readonly kinds: ReadonlySet<WordOf<"asset">>
  /** Assets with options that not every API has; not all of them where there are very many. */
  readonly configured: ReadonlySet<Syntax.AssetNode>
}

export interface DynamicSymbol {
  readonly field: Syntax.ValueField
  readonly type: Type
  readonly assets: AssetsIn
}

/** A step or a call that the run goes on after when it fails. */
export interface FailureSymbol {
  /** `agent.x` or `dynamic.x` */
  readonly chain: Syntax.Chain
  /** Undefined for an agent. */
  readonly call: Syntax.InvokeNode | undefined
  /** How many loops or lists it stands in: it has so many arrays of failures. */
  readonly depth: number
}

export type StepSymbol = AgentSymbol | AskSymbol | WaitSymbol

/** The symbol of an agent, of a question or of a wait. */
export interface StepSymbolOf<Step> {
  readonly declaration: Step
  /** What one step yields: a model's output, a person's answer, or the data of an event. A wait for a time has no fields. */
  readonly output: RecordType
  /** What `agent.x`, `ask.x` or `wait.x` is: the output, or for a loop the array of them; `maybe` where a step may be skipped. */
  readonly type: Type
  /** It has a condition, or goes on after a failure. */
  readonly mayBeSkipped: boolean
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** Its own dynamic values; only an agent has any. */
  readonly locals: ReadonlyMap<string, DynamicSymbol>
}

export type AgentSymbol = StepSymbolOf<Syntax.AgentDeclaration>
export type AskSymbol = StepSymbolOf<Syntax.AskDeclaration>
export type WaitSymbol = StepSymbolOf<Syntax.WaitDeclaration>

/** A schedule or a webhook. */
export interface TriggerSymbol {
  readonly declaration: Syntax.TriggerDeclaration
  /** What its expressions see: `due` and `previous`, or `body`, `header` and `query`. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** The names of the headers and of the fields of the query that they name, as written. */
  readonly headers: readonly string[]
  readonly queries: readonly string[]
}

export interface LoopVariable {
  readonly name: Syntax.Name
  readonly type: Type
  /** A word of the language, which no source declares. */
  readonly isBuiltIn?: true
  /** It is one of several models, which only the `model` of the agent takes. */
  readonly isModel?: true
  /** A variable of a list, and not of a step's loop. */
  readonly isItem?: true
}

export interface OutputSymbol {
  readonly declaration: Syntax.OutputDeclaration
  readonly type: RecordType
}

export type ResolvedRoot =
  | { readonly kind: "input" | "secrets" | "run" | "result" | "round" }
  | { readonly kind: "agent" | "ask" | "wait" | "dynamic" | "local" | "variable" | "item"; readonly name: string }
  /** Where a model is chosen: one of those that it may be. */
  | { readonly kind: "model"; readonly name: string }
  /** `chat.history`: the field of the input that holds it. */
  | { readonly kind: "history"; readonly name: string }
  /** The case's name at the start of a branch of `match`. */
  | { readonly kind: "matched" }

/** The `release` block of a candidate. */
export interface ReleaseSymbol {
  readonly declaration: Syntax.ReleaseDeclaration
  /** What `stop_when` may name. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** Paths into the output, without `output`: `[["team"]]`. Empty: all of it. */
  readonly agreeOn: readonly (readonly string[])[]
}

/** A `score` block. */
export interface ScoreSymbol {
  readonly declaration: Syntax.ScoreDeclaration
  /** What its expressions see besides steps and input. */
  readonly variables: ReadonlyMap<string, LoopVariable>
  /** The type of a computed value; undefined for a judged score. */
  readonly value: Type | undefined
  /** What a judge answers; undefined for a computed score. */
  readonly output: RecordType | undefined
}

/** The fields that make a conversation of a workflow: `reply` is one of the output, the others are of the input. */
export interface ChatFields {
  readonly message: string
  readonly reply: string
  readonly history?: string
  readonly system?: string
  readonly files?: string
}
