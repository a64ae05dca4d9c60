import { parseInOrder } from "../../base/ordered-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { AnswerCache } from "../../ports/store.ts"

interface Entry {
  /** JSON text, because callers may change the value that they put or got. */
  readonly text: string
  readonly expires_at: number
}

/** The cached answers of a `MemoryStore`. */
export class MemoryCache implements AnswerCache {
  readonly #clock: Clock
  /** Caller and cache key → hash → entry. */
  readonly #slots = new Map<string, Map<string, Entry>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    const entry = this.#slots.get(slotOf(caller, cache_key))?.get(hash)
    if (entry === undefined || entry.expires_at <= this.#clock.now()) return undefined
    return parseInOrder(entry.text) as JsonValue
  }

  async put(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> {
    const slot = slotOf(caller, cache_key)
    const entries = this.#slots.get(slot) ?? new Map<string, Entry>()
    entries.set(hash, { text: JSON.stringify(value), expires_at: this.#clock.now() + ttlMs })
    this.#slots.set(slot, entries)
  }

  async purge(caller: string, cache_key: string): Promise<number> {
    const slot = slotOf(caller, cache_key)
    const now = this.#clock.now()
    const live = [...(this.#slots.get(slot)?.values() ?? [])].filter((entry) => entry.expires_at > now)
    this.#slots.delete(slot)
    return live.length
  }

  async forget(caller: string, cache_key: string, hash: string): Promise<void> {
    this.#slots.get(slotOf(caller, cache_key))?.delete(hash)
  }

  sweep(now: number): void {
    for (const [slot, entries] of this.#slots) {
      for (const [hash, entry] of entries) if (entry.expires_at <= now) entries.delete(hash)
      if (entries.size === 0) this.#slots.delete(slot)
    }
  }
}

function slotOf(caller: string, cache_key: string): string {
  return JSON.stringify([caller, cache_key])
}
