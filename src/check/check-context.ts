import { remembered } from "../base/remembered.ts"
import { cutText } from "../base/cut-text.ts"
import { didYouMean } from "../base/did-you-mean.ts"
import type { DiagnosticCode } from "../source/codes.ts"
import { diagnostic, type Diagnostic, type Severity } from "../source/diagnostic.ts"
import type { DataOf, Hint } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isForeign, FileSpace } from "./file-space.ts"
import { SkippedText } from "./skipped-text.ts"
import type {
  AgentSymbol,
  AskSymbol,
  WaitSymbol,
  DynamicSymbol,
  FailureSymbol,
  FileLookup,
  FunctionSymbol,
  ImportedSymbol,
  ImportSymbol,
  LoopVariable,
  Program,
  ResolvedRoot,
  TriggerSymbol,
  WorkflowSymbol,
  ChatFields,
  ReleaseSymbol,
  ScoreSymbol,
} from "./program.ts"
import type { Field, NamedType, RecordType, Type, VariantType } from "../types/types.ts"

/** Where a node first refers to another, for the message about a circle. */
export interface Edge {
  readonly span: Span
  readonly path: string
}

/** Fields with where they are written. */
export type TakenFields = readonly (readonly [Field, Syntax.TypeField])[]

/** What a check knows so far. Filled by the steps of `check`, read by all that come later. */
export class CheckContext {
  readonly tree: Syntax.Tree
  readonly files: FileLookup
  /** Declarations of the tree, and those imported from other files. */
  readonly declarations: Syntax.Declaration[]
  readonly importedDeclarations = new Map<string, ImportedSymbol>()
  /** The files that declarations come from. */
  readonly imported = new Set<Program>()
  /** Schemas that others have resolved, whose fields are not entered yet. */
  readonly #taken: TakenFields[] = []
  readonly diagnostics: Diagnostic[] = []
  /** Text that the parser skipped after syntax errors. */
  readonly skipped: SkippedText

  /** Codes that are not reported where the check is now. */
  muted: ReadonlySet<DiagnosticCode> | null = null
  /** The type of `ran agent.x` and its like, inside an expectation. */
  observed: ((node: Syntax.ObservedNode) => Type) | null = null
  /** Names that may still be compared with a misspelt one: a file with thousands of mistakes gets its first hints. */
  #comparisons = 100_000
  /** Hints that may still be tried out before they are given. */
  trials = 1000

  /** Types of the fields of schemas, which `schema.name.field` copies. */
  readonly schemaFields = new Map<Syntax.TypeField, Type>()
  /** How much has been copied so far. */
  copiedParts = 0
  /** How many fields were followed to find what `schema.a.b` names. */
  followedFields = 0
  /** Where syntax errors begin. */
  #errorStarts: ReadonlySet<number> | undefined

  /** Objects with fields whose names could not be read: which fields they lack is unknown. */
  readonly incomplete = new Set<RecordType>()
  readonly types: Record<string, NamedType> = Object.create(null) as Record<string, NamedType>
  /** One of each at most, else it is reported and all count as one. */
  readonly blocks = {
    input: [] as Syntax.InputDeclaration[],
    secrets: [] as Syntax.SecretsDeclaration[],
    output: [] as Syntax.OutputDeclaration[],
    limits: [] as Syntax.LimitsDeclaration[],
    chat: [] as Syntax.ChatDeclaration[],
    release: [] as Syntax.ReleaseDeclaration[],
  }
  chat: ChatFields | undefined
  release: ReleaseSymbol | undefined
  input: RecordType | undefined
  secrets: RecordType | undefined
  output: RecordType | undefined
  readonly schemas = new Map<string, Syntax.SchemaDeclaration>()
  readonly providers = new Map<string, Syntax.ProviderDeclaration>()
  readonly models = new Map<string, Syntax.ModelDeclaration>()
  readonly servers = new Map<string, Syntax.McpDeclaration>()
  readonly apis = new Map<string, Syntax.ApiDeclaration>()
  readonly declared = {
    schema: this.schemas,
    provider: this.providers,
    model: this.models,
    mcp: this.servers,
    api: this.apis,
    agent: new Map<string, Syntax.AgentDeclaration>(),
    ask: new Map<string, Syntax.AskDeclaration>(),
    wait: new Map<string, Syntax.WaitDeclaration>(),
  }
  /** Schedules and webhooks share their names. */
  readonly triggerNodes = new Map<string, Syntax.TriggerDeclaration>()
  readonly triggers = new Map<string, TriggerSymbol>()
  readonly scoreNodes = new Map<string, Syntax.ScoreDeclaration>()
  readonly scores = new Map<string, ScoreSymbol>()
  readonly functionNodes = new Map<string, Syntax.FunctionDeclaration>()
  /** Functions that call themselves, also by way of others. */
  readonly recursive = new Set<string>()
  readonly functions = new Map<string, FunctionSymbol>()
  readonly workflowNodes = new Map<string, Syntax.WorkflowDeclaration>()
  readonly workflows = new Map<string, WorkflowSymbol>()
  readonly tools = new Map<string, ImportSymbol>()
  readonly resources = new Map<string, ImportSymbol>()
  readonly prompts = new Map<string, ImportSymbol>()
  /** Top-level dynamic values as written. */
  readonly dynamicFields = new Map<string, Syntax.ValueField>()
  /** Top-level dynamic values whose name is taken already. */
  readonly repeatedDynamics: Syntax.ValueField[] = []
  readonly dynamics = new Map<string, DynamicSymbol>()
  readonly agents = new Map<string, AgentSymbol>()
  readonly asks = new Map<string, AskSymbol>()
  readonly waits = new Map<string, WaitSymbol>()

