import { refuseFileFields } from "./rules/unsupported-output.ts"
import { checkInfiniteTypes } from "./rules/infinite-type.ts"
import { isError, type Diagnostic } from "../source/diagnostic.ts"
import type * as Syntax from "../syntax/tree.ts"
import { checkAgents } from "./check-agents.ts"
import { checkAsks } from "./check-asks.ts"
import { checkWaits } from "./check-waits.ts"
import { checkBackends } from "./check-backends.ts"
import { checkRunLimits } from "./check-limits.ts"
import { checkDefaults } from "./check-defaults.ts"
import { checkInputRequirements } from "./check-requirements.ts"
import { checkFunctions } from "./check-functions.ts"
import { checkChat } from "./check-chat.ts"
import { checkRelease } from "./check-release.ts"
import { checkScores } from "./check-scores.ts"
import { checkFileImports, importFiles } from "./check-files.ts"
import { checkTriggers } from "./check-triggers.ts"
import { checkImports } from "./check-imports.ts"
import { checkWorkflows, declareWorkflows } from "./check-workflows.ts"
import { CheckContext } from "./check-context.ts"
import { declareSteps } from "./check-steps.ts"
import { declare, isLibrary } from "./declare.ts"
import { inferFields } from "./infer.ts"
import { inferDynamics } from "./infer-dynamics.ts"
import type { FileLookup, Program } from "./program.ts"
import { resolveRecord, resolveSchemas } from "./resolve-types.ts"
import { checkDependencyCycles } from "./rules/dependency-cycle.ts"
import { reportInexactIntegers } from "./rules/inexact-integer.ts"
import { checkKnownCredentials } from "./rules/hardcoded-secret.ts"
import { checkUnused } from "./rules/unused-declaration.ts"
import { runScope } from "./scope.ts"
import { anyType } from "../types/primitives.ts"
import { bounded } from "../types/type-size.ts"
import type { Field, RecordType } from "../types/types.ts"

export interface Checked {
  readonly program: Program
  /** In source order; syntax errors are the parser's and not among them. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Tree → program. Accepts a broken tree too, and does not repeat what the parser has reported. */
export function check(tree: Syntax.Tree, files?: FileLookup): Checked {
  const checking = new CheckContext(tree, files)
  const { input: inputs, secrets: secretsBlocks } = checking.blocks
  const imports = importFiles(checking)
  declare(checking)
  refuseTests(checking)
  declareWorkflows(checking)
  resolveSchemas(checking)
  checkInfiniteTypes(checking)
  checkFunctions(checking)
  if (inputs.length > 0) checking.input = resolveRecord(checking, bodiesOf(inputs), "input")
  if (secretsBlocks.length > 0) {
    checking.secrets = resolveRecord(checking, bodiesOf(secretsBlocks), "secrets")
    refuseFileFields(checking, checking.secrets, "secrets", "secrets")
  }
  checkFileImports(checking, imports)
  checkWorkflows(checking)
  declareSteps(checking)
  checkBackends(checking)
  checkRunLimits(checking)
  checkImports(checking)
  inferDynamics(checking)
  checkAgents(checking)
  checkAsks(checking)
  checkWaits(checking)
  checkOutput(checking)
  checkDefaults(checking)
  checkInputRequirements(checking)
  checkChat(checking)
  checkTriggers(checking)
  checkScores(checking)
  checkRelease(checking)
  checkDependencyCycles(checking)
  // Text that a syntax error swallowed may use a declaration: then it is not reported as unused.
  if (tree.errors.length === 0) {
    checkUnused(checking)
    if (!isLibrary(tree)) checkMissingOutput(checking)
  }
  reportInexactIntegers(checking)
  checkKnownCredentials(checking)
  const found = checking.diagnostics.filter((one) => !isError(one) || !checking.skipped.isCutOff(one.span))
  return { program: programOf(checking), diagnostics: inSourceOrder(found) }
}

function bodiesOf<Body>(declarations: readonly { readonly body: Body }[]): Body[] {
  return declarations.map(({ body }) => body)
}

function checkOutput(checking: CheckContext): void {
  if (checking.blocks.output.length === 0) return
  const fields: Field[] = []
  const taken = new Set<string>()
  for (const { body } of checking.blocks.output) {
    const inferred = inferFields(checking, body.items, runScope("output", "the output"))
    fields.push(...inferred.filter(({ name }) => !taken.has(name)))
    for (const { name } of inferred) taken.add(name)
  }
  const output: RecordType = { kind: "record", fields }
  // A result that is too large to be written out keeps the names of its fields.
  const bare = fields.map(({ name }): Field => ({ name, type: anyType }))
  checking.output = bounded(output) === output ? output : { kind: "record", fields: bare }
}

export function inSourceOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return [...diagnostics].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end)
}

export function programOf(checking: CheckContext): Program {
  const { blocks, input, secrets, output } = checking
  const [inputBlock] = blocks.input
  const [secretsBlock] = blocks.secrets
  const [outputBlock] = blocks.output
  return {
    tree: checking.tree,
    files: checking.files,
    importedDeclarations: checking.importedDeclarations,
    imported: checking.imported,
    types: checking.types,
    input: inputBlock && input && { declaration: inputBlock, type: input },
    secrets: secretsBlock && secrets && { declaration: secretsBlock, type: secrets },
    schemas: checking.schemas,
    providers: checking.providers,
    models: checking.models,
    servers: checking.servers,
    apis: checking.apis,
    tools: checking.tools,
    resources: checking.resources,
    prompts: checking.prompts,
    workflows: checking.workflows,
    functions: checking.functions,
    dynamics: checking.dynamics,
    agents: checking.agents,
    privateBeginnings: new Set(),
    asks: checking.asks,
    waits: checking.waits,
    limits: checking.blocks.limits[0],
    chat: checking.chat,
    release: checking.release,
    scores: checking.scores,
    privateScores: new Set(),
    triggers: checking.triggers,
    output: outputBlock && output && { declaration: outputBlock, type: output },
    roots: checking.roots,
    tags: checking.tags,
    receivers: checking.receivers,
    get fieldNodes() {
      return checking.fieldNodes
    },
    secretNodes: checking.secretNodes,
    variantNodes: checking.variantNodes,
    fittedTypes: checking.fittedTypes,
    expressionTypes: checking.expressionTypes,
    failures: checking.failures,
    lists: checking.lists,
    dependencies: targets(checking.edges),
    localDependencies: new Map([...checking.localEdges].map(([agent, edges]) => [agent, targets(edges)])),
  }
}

function targets(edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>): Map<string, ReadonlySet<string>> {
  return new Map([...edges].map(([node, next]) => [node, new Set(next.keys())]))
}

/** In a workflow: tests belong elsewhere. */
function refuseTests(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "test" && declaration.kind !== "tests") continue
    const hint = "Move it to a file beside this one whose name ends in `.test.wire`."
    checking.report("misplaced-declaration", declaration.kind, declaration.keyword, "A workflow holds no tests", hint)
  }
}

function checkMissingOutput(checking: CheckContext): void {
  if (checking.blocks.output.length > 0) return
  const message = "The workflow has no `output` block, so its result is empty"
  checking.report("missing-output", "output", { start: 0, end: 0 }, message, "Add `output { name: agent.name.field }`.")
}
