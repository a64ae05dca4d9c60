import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { Expression, Root, Step } from "../../src/plan/expression.ts"
import type { AgentNode, Plan } from "../../src/plan/plan-shape.ts"
import type { RunState } from "../../src/run/run-state.ts"

/** The step that an expression stands in, and which item of its loop is meant. */
export interface Place {
  readonly node: AgentNode
  readonly iteration: number | undefined
}

/**
 * What expressions were in a run, as far as that follows from its input and the outputs in its events. Whatever else they
 * take (tools, secrets, answers of people, conditions) is not known here: then the value is undefined.
 */
export class KnownValues {
  readonly #plan: Plan | null
  readonly #input: JsonObject
  readonly #state: RunState

  constructor(plan: Plan | null, input: JsonObject, state: RunState) {
    this.#plan = plan
    this.#input = input
    this.#state = state
  }

  of(expression: Expression, place?: Place): JsonValue | undefined {
    switch (expression.op) {
      case "literal":
        return expression.value
      case "text": {
        const parts = expression.parts.map((part) => (typeof part === "string" ? part : plain(this.of(part, place))))
        return parts.every((part) => part !== undefined) ? parts.join("") : undefined
      }
      case "array": {
        const items = expression.items.map((item) => this.of(item, place))
        return items.every((item) => item !== undefined) ? items : undefined
      }
      case "reference":
        return this.#root(expression.root, place)
      case "chain":
        return expression.steps.reduce(follow, this.of(expression.base, place))
      default:
        return undefined
    }
  }

  /** The items of an agent's loop. */
  items(agent: string): readonly JsonValue[] | null {
    const node = this.#plan?.nodes.find(({ id }) => id === `agent.${agent}`)
    const loop = node?.kind === "agent" ? node.loop : null
    const value = loop === null ? undefined : this.of(loop.items)
    return Array.isArray(value) ? value : null
  }

  #root(root: Root, place: Place | undefined): JsonValue | undefined {
    switch (root.kind) {
      case "input":
        return this.#input
      case "agent":
        return this.#output(root.name)
      case "dynamic": {
        const node = this.#plan?.nodes.find(({ id }) => id === `dynamic.${root.name}`)
        return node?.kind === "dynamic" ? this.of(node.value) : undefined
      }
      case "local": {
        const local = place?.node.locals.find(({ key }) => key === root.name)
        return local === undefined ? undefined : this.of(local.value, place)
      }
      case "variable":
        return place === undefined ? undefined : this.#variable(root.name, place)
      default:
        return undefined
    }
  }

  #variable(name: string, { node, iteration }: Place): JsonValue | undefined {
    const item = iteration === undefined ? undefined : this.items(node.name)?.[iteration]
    const pattern = node.loop?.pattern
    if (pattern === undefined || item === undefined) return undefined
    if (pattern.kind === "item") return pattern.variable === name ? item : undefined
    const field = pattern.fields.find(({ variable }) => variable === name)?.field
    return field !== undefined && isJsonObject(item) ? item[field] : undefined
  }

  #output(agent: string): JsonValue | undefined {
    const own = this.#state.spans.filter(
      ({ name, kind }) => name === agent && (kind === "agent" || kind === "iteration"),
    )
    const [first] = own
    if (first?.iteration === undefined) return first?.output
    const outputs: JsonValue[] = []
    for (const { iteration = 0, output } of own) outputs[iteration] = output ?? null
    return outputs
  }
}

/** How a value reads within a text; of objects and lists that is the service's own business. */
function plain(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? `${value}` : undefined
}

function follow(value: JsonValue | undefined, step: Step): JsonValue | undefined {
  if (value === undefined || value === null) return undefined
  if (step.step === "field") return isJsonObject(value) ? value[step.name] : undefined
  if (step.step === "index") return Array.isArray(value) ? value[step.index] : undefined
  if (step.step !== "pluck" || !Array.isArray(value)) return undefined
  const plucked = value.map((item) => (isJsonObject(item) ? (item[step.name] ?? null) : null))
  return step.nulls === "drop" ? plucked.filter((item) => item !== null) : plucked
}
