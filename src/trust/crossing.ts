import type { WorkflowSymbol } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type { Labelled } from "./labelled.ts"
import { mapped } from "./labelled.ts"
import type { Marks, Way } from "./marks.ts"
import { isNone } from "./marks.ts"

/**
 * Labels that go into a called file and come out of it. Names of servers are those of one file: what a server gave may go back to it
 * only in the file that got it. Places inside of the called file are shown at the call.
 */
export class Crossing {
  readonly #file: string
  readonly #name: string
  readonly #span: Span
  readonly #inside = new Map<Way, Way>()
  readonly #origins = new Map<Way["source"], Way>()

  constructor({ file, name }: WorkflowSymbol, span: Span) {
    this.#file = file
    this.#name = `workflow.${name.text}`
    this.#span = span
  }

  enter(value: Labelled): Labelled {
    return mapped(value, (marks) => this.entering(marks))
  }

  entering(marks: Marks): Marks {
    return changed(marks, (way) => {
      const known = this.#inside.get(way)
      if (known !== undefined) return known
      const { server, ...rest } = way.source
      const source = { ...rest, span: this.#span, ...(server === undefined ? {} : { server: `../${server}` }) }
      const inside: Way = { ...way, source }
      this.#inside.set(way, inside)
      this.#origins.set(source, way)
      return inside
    })
  }

  leave(value: Labelled): Labelled {
    return mapped(value, (marks) => {
      return changed(marks, (way) => {
        const { name, server, ...source } = way.source
        const from = this.#origins.get(way.source)
        const length = (from?.length ?? 0) + 1
        if (from !== undefined) return { source: from.source, place: this.#name, span: this.#span, from, length }
        const own = server === undefined ? {} : { server: `${this.#file}#${server}` }
        const outside = { ...source, ...own, name: `${this.#file}#${name}`, span: this.#span }
        return { ...way, source: outside, place: outside.name, span: this.#span, from: null, length }
      })
    })
  }
}

function changed(marks: Marks, change: (way: Way) => Way): Marks {
  if (isNone(marks)) return marks
  return { untrusted: marks.untrusted.map(change), private: marks.private.map(change) }
}
