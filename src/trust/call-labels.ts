import { remembered } from "../base/remembered.ts"
import type { WorkflowSymbol } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type { Labelled } from "./label-tree.ts"
import { changed, placed, placesOf, type Marks, type Way } from "./marks.ts"

/**
 * Labels that go into a called file and come out of it. Names of servers are those of one file: what a server gave may go back to it
 * only in the file that got it. A way through the file is one place of the caller, with those of the file inside of it.
 */
export class CallLabels {
  readonly #symbol: WorkflowSymbol
  readonly #span: Span
  readonly #base: number
  readonly #inside = new Map<Way, Way>()
  readonly #origins = new Map<Way["source"], Way>()
  readonly #outside = new Map<Way, Way>()

  /** `span`: where the file is called; `base`: the first offset of the file that calls. */
  constructor(symbol: WorkflowSymbol, span: Span, base: number) {
    this.#symbol = symbol
    this.#span = span
    this.#base = base
  }

  enter(value: Labelled): Labelled {
    return value.map((marks) => this.entering(marks))
  }

  entering(marks: Marks): Marks {
    return changed(marks, (way) => this.#enter(way))
  }

  leave(value: Labelled): Labelled {
    return value.map((marks) => this.leaving(marks))
  }

  leaving(marks: Marks): Marks {
    return changed(marks, (way) => remembered(this.#outside, way, () => this.#leave(way)))
  }

  #enter(way: Way): Way {
    const known = this.#inside.get(way)
    if (known !== undefined) return known
    const { server, level = 0, ...rest } = way.source
    const source = { ...rest, ...(server === undefined ? {} : { server: `../${server}` }), level: level + 1 }
    const inside: Way = { ...placed(way, this.#base), source }
    this.#inside.set(way, inside)
    this.#origins.set(source, way)
    return inside
  }

  #leave(way: Way): Way {
    const from = this.#origins.get(way.source)
    const { file, name, base } = this.#symbol
    // Places of the caller are set already.
    const own = placesOf(way).filter(({ isPlaced }) => isPlaced !== true)
    const inside = own.map((one) => placed({ ...one, from: null }, base))
    const length = (from?.length ?? 0) + 1
    if (from !== undefined) {
      return { source: from.source, place: `workflow.${name.text}`, span: this.#span, from, length, inside }
    }
    const { server, ...source } = way.source
    const outside = {
      ...source,
      ...(server === undefined ? {} : { server: `${file}#${server}` }),
      name: `${file}#${source.name}`,
    }
    const [first = placed({ ...way, from: null }, base), ...others] = inside
    return { ...first, source: outside, place: outside.name, from: null, length, inside: others }
  }
}
