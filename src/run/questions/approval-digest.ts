import { hash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/** All that an approval allows: this call and no other. */
export interface ApprovedCall {
  readonly run_id: string
  readonly call_id: string
  /** Secrets by their names. */
  readonly endpoint: string
  /** The tool's name on its server. */
  readonly remote: string
  /** The tool as its server publishes it, as for `pin`; null for one that it no longer publishes. */
  readonly definition: JsonObject | null
  /** As they are sent, secrets by their names. */
  readonly arguments: JsonObject
}

export function approvalDigest({
  run_id,
  call_id,
  endpoint,
  remote,
  definition,
  arguments: sent,
}: ApprovedCall): string {
  return digestOf([run_id, call_id, endpoint, remote, definition, sent])
}

/** The same for a call of a workflow. */
export interface ApprovedWorkflowCall {
  readonly run_id: string
  readonly call_id: string
  readonly file: string
  /** Of all files that it needs. */
  readonly version: string
  readonly input: JsonObject
}

export function workflowDigest({ run_id, call_id, file, version, input }: ApprovedWorkflowCall): string {
  return digestOf([run_id, call_id, file, version, input])
}

function digestOf(allowed: JsonValue): string {
  return `sha256:${hash("sha256", canonicalJson(allowed))}`
}
