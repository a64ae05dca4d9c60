import { canonicalJson } from "../base/canonical-json.ts"
import { jsonEqual } from "../base/json-equal.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Expression } from "./expression.ts"
import { children } from "./expression-traits.ts"
import type { ModelUses, Plan, PlanNode } from "./plan-shape.ts"
import { effectsOf, expressionsOf } from "./prepare.ts"

/** Whether a node of a plan would do the same again: for an author who is about to re-run a workflow. */
export interface NodeChange {
  /** `after`: it depends on one that changed, and runs unless that gives the same as before. */
  readonly status: "same" | "changed" | "after"
  /** A sentence; empty where nothing changed. */
  readonly why: string
}

/** How each node of a plan differs from that of an earlier one, with the inputs of both. */
export function comparePlans(
  before: Plan,
  after: Plan,
  input: { readonly before: JsonObject; readonly after: JsonObject },
): Map<string, NodeChange> {
  const known = new Map(before.nodes.map((node) => [node.id, node]))
  const changes = new Map<string, NodeChange>()
  // In an order in which they can run: what a node depends on comes before it.
  for (const node of after.nodes) {
    const earlier = known.get(node.id)
    const why = earlier === undefined ? "It is new" : ownChange(before, earlier, after, node, input)
    const cause = node.depends_on.find((id) => changes.get(id)?.status !== "same")
    if (why !== null) changes.set(node.id, { status: "changed", why })
    else if (cause !== undefined) changes.set(node.id, { status: "after", why: `It depends on ${cause}` })
    else changes.set(node.id, { status: "same", why: "" })
  }
  return changes
}

function ownChange(
  before: Plan,
  earlier: PlanNode,
  after: Plan,
  node: PlanNode,
  input: { readonly before: JsonObject; readonly after: JsonObject },
): string | null {
  if (differ(textOf(earlier), textOf(node))) return "Its text changed"
  if (differ(modelsOf(before, earlier), modelsOf(after, node))) return "Its model changed"
  if (differ(toolsOf(before, earlier), toolsOf(after, node))) return "Its tools changed"
  if (differ(typeOf(before, earlier), typeOf(after, node))) return "Its types changed"
  const changed = inputsOf(node).find(
    (name) =>
      !jsonEqual(
        name === "" ? input.before : (input.before[name] ?? null),
        name === "" ? input.after : (input.after[name] ?? null),
      ),
  )
  if (changed === undefined) return null
  return changed === "" ? "The input changed" : `input.${changed} changed`
}

function differ(one: JsonValue, other: JsonValue): boolean {
  return canonicalJson(one) !== canonicalJson(other)
}

/** What the author wrote in the node itself; how it is laid out does not count. */
function textOf(node: PlanNode): JsonValue {
  const own: Record<string, unknown> = { ...node }
  // Compared by themselves, or without a part in what the node gives.
  for (const key of ["depends_on", "models", "uses", "output", "limits", "id", "name"]) delete own[key]
  return withoutTexts(own as JsonValue)
}

function withoutTexts(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(withoutTexts)
  const isNode = "op" in value || "condition" in value
  const entries = Object.entries(value).filter(([key]) => !(isNode && (key === "text" || key === "site")))
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutTexts(item)]))
}

function modelsOf(plan: Plan, node: PlanNode): JsonValue {
  if (node.kind !== "agent") return null
  const summariser = node.context?.compact?.models
  return [...used(plan, node.models), ...(summariser === undefined ? [] : used(plan, summariser))]
}

/** Models by what is sent to them, without their names in the workflow. */
function used(plan: Plan, uses: ModelUses): JsonValue[] {
  return uses.map(({ name, inference }) => {
    const { provider, price: _, ...model } = { price: null, ...plan.models[name] }
    return withoutTexts([model, plan.providers[provider ?? ""] ?? null, inference] as object as JsonValue)
  })
}

function toolsOf(plan: Plan, node: PlanNode): JsonValue {
  const uses = node.kind === "agent" ? node.uses : []
  const effects = effectsOf(node).map((effect) =>
    effect.op === "call"
      ? ({ kind: "tool", name: effect.tool } as const)
      : effect.op === "read"
        ? ({ kind: "resource", name: effect.resource } as const)
        : ({ kind: "prompt", name: effect.prompt } as const),
  )
  const tables = { tool: plan.tools, resource: plan.resources, prompt: plan.prompts }
  const remotes = [...uses, ...effects].map(({ kind, name }) => {
    const remote = tables[kind][name]
    return [name, remote ?? null, plan.servers[remote?.server ?? ""] ?? null]
  })
  return withoutTexts([uses, remotes] as object as JsonValue)
}

function typeOf(plan: Plan, node: PlanNode): JsonValue {
  return node.kind === "agent" || node.kind === "ask" ? toJsonSchema(node.output, plan.types) : null
}

/** Fields of the input that the node refers to; an empty name is all of it. */
function inputsOf(node: PlanNode): string[] {
  const found = new Set<string>()
  const visit = (expression: Expression): void => {
    if (expression.op === "reference" && expression.root.kind === "input") found.add("")
    const isInput =
      expression.op === "chain" && expression.base.op === "reference" && expression.base.root.kind === "input"
    const [first] = expression.op === "chain" ? expression.steps : []
    if (isInput && first?.step === "field") found.add(first.name)
    else for (const child of children(expression)) visit(child)
  }
  for (const expression of expressionsOf(node)) visit(expression)
  return [...found]
}
