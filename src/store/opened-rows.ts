import type { LogEvent } from "../log/events.ts"

/** Bytes as stored. Opened, they take a few times as much. */
const keptBytes = 4 * 1024 * 1024

/**
 * Rows of logs that were opened last. Many who follow one run read the same rows at about the same time: one of them
 * decrypts and parses, all have the same events in hand. The newest is kept whatever its size: else a large row would be opened
 * again for each of hundreds of readers.
 */
export class OpenedRows {
  readonly #rows = new Map<string, { readonly events: readonly LogEvent[]; readonly bytes: number }>()
  #bytes = 0

  get(key: string): readonly LogEvent[] | undefined {
    return this.#rows.get(key)?.events
  }

  keep(key: string, events: readonly LogEvent[], bytes: number): void {
    if (this.#rows.has(key)) return
    this.#rows.set(key, { events, bytes })
    this.#bytes += bytes
    for (const [oldest, row] of this.#rows) {
      if (this.#bytes <= keptBytes || oldest === key) break
      this.#rows.delete(oldest)
      this.#bytes -= row.bytes
    }
  }
}
