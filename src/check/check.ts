import type { Diagnostic } from "../source/diagnostic.ts"
import type { Tree } from "../syntax/tree.ts"
import { checkAgents, declareAgents } from "./check-agents.ts"
import { checkBackends } from "./check-backends.ts"
import { checkImports } from "./check-imports.ts"
import { Checking } from "./checking.ts"
import { declare } from "./declare.ts"
import { infer, inferFields } from "./infer.ts"
import { limitType } from "./limit-type.ts"
import type { Program } from "./program.ts"
import { dynamicType, inReferenceOrder } from "./resolve-root.ts"
import { resolveBlock, resolveSchemas } from "./resolve-types.ts"
import { checkDependencyCycles } from "./rules/dependency-cycle.ts"
import { checkInfiniteTypes } from "./rules/infinite-type.ts"
import { checkMissingOutput } from "./rules/missing-output.ts"
import { checkUnused } from "./rules/unused-declaration.ts"
import type { RecordType } from "./types.ts"

export interface Checked {
  readonly program: Program
  /** In source order; syntax errors are the parser's and not among them. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Tree → program. Takes a broken tree too, and says nothing about what the parser has reported. */
export function check(tree: Tree): Checked {
  const checking = new Checking(tree)
  declare(checking)
  resolveSchemas(checking)
  checkInfiniteTypes(checking)
  const { inputDeclaration, secretsDeclaration } = checking
  if (inputDeclaration !== undefined) checking.input = resolveBlock(checking, inputDeclaration.body, "input")
  if (secretsDeclaration !== undefined) checking.secrets = resolveBlock(checking, secretsDeclaration.body, "secrets")
  declareAgents(checking)
  checkBackends(checking)
  checkImports(checking)
  for (const name of inReferenceOrder(checking.dynamicFields)) dynamicType(checking, name, infer)
  checkAgents(checking)
  checkOutput(checking)
  checkDependencyCycles(checking)
  checkUnused(checking)
  checkMissingOutput(checking)
  return { program: programOf(checking), diagnostics: inSourceOrder(checking.diagnostics) }
}

function checkOutput(checking: Checking): void {
  const declaration = checking.outputDeclaration
  if (declaration === undefined) return
  const fields = inferFields(checking, declaration.body.items, {
    path: "output",
    place: "the output",
    node: "output",
    agent: undefined,
    local: undefined,
    secrets: "exposed",
    roots: "all",
    calls: true,
    assets: "none",
  })
  const output: RecordType = { kind: "record", fields }
  const fits = limitType(checking, output, "output", declaration.keyword).kind !== "error"
  checking.output = fits ? output : { kind: "record", fields: [] }
}

export function inSourceOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return [...diagnostics].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end)
}

function programOf(checking: Checking): Program {
  const { inputDeclaration, secretsDeclaration, outputDeclaration, input, secrets, output } = checking
  return {
    tree: checking.tree,
    types: checking.types,
    input: inputDeclaration && input && { declaration: inputDeclaration, type: input },
    secrets: secretsDeclaration && secrets && { declaration: secretsDeclaration, type: secrets },
    schemas: checking.schemas,
    providers: checking.providers,
    models: checking.models,
    servers: checking.servers,
    tools: checking.tools,
    resources: checking.resources,
    prompts: checking.prompts,
    dynamics: checking.dynamics,
    agents: checking.agents,
    output: outputDeclaration && output && { declaration: outputDeclaration, type: output },
    roots: checking.roots,
    tags: checking.tags,
    receivers: checking.receivers,
    fieldNodes: checking.fieldNodes,
    expressionTypes: checking.expressionTypes,
    references: checking.references,
    dependencies: targets(checking.edges),
    localDependencies: new Map([...checking.localEdges].map(([agent, edges]) => [agent, targets(edges)])),
  }
}

function targets(edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>): Map<string, ReadonlySet<string>> {
  return new Map([...edges].map(([node, next]) => [node, new Set(next.keys())]))
}
