import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { RunState } from "../../src/log/run-state.ts"
import { KnownValues } from "../../src/origins/known-values.ts"

/** Between the values of an item that is an object: the first of them tells it apart. */
export const itemSeparator = " · "
/** Characters of an item that fit into a row. */
const maxShown = 120

/**
 * What each item of a loop is, for the rows of its iterations. The events do not carry the items: they are read from the
 * input and the outputs where the loop takes them from there as they are, else from where the instructions differ.
 */
export class ItemPreviews {
  readonly #known: KnownValues
  readonly #state: RunState
  /** The items by the name of the agent; null where they do not follow from the events. */
  readonly #items = new Map<string, readonly JsonValue[] | null>()
  /** An instruction of each loop, to compare the others with. */
  readonly #samples = new Map<number, readonly string[]>()

  constructor(plan: Plan | null, input: JsonObject, state: RunState) {
    this.#known = new KnownValues(plan, input, state)
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
    if (items === undefined) this.#items.set(agent, (items = this.#known.items(agent)))
    return items
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

/** An object by what is in it: its names are the same in every row. */
function preview(item: JsonValue): string {
  const values = isJsonObject(item) ? Object.values(item) : [item]
  const texts = values
    .slice(0, 10)
    .map((one) => (typeof one === "string" ? one.slice(0, maxShown * 2) : JSON.stringify(one)))
  return texts.join(itemSeparator).replace(/\s+/g, " ").trim().slice(0, maxShown)
}
