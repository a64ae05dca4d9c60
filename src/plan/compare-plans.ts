import { canonicalJson } from "../base/canonical-json.ts"
import { jsonEqual } from "../base/json-equal.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Expression } from "./expression.ts"
import { children } from "./expression-traits.ts"
import type { ModelUses, Plan, PlanNode } from "./plan-shape.ts"
import { withoutTexts } from "./without-texts.ts"
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
  sameDay = false,
): Map<string, NodeChange> {
  const known = new Map(before.nodes.map((node) => [node.id, node]))
  const numbers = new Map<string, number>()
  const compared: Compared = {
    input: new Map(),
    before: new SharedParts(before, numbers),
    after: new SharedParts(after, numbers),
  }
  const changes = new Map<string, NodeChange>()
  // In an order in which they can run: what a node depends on comes before it.
  for (const node of after.nodes) {
    const earlier = known.get(node.id)
    const why =
      earlier === undefined ? "It is new" : (ownChange(compared, earlier, node, input) ?? runChange(node, sameDay))
    const cause = node.depends_on.find((id) => changes.get(id)?.status !== "same")
    if (why !== null) changes.set(node.id, { status: "changed", why })
    else if (cause !== undefined) changes.set(node.id, { status: "after", why: `It depends on ${cause}` })
    else changes.set(node.id, { status: "same", why: "" })
  }
  return changes
}

/** What many nodes may share is compared once. */
interface Compared {
  /** By field of the input: whether it is the same. An empty name is all of it. */
  readonly input: Map<string, boolean>
  readonly before: SharedParts
  readonly after: SharedParts
}

/** Parts of a plan that several nodes may refer to, each by a number that equal parts of both plans share. */
class SharedParts {
  readonly plan: Plan
  readonly #numberOfText: Map<string, number>
  readonly #numbers = new Map<object, number>()

  constructor(plan: Plan, numberOfText: Map<string, number>) {
    this.plan = plan
    this.#numberOfText = numberOfText
  }

  number(part: object | null | undefined, compared: (part: object) => object = (own) => own): number {
    if (part === null || part === undefined) return -1
    let number = this.#numbers.get(part)
    if (number === undefined) {
      const text = canonicalJson(withoutTexts(compared(part) as JsonValue))
      number = this.#numberOfText.get(text) ?? this.#numberOfText.size
      this.#numberOfText.set(text, number)
      this.#numbers.set(part, number)
    }
    return number
  }
}

function ownChange(
  { input: known, before, after }: Compared,
  earlier: PlanNode,
  node: PlanNode,
  input: { readonly before: JsonObject; readonly after: JsonObject },
): string | null {
  if (differ(textOf(earlier), textOf(node))) return "Its text changed"
  const part = parts.find(({ isSame }) => !isSame(before, earlier, after, node))
  if (part !== undefined) return part.why
  const changed = changedInput(node, input, known)
  if (changed === null) return null
  return changed === "" ? "The input changed" : `input.${changed} changed`
}

/** The field of the input that a node refers to, and that differs; an empty name is all of it, null that none does. */
export function changedInput(
  node: PlanNode,
  input: { readonly before: JsonObject; readonly after: JsonObject },
  known = new Map<string, boolean>(),
): string | null {
  const changed = fieldsOf(node, "input").find((name) => {
    let isSame = known.get(name)
    if (isSame === undefined) {
      isSame =
        name === ""
          ? jsonEqual(input.before, input.after)
          : jsonEqual(input.before[name] ?? null, input.after[name] ?? null)
      known.set(name, isSame)
    }
    return !isSame
  })
  return changed ?? null
}

/** What a node is made of besides its own text. */
const parts: readonly {
  readonly property: string
  readonly why: string
  readonly isSame: (before: SharedParts, earlier: PlanNode, after: SharedParts, node: PlanNode) => boolean
}[] = [
  { property: "model", why: "Its model changed", isSame: same(modelsOf) },
  { property: "uses", why: "Its tools changed", isSame: same(toolsOf) },
  { property: "workflow", why: "A workflow that it calls changed", isSame: same(filesOf) },
  { property: "output", why: "Its types changed", isSame: haveSameType },
]

function same(part: (parts: SharedParts, node: PlanNode) => JsonValue): (typeof parts)[number]["isSame"] {
  return (before, earlier, after, node) => !differ(part(before, earlier), part(after, node))
}

/** Keys of nodes whose property has another name. */
const propertyNames: Readonly<Record<string, string>> = {
  loop: "for",
  locals: "dynamic",
  files: "file",
  requires: "require",
  choice: "model",
  workflows: "uses",
  fields: "output",
}

/** How the steps of a plan differ from those of an earlier one, by their definitions alone. */
export function compareSteps(before: Plan, after: Plan): StepChanges {
  const numbers = new Map<string, number>()
  const [old, now] = [new SharedParts(before, numbers), new SharedParts(after, numbers)]
  const known = new Map(before.nodes.map((node) => [node.id, node]))
  const changes: { same: string[]; changed: ChangedStep[]; after: string[]; new: string[] } = {
    same: [],
    changed: [],
    after: [],
    new: [],
  }
  const differing = new Set<string>()
  for (const node of after.nodes) {
    const earlier = known.get(node.id)
    known.delete(node.id)
    const properties = earlier === undefined ? [] : changedProperties(old, earlier, now, node)
    const follows = node.depends_on.some((id) => differing.has(id))
    if (earlier !== undefined && properties.length === 0 && !follows) {
      changes.same.push(node.id)
      continue
    }
    differing.add(node.id)
    if (earlier === undefined) changes.new.push(node.id)
    else if (properties.length > 0) changes.changed.push({ step: node.id, properties })
    else changes.after.push(node.id)
  }
  return { ...changes, gone: [...known.keys()] }
}

