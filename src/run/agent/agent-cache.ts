import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Message } from "../../log/messages.ts"
import { readMessages, storeMessages, type StoredMessages } from "../../log/stored-messages.ts"
import { pass } from "../../ports/gate.ts"
import { runInBackground, whileBusy, type RunContext } from "../context/run-context.ts"

export interface CachedAgent {
  readonly output: JsonObject
  readonly history: readonly Message[]
}

export function cacheInUse(running: RunContext): boolean {
  return running.options.cache_key !== null && running.options.use_cache
}

/** A cache that fails costs a model call, never the run. */
export async function cachedAgent(running: RunContext, hash: string): Promise<CachedAgent | null> {
  const { caller, options, ports } = running
  if (options.cache_key === null) return null
  try {
    const found = await whileBusy(running, ports.store.cache.get(caller, options.cache_key, hash))
    return found === undefined ? null : readEntry(found)
  } catch {
    running.log.add("cache_degraded", { operation: "get" })
    return null
  }
}

export function cacheAgent(running: RunContext, hash: string, agent: CachedAgent): void {
  const { caller, options, ports, limits } = running
  const { cache_key } = options
  if (cache_key === null) return
  const entry = { output: agent.output, history: storeMessages(agent.history) } as object as JsonObject
  runInBackground(
    running,
    (async () => {
      try {
        // Drops an answer that arrives after another process has taken the run.
        await pass(running.gate)
      } catch {
        return
      }
      try {
        await ports.store.cache.put(caller, cache_key, hash, entry, limits.cacheTtlMs)
      } catch {
        running.log.add("cache_degraded", { operation: "put" })
      }
    })(),
  )
}

function readEntry(entry: JsonValue): CachedAgent | null {
  if (!isJsonObject(entry)) return null
  const { output, history } = entry
  if (!isJsonObject(output) || !isJsonObject(history)) return null
  return { output, history: readMessages(history as object as StoredMessages) }
}
