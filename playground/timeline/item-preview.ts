import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { Expression, Step } from "../../src/plan/expression.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { RunState } from "../../src/run/run-state.ts"

/** As much of an item as a row can show. */
const mostShown = 120

/**
 * What each item of a loop is, for the rows of its iterations. The events do not carry the items: they are read from the
 * input and the outputs where the loop takes them from there as they are, else from where the instructions differ.
 */
export class ItemPreviews {
  readonly #plan: Plan | null
  readonly #input: JsonObject
  readonly #state: RunState
  /** The items by the name of the agent; null where they do not follow from the events. */
  readonly #items = new Map<string, readonly JsonValue[] | null>()
  /** An instruction of each loop, to compare the others with. */
  readonly #samples = new Map<number, readonly string[]>()

  constructor(plan: Plan | null, input: JsonObject, state: RunState) {
    this.#plan = plan
    this.#input = input
    this.#state = state
  }

  of(at: number): string {
    const span = this.#state.spans[at]
    if (span?.iteration === undefined) return ""
    const item = this.#itemsOf(span.name)?.[span.iteration]
    if (item !== undefined) return preview(item)
    return span.instruction === undefined || span.parent === null ? "" : this.#ownPart(span.instruction, span.parent)
  }

  #itemsOf(agent: string): readonly JsonValue[] | null {
    let items = this.#items.get(agent)
    if (items === undefined) {
      const node = this.#plan?.nodes.find(({ id }) => id === `agent.${agent}`)
      const loop = node?.kind === "agent" ? node.loop : null
      const value = loop === null ? undefined : this.#value(loop.items)
      items = Array.isArray(value) ? value : null
      this.#items.set(agent, items)
    }
    return items
  }

  #value(expression: Expression): JsonValue | undefined {
    switch (expression.op) {
      case "literal":
        return expression.value
      case "array": {
        const items = expression.items.map((item) => this.#value(item))
        return items.every((item) => item !== undefined) ? items : undefined
      }
      case "reference":
        if (expression.root.kind === "input") return this.#input
        return expression.root.kind === "agent" ? this.#output(expression.root.name) : undefined
      case "chain":
        return expression.steps.reduce(follow, this.#value(expression.base))
      default:
        return undefined
    }
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

  /** The instruction from where it differs from that of another item. */
  #ownPart(instruction: string, loop: number): string {
    let samples = this.#samples.get(loop) ?? []
    if (samples.length < 2 && !samples.includes(instruction)) {
      samples = [...samples, instruction]
      this.#samples.set(loop, samples)
    }
    const other = samples.find((sample) => sample !== instruction)
    let same = 0
    while (other !== undefined && same < instruction.length && instruction[same] === other[same]) same++
    // From the start of the word.
    const start = instruction.slice(0, same).search(/\S*$/)
    return preview(instruction.slice(other === undefined ? 0 : start))
  }
}

function follow(value: JsonValue | undefined, step: Step): JsonValue | undefined {
  if (value === undefined || value === null) return undefined
  if (step.step === "field") return isJsonObject(value) ? value[step.name] : undefined
  if (step.step === "index") return Array.isArray(value) ? value[step.index] : undefined
  if (step.step !== "pluck" || !Array.isArray(value)) return undefined
  const plucked = value.map((item) => (isJsonObject(item) ? (item[step.name] ?? null) : null))
  return step.nulls === "drop" ? plucked.filter((item) => item !== null) : plucked
}

function preview(item: JsonValue): string {
  const text = typeof item === "string" ? item.slice(0, mostShown * 2) : JSON.stringify(item)
  return text.replace(/\s+/g, " ").trim().slice(0, mostShown)
}
