import { hash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/** What the author has people asked and shown besides the call. */
interface Words {
  readonly words: { readonly question?: string; readonly show?: JsonValue }
}

/** All that an approval allows: this call and no other. */
export interface ApprovedCall extends Words {
  readonly run_id: string
  readonly call_id: string
  /** Secrets by their names. */
  readonly endpoint: string
  /** The tool's name on its server. */
  readonly remote: string
  /** The tool as its server publishes it, as for `pin`; null for one that it no longer publishes. */
  readonly definition: JsonObject | null
  /** Arguments as they are sent, with the names of secrets in place of their values. */
  readonly arguments: JsonObject
}

export function approvalDigest({
  run_id,
  call_id,
  endpoint,
  remote,
  definition,
  arguments: sent,
  words,
}: ApprovedCall): string {
  return digestOf([run_id, call_id, endpoint, remote, definition, sent], words)
}

/** The same for a call of a workflow. */
export interface ApprovedWorkflowCall extends Words {
  readonly run_id: string
  readonly call_id: string
  readonly file: string
  /** Version over all files that it needs. */
  readonly version: string
  readonly input: JsonObject
}

export function workflowDigest({ run_id, call_id, file, version, input, words }: ApprovedWorkflowCall): string {
  return digestOf([run_id, call_id, file, version, input], words)
}

function digestOf(allowed: JsonValue[], words: Words["words"]): string {
  const all = Object.keys(words).length === 0 ? allowed : [...allowed, { ...words }]
  return `sha256:${hash("sha256", canonicalJson(all))}`
}
