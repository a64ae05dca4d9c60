import type { JsonValue } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import type { AnswerCache } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { CommitQueue } from "./commit-queue.ts"
import { aboutCache, type LogReader } from "./log-reader.ts"

export class SqliteCache implements AnswerCache {
  readonly #queue: CommitQueue
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(queue: CommitQueue, reader: LogReader, vault: Vault, clock: Clock) {
    this.#queue = queue
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  async get(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    return this.#reader.cached(this.#entry(caller, cache_key, hash), this.#clock.now())
  }

  async put(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> {
    const entry = this.#entry(caller, cache_key, hash)
    await this.#queue.send({
      kind: "cache put",
      expires_at: this.#clock.now() + ttlMs,
      blobs: [entry, this.#slot(caller, cache_key), this.#vault.seal(aboutCache(entry), JSON.stringify(value))],
    })
  }

  purge(caller: string, cache_key: string): Promise<number> {
    return this.#queue.send({ kind: "cache purge", now: this.#clock.now(), blobs: [this.#slot(caller, cache_key)] })
  }

  #entry(caller: string, cache_key: string, hash: string): Uint8Array {
    return this.#vault.digest("cache entry", [caller, cache_key, hash])
  }

  #slot(caller: string, cache_key: string): Uint8Array {
    return this.#vault.digest("cache slot", [caller, cache_key])
  }
}
