import { createHash, createHmac } from "node:crypto"
import type { JsonObject } from "../../base/json-value.ts"
import { isOpenAi } from "../../ports/openai-endpoint.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { leastCachedTokens, stableTexts, stableTokens } from "../../ports/stable-size.ts"
import type { SentBeginnings } from "../model-turn/sent-beginnings.ts"

/** The option under which Anthropic's writer finds how it marks what is to be kept: a backend may refuse it as any other. */
export const markOption = "cache_control"

/** What a request says about the backend's cache of prompts, as options. */
export function cacheOptions(request: ModelRequest, beginnings: SentBeginnings): JsonObject {
  const { cache, backend } = request
  if (cache === undefined || cache.mode === "none" || (cache.holdsPrivate && !cache.isWritten)) return {}
  if (backend.api === "anthropic") return anthropicMark(request, cache, beginnings)
  if (backend.api === "google" || !(isOpenAi(backend.endpoint) || cache.isWritten)) return {}
  return {
    prompt_cache_key: cacheKey(request, cache),
    ...(cache.mode === "1h" && { prompt_cache_options: { ttl: "12h" } }),
  }
}

type Cache = NonNullable<ModelRequest["cache"]>

/** A write costs more than it saves where nobody reads it. */
function anthropicMark(request: ModelRequest, cache: Cache, beginnings: SentBeginnings): JsonObject {
  // Who sets it in `extra` places marks by that.
  if (request.inference.extra?.[markOption] !== undefined) return {}
  if (cache.mode === "1h") return { [markOption]: { type: "ephemeral", ttl: "1h" } }
  if (stableTokens(request, cache.stable) < leastCachedTokens) return {}
  const wasSent = beginnings.send(beginningOf(request, cache))
  const isRead = cache.isLooped || request.turn > 1 || wasSent
  return isRead ? { [markOption]: { type: "ephemeral" } } : {}
}

/** Names a beginning, and where it is sent as whom. */
function beginningOf(request: ModelRequest, { stable }: Cache): string {
  const { endpoint, api_key, headers } = request.backend
  const digest = createHash("sha256").update(JSON.stringify([endpoint, api_key, headers, request.model]))
  for (const text of stableTexts(request, stable)) digest.update(`\n${text.length}\n${text}`)
  return digest.digest("base64url")
}

/** Whoever has the key of the backend alone can tell what it is made of; it is the same in all processes. */
function cacheKey(request: ModelRequest, { stable }: Cache): string {
  const { api_key, headers } = request.backend
  const digest = createHmac("sha256", JSON.stringify([api_key, headers]))
  digest.update(JSON.stringify([request.caller, request.model]))
  for (const text of stableTexts(request, stable)) digest.update(`\n${text.length}\n${text}`)
  return digest.digest("base64url")
}
