import type { WakeUp } from "../base/wake-up.ts"
import type { LogEvent } from "../log/events.ts"

/** How much of the newest events of a followed run is kept, so that its followers share one copy. */
const tailBytes = 64 * 1024

interface Piece {
  readonly events: readonly LogEvent[]
  readonly bytes: number
}

/** One run with followers. */
export class Watch {
  readonly wakeUps = new Set<WakeUp>()
  /** The last event that followers have seen. */
  seen: number
  #tail: Piece[] = []
  #bytes = 0

  constructor(seen: number) {
    this.seen = seen
  }

  /** News: events that go on from `seen`, or else from some later point. */
  add(events: readonly LogEvent[], bytes: number): void {
    const [first, last] = [events[0], events.at(-1)]
    if (first === undefined || last === undefined || last.id <= this.seen) return
    if (first.id !== this.seen + 1) this.#forget()
    this.#tail.push({ events, bytes })
    this.#bytes += bytes
    while (this.#bytes > tailBytes && this.#tail.length > 1) this.#bytes -= this.#tail.shift()?.bytes ?? 0
    this.#announce(last.id)
  }

  /** News that are in the store only. */
  skip(last: number): void {
    this.#forget()
    this.#announce(last)
  }

  #forget(): void {
    this.#tail = []
    this.#bytes = 0
  }

  #announce(last: number): void {
    this.seen = last
    for (const wakeUp of this.wakeUps) wakeUp.signal()
  }

  /** The newest events from the one after `after` on, or null when that one is not among them. */
  after(after: number): readonly LogEvent[] | null {
    for (const { events } of this.#tail) {
      const first = events[0]
      if (first === undefined || after + 1 < first.id) return null
      if (after + 1 < first.id + events.length) return events.slice(after + 1 - first.id)
    }
    return null
  }
}
