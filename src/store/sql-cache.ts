import type { JsonValue } from "../base/json-value.ts"
import type { Clock } from "../ports/clock.ts"
import type { AnswerCache } from "../ports/store.ts"
import type { Vault } from "../ports/vault.ts"
import type { LogReader } from "./log-reader.ts"
import { aboutCache } from "./sealed-events.ts"
import type { SqlMedium } from "./sql-medium.ts"

export class SqlCache implements AnswerCache {
  readonly #medium: SqlMedium
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, reader: LogReader, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  async get(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    return this.#medium.read(this.#reader.cached(this.#entry(caller, cache_key, hash), this.#clock.now()))
  }

  async put(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> {
    const entry = this.#entry(caller, cache_key, hash)
    await this.#medium.send({
      kind: "cache put",
      expires_at: this.#clock.now() + ttlMs,
      blobs: [entry, this.#slot(caller, cache_key), this.#vault.seal(aboutCache(entry), JSON.stringify(value))],
    })
  }

  purge(caller: string, cache_key: string): Promise<number> {
    return this.#medium.send({ kind: "cache purge", now: this.#clock.now(), blobs: [this.#slot(caller, cache_key)] })
  }

  async forget(caller: string, cache_key: string, hash: string): Promise<void> {
    await this.#medium.send({ kind: "cache forget", blobs: [this.#entry(caller, cache_key, hash)] })
  }

  #entry(caller: string, cache_key: string, hash: string): Uint8Array {
    return this.#vault.digest("cache entry", [caller, cache_key, hash])
  }

  #slot(caller: string, cache_key: string): Uint8Array {
    return this.#vault.digest("cache slot", [caller, cache_key])
  }
}