  readonly roots = new Map<Syntax.Chain, ResolvedRoot>()
  /** The chains that begin a branch of a match, with the object of their case. */
  readonly matched = new Map<Syntax.Chain, RecordType>()
  readonly tags = new Map<Syntax.ChainStep | Syntax.MatchNode, string>()
  readonly receivers = new Map<Syntax.ChainStep, Type>()
  readonly #fieldNodes = new Map<Field, Syntax.TypeField | Syntax.ValueField>()
  readonly secretNodes = new Map<Syntax.ValueField, Syntax.TypeField | Syntax.ValueField>()
  readonly variantNodes = new Map<VariantType, Syntax.VariantType>()
  readonly fittedTypes: [Type, Type][] = []
  /** The assets, and where they stand. */
  readonly assetPaths = new Map<Syntax.AssetNode, string>()
  /** Options of assets that are reported as ignored: several agents may use one asset. */
  readonly ignoredOptions = new Set<Syntax.Property>()
  /** Numbers that are not exact, with their paths, as long as nothing says that they may be rounded. */
  readonly inexactIntegers = new Map<Syntax.NumberNode, string>()
  readonly expressionTypes = new Map<Syntax.Expression, Type>()
  readonly failures = new Map<Syntax.FunctionNode, FailureSymbol>()
  readonly lists = new Map<Syntax.ListNode, ReadonlyMap<string, LoopVariable>>()
  /** Every place that names a declaration, by the declaration's id (`agent.writer`, `schema.task`). */
  readonly references = new Map<string, Span[]>()
  readonly edges = new Map<string, Map<string, Edge>>()
  readonly localEdges = new Map<string, Map<string, Map<string, Edge>>>()

  constructor(tree: Syntax.Tree, files: FileLookup = noFiles()) {
    this.tree = tree
    this.files = files
    this.declarations = [...tree.declarations]
    this.skipped = new SkippedText(tree)
  }

  /** A context that knows the same declarations, for an expression of another text. Nothing that it finds comes back here. */
  withTree(tree: Syntax.Tree): CheckContext {
    const { muted, types, input, secrets, dynamicFields, dynamics, agents, asks, waits, incomplete } = this
    const { tools, resources, prompts, workflows, functions, functionNodes } = this
    const known = { muted, types, input, secrets, dynamicFields, dynamics, agents, asks, waits, incomplete }
    const named = { tools, resources, prompts, workflows, functions, functionNodes }
    return Object.assign(new CheckContext(tree, this.files), known, named, { trials: 0 })
  }

  /** The fields that are written with a default, with their types. */
  readonly defaults: { readonly node: Syntax.TypeField; readonly type: Type; readonly path: string }[] = []

  /** Where the fields of types and of object literals are written. */
  get fieldNodes(): ReadonlyMap<Field, Syntax.TypeField | Syntax.ValueField> {
    this.#enterTaken()
    return this.#fieldNodes
  }

