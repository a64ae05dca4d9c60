import type * as Syntax from "../syntax/tree.ts"
import { anyType, stringType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { nameOf, unknownReference } from "./infer-steps.ts"
import type { Program } from "./program.ts"

/** A step of the tested workflow, as a test names it after `given`, `ran` and their like. */
export interface TestedStep {
  readonly kind: StepKind
  readonly name: string
  /** What it gives; of a looped agent, for one item. */
  readonly type: Type
  readonly looped: boolean
  readonly mayBeSkipped: boolean
  /** `agent.x[2]` */
  readonly index: number | undefined
}

export const stepKinds = ["agent", "ask", "tool", "resource", "prompt"] as const
export type StepKind = (typeof stepKinds)[number]

/** The step that a chain names; undefined for one that the workflow does not have, which is reported. */
export function testedStep(
  checking: CheckContext,
  chain: Syntax.Chain,
  tested: Program,
  path: string,
): TestedStep | undefined {
  const { base } = chain
  const [first, second, third] = chain.steps
  const kind = base.kind === "name" ? stepKinds.find((each) => each === base.text) : undefined
  if (kind === undefined || first?.kind !== "field") {
    const hint = "A step is `agent.name`, `ask.name`, `tool.name`, `resource.name` or `prompt.name`."
    checking.report("unknown-reference", path, chain, `Unknown reference: ${checking.quote(chain)}`, hint)
    return undefined
  }
  const name = first.name.text
  const extra = second?.kind === "index" ? third : second
  if (extra !== undefined) {
    unknownReference(checking, chain, nameOf(checking, extra), () => [], path, `Write \`${kind}.${name}\`.`)
    return undefined
  }
  const found = lookUp(tested, kind, name)
  if (found === undefined) {
    unknownReference(checking, chain, first.name, () => stepNames(tested, kind), path)
    return undefined
  }
  const index = second?.kind === "index" ? second.index?.value : undefined
  return { kind, name, index, ...found }
}

function lookUp(
  tested: Program,
  kind: StepKind,
  name: string,
): Pick<TestedStep, "type" | "looped" | "mayBeSkipped"> | undefined {
  if (kind === "agent" || kind === "ask") {
    const agent = kind === "agent" ? tested.agents.get(name) : tested.asks.get(name)
    return (
      agent && { type: agent.output, looped: agent.declaration.loop !== undefined, mayBeSkipped: agent.mayBeSkipped }
    )
  }
  const once = { looped: false, mayBeSkipped: false }
  if (kind === "tool") {
    const tool = tested.tools.get(name)
    return tool && { type: tool.output ?? anyType, ...once }
  }
  if (kind === "resource") return tested.resources.has(name) ? { type: anyType, ...once } : undefined
  return tested.prompts.has(name) ? { type: stringType, ...once } : undefined
}

export function stepNames(tested: Program, kind: StepKind): Iterable<string> {
  const tables = {
    agent: tested.agents,
    ask: tested.asks,
    tool: tested.tools,
    resource: tested.resources,
    prompt: tested.prompts,
  }
  return tables[kind].keys()
}
