import { strongComponents } from "../base/strong-components.ts"
import { eachChain } from "../syntax/each-chain.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { unknownReference } from "./infer-steps.ts"
import { limitType } from "./limit-type.ts"
import type { DynamicSymbol } from "./program.ts"
import type { Scope } from "./scope.ts"
import type { Type } from "./types.ts"

type Infer = (checking: Checking, expression: Syntax.Expression, scope: Scope) => Type

const errorType: Type = { kind: "error" }

/** What the start of a chain refers to, its type, and how many steps belong to it (`agent.x` takes one). */
export interface InferredRoot {
  readonly type: Type
  readonly steps: number
}

export function inferRoot(
  checking: Checking,
  chain: Syntax.Chain,
  base: Syntax.Name,
  scope: Scope,
  infer: Infer,
): InferredRoot | undefined {
  const variable = scope.agent?.variables.get(base.text)
  if (variable !== undefined) {
    checking.roots.set(chain, { kind: "variable", name: base.text })
    return { type: variable.type, steps: 0 }
  }
  switch (base.text) {
    case "input":
      return requestRoot(checking, chain, base, "input", scope)
    case "secrets":
      return requestRoot(checking, chain, base, "secrets", scope)
    case "agent":
      return agentRoot(checking, chain, base, scope)
    case "dynamic":
      return dynamicRoot(checking, chain, base, scope, infer)
    default:
      unknownRoot(checking, chain, base, scope)
      return undefined
  }
}

function requestRoot(
  checking: Checking,
  chain: Syntax.Chain,
  base: Syntax.Name,
  kind: "input" | "secrets",
  scope: Scope,
): InferredRoot | undefined {
  const type = kind === "input" ? checking.input : checking.secrets
  if (type === undefined) {
    const hint = `The workflow has no \`${kind}\` block: add \`${kind} { … }\`.`
    checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${checking.textOf(chain)}`, hint)
    return undefined
  }
  checking.refer(kind, base)
  checking.roots.set(chain, { kind })
  if (kind === "secrets" && scope.secrets === "exposed") {
    const [field] = chain.steps
    const known = field?.kind !== "field" || type.fields.some((one) => one.name === field.name.text)
    if (known) exposed(checking, chain, scope)
  }
  return { type, steps: 0 }
}

function exposed(checking: Checking, chain: Syntax.Chain, scope: Scope): void {
  checking.report(
    "secret-exposed",
    scope.path,
    chain,
    `\`${checking.textOf(chain)}\` may not stand in ${scope.place}: no expression may pass a secret to a model or a caller`,
    "Secrets belong in an `endpoint`, `api_key` or `headers`, and in the `bindings` of tools and resources.",
  )
}

function agentRoot(checking: Checking, chain: Syntax.Chain, base: Syntax.Name, scope: Scope): InferredRoot | undefined {
  const name = secondSegment(checking, chain, base, () => checking.agentDeclarations.keys(), scope)
  if (name === undefined) return undefined
  const declaration = checking.agentDeclarations.get(name.text)
  if (declaration === undefined) {
    unknownReference(checking, chain, name, checking.agentDeclarations.keys(), scope.path)
    return undefined
  }
  checking.refer(`agent.${name.text}`, name)
  if (!mayRefer(checking, chain, scope)) return undefined
  checking.roots.set(chain, { kind: "agent", name: name.text })
  depend(checking, chain, `agent.${name.text}`, scope)
  return { type: checking.agents.get(name.text)?.type ?? errorType, steps: 1 }
}

/** `dynamic.x`: the agent's own first, then those of the top level. */
function dynamicRoot(
  checking: Checking,
  chain: Syntax.Chain,
  base: Syntax.Name,
  scope: Scope,
  infer: Infer,
): InferredRoot | undefined {
  const known = (): string[] => [...(scope.agent?.localFields.keys() ?? []), ...checking.dynamicFields.keys()]
  const name = secondSegment(checking, chain, base, known, scope)
  if (name === undefined) return undefined
  const { agent } = scope
  const local = agent?.localFields.get(name.text)
  if (agent !== undefined && local !== undefined) {
    checking.refer(`agent.${agent.name}.dynamic.${name.text}`, name)
    checking.roots.set(chain, { kind: "local", name: name.text })
    if (scope.local !== undefined) {
      checking.dependLocally(agent.name, scope.local, name.text, { span: chain, path: scope.path })
    }
    return { type: localType(checking, name.text, scope, infer), steps: 1 }
  }
  if (!checking.dynamicFields.has(name.text)) {
    unknownReference(checking, chain, name, known(), scope.path)
    return undefined
  }
  checking.refer(`dynamic.${name.text}`, name)
  if (!mayRefer(checking, chain, scope)) return undefined
  checking.roots.set(chain, { kind: "dynamic", name: name.text })
  depend(checking, chain, `dynamic.${name.text}`, scope)
  return { type: dynamicType(checking, name.text, infer), steps: 1 }
}

function depend(checking: Checking, chain: Syntax.Chain, on: string, scope: Scope): void {
  if (scope.node !== undefined) checking.depend(scope.node, on, { span: chain, path: scope.path })
}

