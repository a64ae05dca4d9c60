import { hash } from "node:crypto"
import { jsonOf } from "../base/bounded-json.ts"
import type { JsonValue } from "../base/json-value.ts"
import { joinParts, type StoredRequest, type StoredRequests } from "../log/stored-requests.ts"
import type { RunStore } from "../ports/store.ts"

/** The request of a call with its body; null where it is not kept. */
export interface CallRequest extends Omit<StoredRequest, "isText" | "isJson"> {
  readonly text: string | null
  /** SHA-256 of the text, in hex. */
  readonly sha256: string | null
}

/** Finds the request of a call in the log of a run; null where the log has none. */
export async function readCallRequest(store: RunStore, run_id: string, call_id: string): Promise<CallRequest | null> {
  const parts = new Map<string, JsonValue>()
  for (let after = 0; ;) {
    const events = await store.read(run_id, after, 200, "kept")
    const last = events.at(-1)
    if (last === undefined) return null
    for (const { kept } of events) {
      const batch = requestsIn(kept)
      if (batch === undefined) continue
      for (const [hash, part] of Object.entries(batch.parts ?? {})) parts.set(hash, part)
      const found = batch.requests.find((request) => request.call_id === call_id)
      if (found !== undefined) return whole(found, parts)
    }
    after = last.id
  }
}

/** Where an event keeps requests: a turn with tool calls keeps its own, all other events keep those of their step. */
function requestsIn(kept: JsonValue | undefined): StoredRequests | undefined {
  type WithRequests = {
    readonly requests?: StoredRequests
    readonly answer?: WithRequests
    readonly call?: WithRequests
  }
  const value = kept as unknown as WithRequests | undefined
  return value?.requests ?? value?.answer?.requests ?? value?.call?.answer?.requests
}

function whole(
  { isText, isJson, body, ...request }: StoredRequest,
  parts: ReadonlyMap<string, JsonValue>,
): CallRequest {
  const joined = body === null ? undefined : joinParts(body, parts)
  if (joined === undefined) return { ...request, sha256: null, body: null, text: null }
  const isKeptText = typeof joined === "string" && (isText === true || isJson === true)
  const text = isKeptText ? joined : JSON.stringify(joined)
  // A text that is no JSON is shown as it is.
  const shown = isJson === true ? (jsonOf(text) ?? text) : joined
  return { ...request, body: shown, text, sha256: hash("sha256", text, "hex") }
}
