import { createHmac } from "node:crypto"

/** What a signed message carries beside its body, as Standard Webhooks says. */
interface WebhookHeaders {
  readonly "webhook-id": string
  readonly "webhook-timestamp": string
  readonly "webhook-signature": string
}

/** Signs with every secret: while a secret is replaced, receivers know either the old or the new one. */
export function signWebhook(secrets: readonly Uint8Array[], id: string, seconds: number, body: string): WebhookHeaders {
  const signed = `${id}.${seconds}.${body}`
  const signatures = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  }
}
