import type { DiagnosticCode } from "../source/codes.ts"
import type { Diagnostic, Severity } from "../source/diagnostic.ts"
import { diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { AgentSymbol, DynamicSymbol, ImportSymbol, ResolvedRoot } from "./program.ts"
import type { Field, NamedType, RecordType, Type } from "./types.ts"

/** Where a node first refers to another, for the message about a circle. */
export interface Edge {
  readonly span: Span
  readonly path: string
}

/** What a check knows so far. Filled by the steps of `check`, read by all that come later. */
export class Checking {
  readonly tree: Syntax.Tree
  readonly diagnostics: Diagnostic[] = []

  readonly types: Record<string, NamedType> = Object.create(null) as Record<string, NamedType>
  /** Schemas that are being resolved, each for a field of the one before. */
  resolving = 0
  /** Dynamic values that are being inferred, each for one that refers to it. */
  inferring = 0
  inputDeclaration: Syntax.InputDeclaration | undefined
  secretsDeclaration: Syntax.SecretsDeclaration | undefined
  outputDeclaration: Syntax.OutputDeclaration | undefined
  input: RecordType | undefined
  secrets: RecordType | undefined
  output: RecordType | undefined
  readonly schemas = new Map<string, Syntax.SchemaDeclaration>()
  readonly providers = new Map<string, Syntax.ProviderDeclaration>()
  readonly models = new Map<string, Syntax.ModelDeclaration>()
  readonly servers = new Map<string, Syntax.McpDeclaration>()
  readonly tools = new Map<string, ImportSymbol>()
  readonly resources = new Map<string, ImportSymbol>()
  readonly prompts = new Map<string, ImportSymbol>()
  /** Top-level dynamic values as written; their types come when somebody asks (see `infer.ts`). */
  readonly dynamicFields = new Map<string, Syntax.ValueField>()
  readonly dynamics = new Map<string, DynamicSymbol>()
  readonly agentDeclarations = new Map<string, Syntax.AgentDeclaration>()
  readonly agents = new Map<string, AgentSymbol>()

  readonly roots = new Map<Syntax.Chain, ResolvedRoot>()
  /** The chains that begin a branch of a match, with the object of their case. */
  readonly matched = new Map<Syntax.Chain, RecordType>()
  readonly tags = new Map<Syntax.ChainStep | Syntax.MatchNode, string>()
  readonly receivers = new Map<Syntax.ChainStep, Type>()
  readonly fieldNodes = new Map<Field, Syntax.TypeField | Syntax.ValueField>()
  readonly expressionTypes = new Map<Syntax.Expression, Type>()
  readonly references = new Map<string, Span[]>()
  readonly edges = new Map<string, Map<string, Edge>>()
  readonly localEdges = new Map<string, Map<string, Map<string, Edge>>>()

  constructor(tree: Syntax.Tree) {
    this.tree = tree
  }

  report(code: DiagnosticCode, path: string, span: Span, message: string, hint?: string, severity?: Severity): void {
    this.diagnostics.push(diagnostic(code, path, span, message, hint, severity))
  }

  textOf(span: Span): string {
    return this.tree.text.slice(span.start, span.end)
  }

  refer(id: string, span: Span): void {
    const spans = this.references.get(id)
    if (spans === undefined) this.references.set(id, [span])
    else spans.push(span)
  }

  depend(node: string, on: string, edge: Edge): void {
    addEdge(this.edges, node, on, edge)
  }

  dependLocally(agent: string, local: string, on: string, edge: Edge): void {
    let edges = this.localEdges.get(agent)
    if (edges === undefined) this.localEdges.set(agent, (edges = new Map()))
    addEdge(edges, local, on, edge)
  }
}

function addEdge(edges: Map<string, Map<string, Edge>>, from: string, to: string, edge: Edge): void {
  let targets = edges.get(from)
  if (targets === undefined) edges.set(from, (targets = new Map()))
  if (!targets.has(to)) targets.set(to, edge)
}