export interface ChangedStep {
  readonly step: string
  readonly properties: readonly string[]
}

/** Steps by their ids. `after`: a step before it differs. */
export interface StepChanges {
  readonly same: readonly string[]
  readonly changed: readonly ChangedStep[]
  readonly after: readonly string[]
  readonly new: readonly string[]
  readonly gone: readonly string[]
}

function changedProperties(before: SharedParts, earlier: PlanNode, after: SharedParts, node: PlanNode): string[] {
  const [old, now] = [textOf(earlier, true), textOf(node, true)]
  const keys = [...Object.keys(now), ...Object.keys(old)]
  const own = keys.filter((key) => differ(old[key] ?? null, now[key] ?? null)).map((key) => propertyNames[key] ?? key)
  const shared = parts.flatMap(({ property, isSame }) => (isSame(before, earlier, after, node) ? [] : [property]))
  return [...new Set([...own, ...shared])]
}

function differ(one: JsonValue, other: JsonValue): boolean {
  return canonicalJson(one) !== canonicalJson(other)
}

/** What the author wrote in the node itself; how it is laid out does not count. `whole`: also what has no part in what the node gives. */
function textOf(node: PlanNode, whole = false): JsonObject {
  const own: Record<string, unknown> = { ...node }
  // Compared by themselves.
  for (const key of ["depends_on", "models", "uses", "output", "id", "name"]) delete own[key]
  if (!whole) for (const key of ["limits", "concurrency", "batch"]) delete own[key]
  return withoutTexts(own as JsonObject) as JsonObject
}

function modelsOf(parts: SharedParts, node: PlanNode): JsonValue {
  if (node.kind !== "agent") return null
  const summariser = node.context?.compact?.models
  return [...used(parts, node.models), ...(summariser === undefined ? [] : used(parts, summariser))]
}

/** Models by what is sent to them, without their names in the workflow. */
function used(parts: SharedParts, uses: ModelUses): JsonValue[] {
  return uses.map(({ name, inference }) => {
    const model = parts.plan.models[name]
    const provider = parts.plan.providers[model?.provider ?? ""]
    const sent = parts.number(model, (own) => ({ ...own, provider: null, price: null }))
    return [
      sent,
      parts.number(provider, (own) => ({ ...own, rate: null })),
      withoutTexts(inference as object as JsonValue),
    ]
  })
}

function toolsOf(parts: SharedParts, node: PlanNode): JsonValue {
  const { plan } = parts
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
    const isHttp = remote !== undefined && "http" in remote
    const server = (isHttp ? plan.apis : plan.servers)?.[remote?.server ?? ""]
    return [name, parts.number(remote), parts.number(server)]
  })
  return withoutTexts([uses, remotes] as object as JsonValue)
}

/** The workflows that the node calls, as they are planned: another comment changes nothing. */
function filesOf(parts: SharedParts, node: PlanNode): JsonValue {
  const { workflows = {} } = parts.plan
  const uses = node.kind === "agent" ? (node.workflows ?? []).map(({ workflow }) => workflow) : []
  const names = new Set(uses)
  const visit = (expression: Expression): void => {
    if (expression.op === "call-workflow") names.add(expression.workflow)
    for (const child of children(expression)) visit(child)
  }
  if (parts.plan.workflows !== undefined) for (const expression of expressionsOf(node)) visit(expression)
  const planned = (called: object): object => ({ ...called, version: "", description: null })
  const sentToModel = uses.map((name) => workflows[name]?.description ?? null)
  return [...[...names].map((name) => [name, parts.number(workflows[name], planned)]), sentToModel]
}

function haveSameType(before: SharedParts, earlier: PlanNode, after: SharedParts, node: PlanNode): boolean {
  if (node.kind !== "agent" && node.kind !== "ask") return true
  if (earlier.kind !== "agent" && earlier.kind !== "ask") return false
  const sameNames = before.number(before.plan.types) === after.number(after.plan.types)
  if (sameNames && !differ(earlier.output as object as JsonValue, node.output as object as JsonValue)) return true
  const schemas = [
    toJsonSchema(earlier.output, before.plan.types),
    toJsonSchema(node.output, after.plan.types),
  ] as const
  return !differ(...schemas)
}

/** What a node refers to of the run itself, which another run does not share. */
function runChange(node: PlanNode, sameDay: boolean): string | null {
  const changed = fieldsOf(node, "run").find((name) => name !== "date" || !sameDay)
  if (changed === undefined) return null
  return changed === "" ? "It refers to `run`" : `It refers to run.${changed}`
}

/** Fields of the input, or of `run`, that the node refers to; an empty name is all of it. */
function fieldsOf(node: PlanNode, root: "input" | "run"): string[] {
  const found = new Set<string>()
  const visit = (expression: Expression): void => {
    if (expression.op === "reference" && expression.root.kind === root) found.add("")
    const isField =
      expression.op === "chain" && expression.base.op === "reference" && expression.base.root.kind === root
    const [first] = expression.op === "chain" ? expression.steps : []
    if (isField && first?.step === "field") found.add(first.name)
    else for (const child of children(expression)) visit(child)
  }
  for (const expression of expressionsOf(node)) visit(expression)
  return [...found]
}