/** Only `input` and `secrets` decide where a key goes and as whom a server is called. */
function mayRefer(checking: Checking, chain: Syntax.Chain, scope: Scope): boolean {
  if (scope.roots === "all") return true
  const message = `${scope.place} may refer to \`input\` and \`secrets\` alone, so that no model decides it`
  const sentence = message.charAt(0).toUpperCase() + message.slice(1)
  checking.report("misplaced-expression", scope.path, chain, sentence)
  return false
}

/** The name after `agent.` or `dynamic.`. */
function secondSegment(
  checking: Checking,
  chain: Syntax.Chain,
  base: Syntax.Name,
  known: () => Iterable<string>,
  scope: Scope,
): Syntax.Name | undefined {
  const [step] = chain.steps
  if (step?.kind === "field") return step.name
  const [example] = known()
  const hint = `Write \`${base.text}.${example ?? "name"}\`.`
  checking.report("unknown-reference", scope.path, chain, `Unknown reference: ${checking.textOf(chain)}`, hint)
  return undefined
}

function unknownRoot(checking: Checking, chain: Syntax.Chain, base: Syntax.Name, scope: Scope): void {
  const written = checking.textOf(chain)
  const { text } = base
  const message = `Unknown reference: ${written}`
  const report = (hint: string) => checking.report("unknown-reference", scope.path, chain, message, hint)
  if (text === "tool" || text === "resource" || text === "prompt") {
    const verb = text === "tool" ? "call" : text === "resource" ? "read" : "render"
    return report(`A ${text} is no value: write \`${verb} ${written}\` in a \`dynamic\` value.`)
  }
  const rest = checking.tree.text.slice(base.end, chain.end)
  if (checking.input?.fields.some((field) => field.name === text) === true)
    return report(`Did you mean input.${text}${rest}?`)
  if (checking.agentDeclarations.has(text)) return report(`Did you mean agent.${text}${rest}?`)
  if (checking.dynamicFields.has(text) || scope.agent?.localFields.has(text) === true) {
    return report(`Did you mean dynamic.${text}${rest}?`)
  }
  const roots = ["input", "agent", "dynamic", "secrets", ...(scope.agent?.variables.keys() ?? [])]
  unknownReference(checking, chain, base, roots, scope.path)
}

/** Marks a value whose type is being inferred: one that needs itself is a circle, told by its own rule. */
const pending: DynamicSymbol["type"] = { kind: "error" }

/**
 * The names of dynamic values, those first that others refer to: each is then inferred when all that it needs is known,
 * however long the chain is.
 */
export function inReferenceOrder(fields: ReadonlyMap<string, Syntax.ValueField>): string[] {
  const referred = (name: string): string[] => {
    const names: string[] = []
    const field = fields.get(name)
    if (field === undefined) return names
    eachChain(field.value, (chain) => {
      const [step] = chain.steps
      if (chain.base.kind !== "name" || chain.base.text !== "dynamic" || step?.kind !== "field") return
      if (fields.has(step.name.text)) names.push(step.name.text)
    })
    return names
  }
  return strongComponents(fields.keys(), referred).flat()
}

/** A circle of values is entered no deeper than this: its own rule tells it. */
const deepestCircle = 50

/** Inferred when first asked for, so that each dynamic value is checked once. */
export function dynamicType(checking: Checking, name: string, infer: Infer): Type {
  const known = checking.dynamics.get(name)
  if (known !== undefined) return known.type
  const field = checking.dynamicFields.get(name)
  if (field === undefined) return errorType
  if (checking.inferring >= deepestCircle) return errorType
  checking.dynamics.set(name, { field, type: pending })
  checking.inferring++
  const path = `dynamic.${name}`
  const type = limitType(checking, infer(checking, field.value, dynamicScope(name)), path, field.name)
  checking.inferring--
  checking.dynamics.set(name, { field, type })
  return type
}

function dynamicScope(name: string): Scope {
  return {
    path: `dynamic.${name}`,
    place: "a dynamic value",
    node: `dynamic.${name}`,
    agent: undefined,
    local: undefined,
    secrets: "exposed",
    roots: "all",
    calls: true,
    assets: "value",
  }
}

/** The same for a dynamic value of the agent that the scope is in. */
export function localType(checking: Checking, name: string, scope: Scope, infer: Infer): Type {
  const { agent } = scope
  const field = agent?.localFields.get(name)
  if (agent === undefined || field === undefined) return errorType
  const known = agent.locals.get(name)
  if (known !== undefined) return known.type
  if (checking.inferring >= deepestCircle) return errorType
  agent.locals.set(name, { field, type: pending })
  checking.inferring++
  const path = `agent.${agent.name}.dynamic.${name}`
  const inner: Scope = { ...dynamicScope(name), path, node: `agent.${agent.name}`, agent, local: name }
  const type = limitType(checking, infer(checking, field.value, inner), path, field.name)
  checking.inferring--
  agent.locals.set(name, { field, type })
  return type
}
