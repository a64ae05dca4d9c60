import type * as Syntax from "../syntax/tree.ts"
import { anyType, stringType } from "../types/primitives.ts"
import type { RecordType, Type } from "../types/types.ts"
import { repeatOf } from "./repeat-of.ts"
import type { CheckContext } from "./check-context.ts"
import { ForeignTypes } from "./foreign-types.ts"
import { nameOf, unknownReference } from "./infer-steps.ts"
import { isForTime } from "./check-steps.ts"
import type { Program, StepSymbol } from "./program.ts"

/** A step of the tested workflow, as a test names it after `given`, `ran` and their like. */
export interface TestedStep {
  /** `workflow`: a called file as a whole. */
  readonly kind: StepKind | "workflow"
  /** The called files that it stands in: `workflow.triage.`; empty for a step of the tested file. */
  readonly path: string
  readonly name: string
  /** What it gives; of a looped agent, for one item, and of one that repeats, in one round. */
  readonly type: Type
  readonly looped: boolean
  readonly mayBeSkipped: boolean
  /** Declared arguments of a tool of an api, or of a called file. */
  readonly input: RecordType | undefined
  /** `agent.x[2]` */
  readonly index: number | undefined
}

export const stepKinds = ["agent", "ask", "wait", "tool", "resource", "prompt"] as const
export type StepKind = (typeof stepKinds)[number]

/** `run.started_at`, which a test may give as well. */
export function isOfRun({ base }: Syntax.Chain): boolean {
  return base.kind === "name" && base.text === "run"
}

/** A list of results, some of which are failures. */
export function hasFailure(value: Syntax.Expression): value is Syntax.Expression & { kind: "array" } {
  return value.kind === "array" && value.items.some(({ kind }) => kind === "fail")
}

/** Whether a list that a test gives to a step is one result for each call. */
export function isGivenEach({ kind, path, looped }: TestedStep): boolean {
  if (kind === "agent" || kind === "ask" || kind === "wait") return looped || path !== ""
  return kind === "workflow" || kind === "tool"
}

/** The step that a chain names; undefined for one that the workflow does not have, which is reported. */
export function testedStep(
  checking: CheckContext,
  chain: Syntax.Chain,
  tested: Program,
  path: string,
): TestedStep | undefined {
  const inner = calledFile(checking, chain, tested, path)
  if (inner === undefined) return undefined
  const { program, before, kind: written, steps } = inner
  const [first, second, third] = steps
  if (written === undefined) return wholeFile(checking, inner)
  const kind = stepKinds.find((each) => each === written)
  if (kind === undefined || first?.kind !== "field") {
    const hint =
      "A step is `agent.name`, `ask.name`, `wait.name`, `tool.name`, `resource.name` or `prompt.name`; of a called file `workflow.name`, or `workflow.name.agent.name`."
    checking.report("unknown-reference", path, chain, `Unknown reference: ${checking.quote(chain)}`, hint)
    return undefined
  }
  const name = first.name.text
  const extra = second?.kind === "index" ? third : second
  if (extra !== undefined) {
    unknownReference(checking, chain, nameOf(checking, extra), () => [], path, `Write \`${before}${kind}.${name}\`.`)
    return undefined
  }
  const found = lookUp(program, kind, name)
  if (found === undefined) {
    unknownReference(checking, chain, first.name, () => stepNames(program, kind), path)
    return undefined
  }
  const index = second?.kind === "index" ? second.index?.value : undefined
  const type = typeHere(checking, inner, found.type)
  return {
    kind,
    name,
    path: before,
    index,
    ...found,
    type,
    input: found.input && recordHere(checking, inner, found.input),
  }
}

/** Where a chain leads through called files, and what is left of it there. */
interface CalledFile {
  readonly program: Program
  /** Its path from the root; null for the tested file. */
  readonly file: string | null
  /** The name that the calling file has for it, and the called files around that one; empty for the tested file. */
  readonly name: string
  readonly around: string
  /** `workflow.triage.` */
  readonly before: string
  /** The word before the name of a step; undefined where the chain ends with the file. */
  readonly kind: string | undefined
  readonly steps: readonly Syntax.ChainStep[]
}

