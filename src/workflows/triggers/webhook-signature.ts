import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import type { JsonValue } from "../../base/json-value.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { Verification, WebhookPlan } from "../../plan/plan-triggers.ts"

// How senders sign their deliveries. The header is read before the body; the body is checked as the bytes that came.

/** Shorter ones can be guessed. */
const shortestSecret = 16
/** How far the sender's clock may be from ours. */
const toleranceMs = 5 * 60_000

/** The signatures that a delivery came with: one of them has to be right. */
export interface Signature {
  readonly candidates: readonly Buffer[]
  /** The signed text before the body. */
  readonly before: string
}

/** Null: there is no signature, it is malformed, or it is too old. */
export function readSignature(verify: Verification, headers: IncomingHttpHeaders, now: number): Signature | null {
  const header = (name: string): string => {
    const value = headers[name]
    return typeof value === "string" ? value : ""
  }
  switch (verify.scheme) {
    case "standard": {
      const [id, at] = [header("webhook-id"), header("webhook-timestamp")]
      const candidates = header("webhook-signature")
        .split(" ")
        .flatMap((one) => (one.startsWith("v1,") ? decoded(one.slice(3), "base64", 32) : []))
      return id === "" || !isRecent(at, now) ? null : some(candidates, `${id}.${at}.`)
    }
    case "github":
      return some(afterPrefix(header("x-hub-signature-256"), "sha256=", "hex", 32))
    case "stripe": {
      const parts = header("stripe-signature")
        .split(",")
        .map((part) => part.trim())
      const at = parts.find((part) => part.startsWith("t="))?.slice(2) ?? ""
      const candidates = parts.flatMap((part) => afterPrefix(part, "v1=", "hex", 32))
      return isRecent(at, now) ? some(candidates, `${at}.`) : null
    }
    case "slack": {
      const at = header("x-slack-request-timestamp")
      const candidates = afterPrefix(header("x-slack-signature"), "v0=", "hex", 32)
      return isRecent(at, now) ? some(candidates, `v0:${at}:`) : null
    }
    case "gitlab": {
      const token = header("x-gitlab-token")
      return token === "" ? null : { candidates: [digest(token)], before: "" }
    }
    case "hmac": {
      const { prefix, encoding, algorithm } = verify
      const bytes = algorithm === "sha256" ? 32 : 64
      return some(afterPrefix(header(verify.header.toLowerCase()), prefix, encoding, bytes))
    }
  }
}

/** Whether one of the secrets made one of the signatures, over exactly these bytes. All are compared, in constant time. */
export function isSigned(
  verify: Verification,
  signature: Signature,
  body: Uint8Array,
  secrets: readonly string[],
): boolean {
  let found = false
  for (const secret of secrets) {
    const expected = signatureBy(verify, signature.before, body, secret)
    for (const candidate of signature.candidates) {
      if (candidate.length === expected.length && timingSafeEqual(candidate, expected)) found = true
    }
  }
  return found
}

function signatureBy(verify: Verification, before: string, body: Uint8Array, secret: string): Buffer {
  if (verify.scheme === "gitlab") return digest(secret)
  const key = verify.scheme === "standard" ? Buffer.from(secret.replace(/^whsec_/, ""), "base64") : secret
  const algorithm = verify.scheme === "hmac" ? verify.algorithm : "sha256"
  return createHmac(algorithm, key).update(before).update(body).digest()
}

/** The headers of a delivery that we sign ourselves. */
export function signedHeaders(
  verify: Verification,
  body: Uint8Array,
  secret: string,
  { id, at }: { readonly id: string; readonly at: number },
): Record<string, string> {
  const seconds = String(Math.floor(at / 1000))
  const sign = (before: string): Buffer => signatureBy(verify, before, body, secret)
  switch (verify.scheme) {
    case "standard":
      return {
        "webhook-id": id,
        "webhook-timestamp": seconds,
        "webhook-signature": `v1,${sign(`${id}.${seconds}.`).toString("base64")}`,
      }
    case "github":
      return { "x-hub-signature-256": `sha256=${sign("").toString("hex")}` }
    case "stripe":
      return { "stripe-signature": `t=${seconds},v1=${sign(`${seconds}.`).toString("hex")}` }
    case "slack":
      return {
        "x-slack-request-timestamp": seconds,
        "x-slack-signature": `v0=${sign(`v0:${seconds}:`).toString("hex")}`,
      }
    case "gitlab":
      return { "x-gitlab-token": secret }
    case "hmac":
      return { [verify.header.toLowerCase()]: `${verify.prefix}${sign("").toString(verify.encoding)}` }
  }
}

/** Longer ids of senders are remembered by the body instead. */
const longestId = 255

/** Identifies a delivery: the sender's id, else a digest of the body. */
export function deliveryOf(
  verify: Verification,
  headers: IncomingHttpHeaders,
  body: Uint8Array,
  parsed: JsonValue,
): string {
  const id = idOf(verify, headers, parsed)
  const isUsable = typeof id === "string" && id !== "" && id.length <= longestId
  return isUsable ? id : `sha256:${createHash("sha256").update(body).digest("hex")}`
}

function idOf({ scheme }: Verification, headers: IncomingHttpHeaders, parsed: JsonValue): unknown {
  switch (scheme) {
    case "standard":
      return headers["webhook-id"]
    case "stripe":
      return isJsonObject(parsed) ? parsed["id"] : undefined
    case "slack":
      return isJsonObject(parsed) ? parsed["event_id"] : undefined
    case "gitlab":
      return headers["idempotency-key"]
    case "github":
    case "hmac":
      return undefined
  }
}

/** The secrets of a webhook that deliveries may be signed with. */
export function usableSecrets({ secrets, verify }: WebhookPlan, own: Readonly<Record<string, JsonValue>>): string[] {
  return secrets.flatMap((name) => {
    const value = Object.hasOwn(own, name) ? own[name] : undefined
    return typeof value === "string" && whyUnusable(value, verify) === null ? [value] : []
  })
}

/** Why a secret is not taken, as the end of a sentence; null for one that is. */
export function whyUnusable(value: JsonValue | undefined, { scheme }: Verification): string | null {
  if (value === undefined) return "is missing"
  if (typeof value !== "string") return "is not a string"
  if (value.length < shortestSecret) return `has fewer than ${shortestSecret} characters`
  if (scheme !== "standard") return null
  return Buffer.from(value.replace(/^whsec_/, ""), "base64").length < 12 ? "is not `whsec_` and Base64" : null
}

function some(candidates: readonly Buffer[], before = ""): Signature | null {
  return candidates.length === 0 ? null : { candidates, before }
}

function afterPrefix(text: string, prefix: string, encoding: "hex" | "base64", bytes: number): Buffer[] {
  return text.startsWith(prefix) ? decoded(text.slice(prefix.length), encoding, bytes) : []
}

function decoded(text: string, encoding: "hex" | "base64", bytes: number): Buffer[] {
  const form = encoding === "hex" ? /^[0-9a-fA-F]+$/ : /^[A-Za-z0-9+/]+={0,2}$/
  if (text.length > 4 * bytes || !form.test(text)) return []
  const found = Buffer.from(text, encoding)
  return found.length === bytes ? [found] : []
}

function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now - Number(seconds) * 1000) <= toleranceMs
}

/** A digest, so that texts of any length compare in equal time. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest()
}
