import type { JsonValue } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { AnswerCache } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { cutPart, packFrame, unpackFrame } from "./frame.ts"
import { tokenOf } from "./names.ts"

interface EntryFacts {
  readonly expires_at: number
  /** Where the value is, if it is too large to be here. */
  readonly pieces?: { readonly nonce: string; readonly count: number }
}

/** Cached answers. Dead ones are never given; the broker drops them by age. */
export class NatsCache implements AnswerCache {
  readonly #broker: Broker
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(broker: Broker, vault: Vault, clock: Clock) {
    this.#broker = broker
    this.#vault = vault
    this.#clock = clock
  }

  async get(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    const subject = this.#subject(caller, cache_key, hash)
    const message = await this.#broker.get("cache", subject, "sure")
    if (message === null) return undefined
    const { facts, parts } = unpackFrame<EntryFacts>(subject, message.data)
    if (facts.expires_at <= this.#clock.now()) return undefined
    const sealed = facts.pieces === undefined ? parts[0] : await this.#join(subject, facts.pieces)
    return sealed === undefined ? undefined : (JSON.parse(this.#vault.open(aboutCache(subject), sealed)) as JsonValue)
  }

  async #join(subject: string, { nonce, count }: { nonce: string; count: number }): Promise<Uint8Array | undefined> {
    const pieces = await Promise.all(
      Array.from({ length: count }, (_, index) => this.#broker.get("cache", `${subject}.${nonce}.${index}`, "sure")),
    )
    // Purged, or aged away, while we read it.
    return pieces.includes(null) ? undefined : Buffer.concat(pieces.flatMap((piece) => piece?.data ?? []))
  }

  async put(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> {
    const subject = this.#subject(caller, cache_key, hash)
    const expires_at = this.#clock.now() + ttlMs
    const sealed = this.#vault.seal(aboutCache(subject), JSON.stringify(value))
    const room = Math.min(512 * 1024, this.#broker.maxPayload - 8_192)
    if (sealed.length <= room) {
      await this.#broker.put(subject, packFrame({ expires_at }, [sealed]))
      return
    }
    const nonce = this.#broker.token(9)
    const pieces = cutPart(sealed, room)
    await Promise.all(pieces.map((piece, index) => this.#broker.put(`${subject}.${nonce}.${index}`, piece)))
    await this.#broker.put(subject, packFrame({ expires_at, pieces: { nonce, count: pieces.length } }, []))
  }

  async purge(caller: string, cache_key: string): Promise<number> {
    const slot = this.#slot(caller, cache_key)
    const of = `${this.#broker.names.prefix}.cache.${slot}`
    const subjects = await this.#broker.list("cache", `${of}.*`)
    let live = 0
    for (let at = 0; at < subjects.length; at += 50) {
      const some = subjects.slice(at, at + 50)
      for (const message of await Promise.all(some.map((subject) => this.#broker.get("cache", subject, "sure")))) {
        if (message === null) continue
        const { facts } = unpackFrame<EntryFacts>(message.subject, message.data)
        if (facts.expires_at > this.#clock.now()) live++
      }
    }
    await this.#broker.purge("cache", `${of}.>`)
    return live
  }

  #subject(caller: string, cache_key: string, hash: string): string {
    const entry = tokenOf(this.#vault.digest("cache entry", [caller, cache_key, hash]))
    return this.#broker.names.cache(this.#slot(caller, cache_key), entry)
  }

  #slot(caller: string, cache_key: string): string {
    return tokenOf(this.#vault.digest("cache slot", [caller, cache_key]))
  }
}

/** What a sealed answer is about: changing this makes what is stored unreadable. */
function aboutCache(subject: string): string {
  return `cache ${subject}`
}
