import { remembered } from "../base/remembered.ts"
import { join, none, via, type Marks } from "./marks.ts"

const prefix = "event "

/** Events that several places wait for: what decides about one of them decides which event is left for another. */
export class SharedEvents {
  readonly #places = new Map<string, Map<string, Marks>>()
  readonly #repeated = new Set<string>()
  readonly #known: ReadonlyMap<string, Marks>
  readonly #caller: ReadonlyMap<string, Marks>

  /** `known`: what an earlier pass found; `caller`: what the caller of the file knows. */
  constructor(known: ReadonlyMap<string, Marks>, caller: ReadonlyMap<string, Marks>) {
    this.#known = known
    this.#caller = caller
  }

  /** What decides which event a wait finds. */
  of(event: string): Marks {
    return join(this.#known.get(prefix + event) ?? none, this.#caller.get(event) ?? none)
  }

  /** Something at this place waits for the event, and these labels decide about that. */
  ask(event: string, place: string, decided: Marks, isRepeated = false): void {
    const places = remembered(this.#places, event, () => new Map<string, Marks>())
    places.set(place, join(places.get(place) ?? none, decided))
    if (isRepeated) this.#repeated.add(event)
  }

  /** For a later pass. */
  get kept(): ReadonlyMap<string, Marks> {
    const shared = [...this.#places].filter(([event, places]) => places.size > 1 || this.#repeated.has(event))
    return new Map(
      shared.map(([event, places]) => {
        return [prefix + event, via(join(...places.values()), `the event \`${event}\``, { start: 0, end: 0 })]
      }),
    )
  }
}