  writeField(field: Field, node: Syntax.TypeField | Syntax.ValueField): void {
    this.#fieldNodes.set(field, node)
  }

  /** Fields of a schema that another file has resolved. Few checks look at them: they are entered when one does. */
  takeFields(fields: TakenFields): void {
    this.#taken.push(fields)
  }

  /** The type of a field of a schema; undefined while it is not resolved. */
  schemaField(field: Syntax.TypeField): Type | undefined {
    this.#enterTaken()
    return this.schemaFields.get(field)
  }

  #enterTaken(): void {
    for (const fields of this.#taken.splice(0)) {
      for (const [field, node] of fields) {
        this.#fieldNodes.set(field, node)
        this.schemaFields.set(node, field.type)
      }
    }
  }

  report<Code extends DiagnosticCode>(
    code: Code,
    path: string,
    span: Span,
    message: string,
    hint?: Hint<DataOf<Code>>,
    severity?: Severity,
    elsewhere?: Diagnostic["elsewhere"],
  ): void {
    // The file that it comes from was checked by itself.
    if (this.muted?.has(code) === true || isForeign(span)) return
    if (followsFromSyntax.has(code) && this.#isSyntaxError(span)) return
    const found = diagnostic(code, path, span, message, hint, severity)
    this.diagnostics.push(elsewhere === undefined ? found : { ...found, elsewhere })
  }

  /** Whether the parser has already reported a mistake there. */
  #isSyntaxError({ start }: Span): boolean {
    const { errors } = this.tree
    if (errors.length === 0) return false
    this.#errorStarts ??= new Set(errors.map((error) => error.start))
    return this.#errorStarts.has(start)
  }

  textOf(span: Span): string {
    return this.tree.text.slice(span.start, span.end)
  }

  /** What the author wrote, for a message: on one line, and cut where it would not read inside a sentence. */
  quote(span: Span): string {
    const written = this.tree.text.slice(span.start, Math.min(span.end, span.start + 1000))
    return cutText(written.replace(/\s+/g, " "), 160)
  }

  /** The candidate that was probably meant. */
  suggest(name: string, candidates: Iterable<string>): string | undefined {
    return didYouMean(name, this.#compare(candidates))
  }

  *#compare(candidates: Iterable<string>): Generator<string> {
    for (const candidate of candidates) {
      if (this.#comparisons-- <= 0) return
      if (!candidate.includes("#")) yield candidate
    }
  }

  /** The tools, resources or prompts by name. */
  imports(kind: Syntax.ImportKind): Map<string, ImportSymbol> {
    return kind === "tool" ? this.tools : kind === "resource" ? this.resources : this.prompts
  }

  refer(id: string, span: Span): void {
    if (isForeign(span)) return
    remembered(this.references, id, () => []).push(span)
  }

  /** Remembers that one type had to fit another, where they have fields to rename. */
  fit(from: Type, to: Type): void {
    if (from !== to && hasParts(from) && hasParts(to)) this.fittedTypes.push([from, to])
  }

  depend(node: string, on: string, edge: Edge): void {
    addEdge(this.edges, node, on, edge)
  }

  dependLocally(agent: string, local: string, on: string, edge: Edge): void {
    addEdge(
      remembered(this.localEdges, agent, () => new Map()),
      local,
      on,
      edge,
    )
  }
}

function addEdge(edges: Map<string, Map<string, Edge>>, from: string, to: string, edge: Edge): void {
  remembered(
    remembered(edges, from, () => new Map<string, Edge>()),
    to,
    () => edge,
  )
}

/** Codes that are not worth a second message where the parser has reported already. */
const followsFromSyntax: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>([
  "array-access",
  "duplicate-field",
  "not-iterable",
  "nullable-access",
  "type-mismatch",
  "unknown-property",
  "unknown-reference",
  "unknown-type",
  "variant-access",
])

function hasParts({ kind }: Type): boolean {
  switch (kind) {
    case "record":
    case "map":
    case "variant":
    case "array":
    case "tuple":
    case "union":
    case "ref":
      return true
    default:
      return false
  }
}

/** For a source that stands alone. */
function noFiles(): FileLookup {
  return {
    file: "main.wire",
    space: new FileSpace(),
    find: () => ({ kind: "unknown", near: undefined }),
    code: () => ({ kind: "unknown", near: undefined }),
    version: () => "",
  }
}
