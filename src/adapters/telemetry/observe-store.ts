import type { JsonValue } from "../../base/json-value.ts"
import type { LogEvent } from "../../run/events.ts"
import type {
  CreateOutcome,
  ExistingRun,
  Idempotency,
  Lease,
  NewRun,
  RunLookup,
  RunRequest,
  RunStore,
} from "../../ports/store.ts"
import { LeaseLost } from "../../ports/store.ts"

/** Hears what has been stored, after it has been. Must not throw. */
export interface RunObserver {
  appended(run_id: string, events: readonly LogEvent[]): void
  /** The run goes on elsewhere, or later. */
  left?(run_id: string): void
}

/** The same store; what is appended through it is told to the observers. */
export function observeStore(store: RunStore, observers: readonly RunObserver[]): RunStore {
  return new ObservedStore(store, observers)
}

class ObservedStore implements RunStore {
  readonly #store: RunStore
  readonly #observers: readonly RunObserver[]

  constructor(store: RunStore, observers: readonly RunObserver[]) {
    this.#store = store
    this.#observers = observers
  }

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    try {
      await this.#store.append(lease, events)
    } catch (error) {
      if (error instanceof LeaseLost) this.#left(lease.run_id)
      throw error
    }
    for (const observer of this.#observers) observer.appended(lease.run_id, events)
  }

  create(run: NewRun, owner: string, lease_ms: number): Promise<CreateOutcome> {
    return this.#store.create(run, owner, lease_ms)
  }

  existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    return this.#store.existing(caller, idempotency)
  }

  lookup(run_id: string): Promise<RunLookup> {
    return this.#store.lookup(run_id)
  }

  request(run_id: string): Promise<RunRequest> {
    return this.#store.request(run_id)
  }

  read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    return this.#store.read(run_id, after, limit, kept)
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    return this.#store.follow(run_id, after, signal)
  }

  claim(owner: string, limit: number, lease_ms: number): Promise<Lease[]> {
    return this.#store.claim(owner, limit, lease_ms)
  }

  renew(lease: Lease, lease_ms: number): Promise<boolean> {
    return this.#store.renew(lease, lease_ms)
  }

  release(lease: Lease): Promise<void> {
    this.#left(lease.run_id)
    return this.#store.release(lease)
  }

  requestCancel(run_id: string): Promise<boolean> {
    return this.#store.requestCancel(run_id)
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#store.onCancel(run_id, listener)
  }

  cacheGet(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    return this.#store.cacheGet(caller, cache_key, hash)
  }

  cachePut(caller: string, cache_key: string, hash: string, value: JsonValue, ttl_ms: number): Promise<void> {
    return this.#store.cachePut(caller, cache_key, hash, value, ttl_ms)
  }

  cachePurge(caller: string, cache_key: string): Promise<number> {
    return this.#store.cachePurge(caller, cache_key)
  }

  sweep(ended_before: number): Promise<number> {
    return this.#store.sweep(ended_before)
  }

  probe(): Promise<void> {
    return this.#store.probe()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  #left(run_id: string): void {
    for (const observer of this.#observers) observer.left?.(run_id)
  }
}
