import { createHash } from "node:crypto"
import type { FastifyRequest } from "fastify"
import { canonicalPieces } from "../base/canonical-json.ts"
import { requestIdempotencyKeyLength } from "../base/limits.ts"
import { stepsInTurns } from "../event-loop/in-turns.ts"
import type { ExistingRun, RunRequest } from "../ports/store.ts"
import { callerOf } from "./caller-of.ts"
import { refuse, type HttpError } from "./http-error.ts"
import type { RouteDependencies } from "./route-dependencies.ts"

export function idempotencyKey(request: FastifyRequest): string | undefined {
  const key = request.headers["idempotency-key"]
  if (key === undefined) return undefined
  if (typeof key !== "string" || key.length < 1 || key.length > requestIdempotencyKeyLength) {
    throw refuse("invalid_request", `An Idempotency-Key has 1 to ${requestIdempotencyKeyLength} characters`)
  }
  return key
}

/**
 * A digest that is equal for equal requests: everything but the secrets counts, whatever the order of keys. Headers do not count. A
 * workflow of the server's folder counts by its name: its file may have changed since. A turn of a chat counts with all that its
 * answer repeats.
 */
export async function fingerprint({
  source,
  file,
  modules,
  input,
  options,
  workflow,
  asked_version,
  rerun,
  chat,
}: RunRequest): Promise<string> {
  // Nothing is added for a source that stands alone: the fingerprints of such requests stay what they were.
  const files = file === undefined && modules === undefined ? [] : [{ file: file ?? null, modules: { ...modules } }]
  const version = asked_version === true ? { version: workflow?.version ?? "" } : {}
  const answered = chat === undefined ? {} : { chat: { ...chat } }
  const named = { workflow: workflow?.name ?? "", input, options, ...version, ...answered }
  const own = workflow === undefined ? [source, input, options, ...files] : named
  const hash = createHash("sha256")
  await stepsInTurns(canonicalPieces(rerun === undefined ? own : { rerun, own }), (piece) => hash.update(piece))
  return hash.digest("base64url")
}

export function keyTaken(): HttpError {
  return refuse("conflict", "This Idempotency-Key was used with another body: send a new key, or the same body")
}

/** Refuses a request that starts no run, and whose Idempotency-Key has one. True where it has a key that is free. */
export async function hasFreeKey(parts: RouteDependencies, request: FastifyRequest): Promise<boolean> {
  const key = idempotencyKey(request)
  if (key === undefined) return false
  // No request that starts a run has this fingerprint.
  if ((await parts.store.existing(callerOf(request), { key, fingerprint: "" })) !== null) throw keyTaken()
  return true
}

/** The run that the request's Idempotency-Key already has; null without such a key or run. */
export async function findExisting(
  parts: RouteDependencies,
  request: FastifyRequest,
  run: RunRequest,
): Promise<ExistingRun | null> {
  const key = idempotencyKey(request)
  return key === undefined
    ? null
    : parts.store.existing(callerOf(request), { key, fingerprint: await fingerprint(run) })
}
