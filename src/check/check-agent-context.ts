import { write } from "../source/hint.ts"
import { isCutOff } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { valueSpan } from "./block-of.ts"
import { checkModelReference, type ModelReference } from "./check-model-reference.ts"
import type { CheckContext } from "./check-context.ts"
import { expectProperty } from "./infer.ts"
import { unknownReference } from "./infer-steps.ts"
import { presentUpTo } from "./narrowing.ts"
import { readProperties } from "./properties.ts"
import type { Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"

/**
 * `context: agent.x`, `context: compact agent.x { … }`: whose message history a step continues. Gives the models that
 * summarise it.
 */
export function checkContext(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  scope: Scope,
): readonly ModelReference[] {
  if (property === undefined || property.value.kind === "missing") return []
  const path = `${scope.path}.context`
  if (property.value.kind !== "context") {
    checking.report("type-mismatch", path, valueSpan(property), "Expected an agent", "Write `context: agent.name`.")
    return []
  }
  const { reference, compact, block, obsolete } = property.value
  const written = checking.quote(reference)
  if (obsolete) {
    const meant = `${compact === undefined ? "" : "compact "}${written === "" ? "agent.name" : written}`
    const message = `\`${checking.quote({ start: property.name.start, end: property.end })}\` is now written \`context: ${meant}\``
    const hasArguments =
      block === undefined && checking.textOf({ start: reference.end, end: property.end }).includes(",")
    const whole = checking.textOf({ start: reference.start, end: block?.end ?? reference.end })
    const hint = hasArguments
      ? `Write \`context: ${meant} { … }\`, with the arguments in the block.`
      : write(
          `context: ${whole === "" ? "agent.name" : `${compact === undefined ? "" : "compact "}${whole}`}`,
          property,
          `Write \`context: ${meant}\`.`,
        )
    checking.report("obsolete-syntax", path, property.name, message, hint)
  }
  checkAgentReference(checking, reference, path, scope)
  if (block === undefined) return []
  if (compact === undefined) {
    const hint = `Write \`context: compact ${written} { … }\`, or remove the block.`
    checking.report("unknown-property", path, block.open, "Only a compacted context takes a block", hint)
    return []
  }
  const properties = readProperties(checking, "compact", block, path, property.name)
  const models = checkModelReference(checking, properties.get("model"), `${path}.model`)
  const inner: Scope = { ...scope, path: `${path}.instruction`, place: "an instruction" }
  expectProperty(checking, properties.get("instruction"), stringType, path, inner)
  return models
}

function checkAgentReference(checking: CheckContext, chain: Syntax.Chain, path: string, scope: Scope): void {
  const [step, extra] = chain.steps
  if (chain.base.kind !== "name" || (step === undefined && isCutOff(chain))) return
  if (chain.base.text !== "agent" || step?.kind !== "field" || extra !== undefined) {
    const name = step?.kind === "field" ? step.name.text : chain.base.text
    // `dynamic.history`, which was reported where it is declared.
    const value = chain.base.text === "dynamic" ? checking.dynamicFields.get(name)?.value : undefined
    if (value?.kind === "missing-expression") return
    const message = `Expected an agent, found \`${checking.quote(chain)}\``
    const hint = `Write \`context: agent.${checking.agents.has(name) ? name : "name"}\`.`
    checking.report("type-mismatch", path, chain, message, hint)
    return
  }
  const name = step.name.text
  const other = checking.agents.get(name)
  if (other === undefined) return unknownReference(checking, chain, step.name, () => checking.agents.keys(), path)
  checking.refer(`agent.${name}`, step.name)
  if (scope.node !== undefined) checking.depend(scope.node, `agent.${name}`, { span: chain, path })
  if (other.declaration.loop !== undefined) {
    const message = `agent.${name} is a loop: it has one history per item, so there is no single history to continue`
    checking.report("type-mismatch", path, chain, message, "Continue an agent without `for`.")
  } else if (other.mayBeSkipped && presentUpTo(chain, scope.present) < chain.steps.length) {
    const message = `agent.${name} may be skipped, and then has no history to continue`
    const test = `agent.${name} != null`
    const text = `Give this agent a condition that rules it out: \`when ${test}\`.`
    const hint = { text, data: { kind: "condition", test } } as const
    checking.report("nullable-access", path, chain, message, hint)
  }
}