/** Undefined where a file is not called, which is reported. */
function calledFile(
  checking: CheckContext,
  chain: Syntax.Chain,
  tested: Program,
  path: string,
): CalledFile | undefined {
  const { base, steps } = chain
  let found: CalledFile = {
    program: tested,
    file: null,
    name: "",
    around: "",
    before: "",
    kind: base.kind === "name" ? base.text : "",
    steps,
  }
  while (found.kind === "workflow") {
    const [named, next, ...others]: readonly Syntax.ChainStep[] = found.steps
    if (named?.kind !== "field") break
    const { workflows, tree } = found.program
    const symbol = workflows.get(named.name.text)
    if (symbol === undefined) {
      // Where a file is declared and cannot be called, that is reported at its declaration.
      const isDeclared = tree.declarations.some((one) => one.kind === "workflow" && one.name.text === named.name.text)
      if (!isDeclared) unknownReference(checking, chain, named.name, () => workflows.keys(), path)
      return undefined
    }
    found = {
      program: symbol.program,
      file: symbol.file,
      name: named.name.text,
      around: found.before,
      before: `${found.before}workflow.${named.name.text}.`,
      kind: next === undefined ? undefined : next.kind === "field" ? next.name.text : "",
      steps: others,
    }
  }
  return found
}

function wholeFile(checking: CheckContext, inner: CalledFile): TestedStep {
  const { name, around } = inner
  const type = typeHere(checking, inner, inner.program.output?.type ?? { kind: "record", fields: [] })
  const input = recordHere(checking, inner, inner.program.input?.type ?? { kind: "record", fields: [] })
  return { kind: "workflow", name, path: around, type, input, looped: false, mayBeSkipped: false, index: undefined }
}

/** A type of a called file, with the names that its schemas have here. */
function typeHere(checking: CheckContext, inner: CalledFile, type: Type): Type {
  return type.kind === "record" ? recordHere(checking, inner, type) : type
}

function recordHere(checking: CheckContext, { file, program }: CalledFile, type: RecordType): RecordType {
  if (file === null) return type
  return new ForeignTypes(file, program.types, checking.types, () => undefined).record(type)
}

function lookUp(
  tested: Program,
  kind: StepKind,
  name: string,
): Pick<TestedStep, "type" | "looped" | "mayBeSkipped" | "input"> | undefined {
  if (kind === "agent" || kind === "ask" || kind === "wait") {
    const table = { agent: tested.agents, ask: tested.asks, wait: tested.waits }[kind]
    const agent: StepSymbol | undefined = table.get(name)
    if (agent === undefined) return undefined
    const looped = agent.declaration.loop !== undefined || repeatOf(agent.declaration) !== undefined
    const type = isForTime(agent.declaration) ? stringType : agent.output
    return { type, looped, mayBeSkipped: agent.mayBeSkipped, input: undefined }
  }
  const once = { looped: false, mayBeSkipped: false, input: undefined }
  if (kind === "tool") {
    const tool = tested.tools.get(name)
    // What a tool of an MCP server is called with may have more arguments than the workflow declares.
    return tool && { type: tool.output ?? anyType, ...once, input: tool.origin === "api" ? tool.input : undefined }
  }
  if (kind === "resource") return tested.resources.has(name) ? { type: anyType, ...once } : undefined
  return tested.prompts.has(name) ? { type: stringType, ...once } : undefined
}

export function stepNames(tested: Program, kind: StepKind): Iterable<string> {
  const tables = {
    agent: tested.agents,
    ask: tested.asks,
    wait: tested.waits,
    tool: tested.tools,
    resource: tested.resources,
    prompt: tested.prompts,
  }
  return tables[kind].keys()
}
