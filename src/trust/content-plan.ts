import type { Program, WorkflowSymbol } from "../check/program.ts"
import type { AgentContentPlan, ContentPlan, PathList } from "../plan/content-plan.ts"
import type { Expression } from "../plan/expression.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { marksPrivate } from "./declared.ts"
import { PrivateParts } from "./private-parts.ts"
import { watchTrust } from "./trust.ts"
import type { Watcher } from "./watcher.ts"

/** Which values of a file are private; undefined for one that marks none, itself or in what it calls. */
export function contentPlan(program: Program, plan: Plan): ContentPlan | undefined {
  if (!marksPrivate(program)) return undefined
  const parts = new PrivateParts()
  watchTrust(program, new PrivateWatcher(parts))
  return contentOf(program, plan, parts)
}

function contentOf(program: Program, plan: Plan, parts: PrivateParts): ContentPlan {
  const agents = plan.nodes.flatMap((node) => {
    return node.kind === "agent" ? [[node.name, agentOf(program, node, parts)] as const] : []
  })
  const systems = Object.entries(plan.models).flatMap(([name, { system }]) => {
    const written = expressionIn(program.models.get(name)?.body, "system")
    return system === null ? [] : [[name, textOf(written, system, parts)] as const]
  })
  const calls = [...parts.calls].map(([call, known]) => {
    const given = [...known.arguments].map(([name, paths]) => [name, [...paths]] as const)
    return [call, { arguments: Object.fromEntries(given), isResultPrivate: known.isResultPrivate }] as const
  })
  const workflows = [...program.workflows].flatMap(([name, symbol]) => {
    const called = plan.workflows?.[name]
    const inside = parts.files.get(symbol.name.text)
    if (called === undefined || inside === undefined || inside.isUnknown) return []
    return [[name, contentOf(symbol.program, called.plan, inside)] as const]
  })
  return {
    agents: Object.fromEntries(agents),
    systems: Object.fromEntries(systems),
    calls: Object.fromEntries(calls),
    workflows: Object.fromEntries(workflows),
  }
}

function agentOf(program: Program, node: AgentNode, parts: PrivateParts): AgentContentPlan {
  const body = program.agents.get(node.name)?.declaration.body
  const seen = parts.agents.get(node.name)
  const said = expressionIn(body, "messages")
  const context = propertyOf(body, "context")?.value
  // A step that the pass did not see is all private.
  return {
    reads: seen?.reads ?? true,
    instruction: textOf(expressionIn(body, "instruction"), node.instruction, parts),
    system: node.system === null ? null : textOf(expressionIn(body, "system"), node.system, parts),
    messages: said === undefined ? [] : parts.of(said),
    files: filesOf(body?.items ?? [], node, parts),
    context:
      context?.kind === "context" && seen?.continues !== false ? [`agent.${node.context?.agent ?? node.name}`] : [],
    output: seen === undefined ? node.output.fields.map(({ name }) => name) : [...seen.output],
  }
}

function filesOf(items: readonly Syntax.Property[], { files, name }: AgentNode, parts: PrivateParts): PathList[] {
  const written = items.filter((item) => item.name.text === "file")
  return files.map((_, at) => {
    const value = written[at]?.value
    const content =
      value?.kind === "file"
        ? value.content
        : value?.kind === "properties"
          ? expressionIn(value.block, "content")
          : value?.kind === "expression"
            ? value.expression
            : undefined
    return written.length === files.length && content !== undefined ? parts.of(content) : [`agent.${name}`]
  })
}

/** The private paths of each part of a text that is no literal. Parts that cannot be told from each other have all of them. */
function textOf(written: Syntax.Expression | undefined, lowered: Expression, parts: PrivateParts): PathList[] {
  const pieces = lowered.op === "text" ? lowered.parts.filter((part) => typeof part !== "string") : [lowered]
  const inner = written?.kind === "string" ? written.interpolations : []
  if (inner.length === pieces.length) return inner.map((one) => parts.of(one))
  const isWritten = written !== undefined || pieces.every(({ op }) => op === "literal")
  const all = written === undefined ? [] : parts.of(written)
  return pieces.map(() => (isWritten ? all : ["input"]))
}

/** Lets a pass fill the parts. */
class PrivateWatcher implements Watcher {
  readonly privates: PrivateParts

  constructor(privates: PrivateParts) {
    this.privates = privates
  }

  agent(): void {}
  call(): void {}
  exception(): void {}
  way(): void {}

  file(symbol: WorkflowSymbol): Watcher {
    return new PrivateWatcher(this.privates.file(symbol))
  }
}
