import { Buffer } from "node:buffer"
import type { JsonObject } from "../base/json-value.ts"
import type { ErrorIssue } from "../log/events.ts"
import { secretTexts } from "./secret-texts.ts"
import { requestAllSecretsBytes, requestSecretBytes, requestSecrets } from "../base/limits.ts"

/** Which limits a request's secrets exceed, one issue for each. Never names a value. */
export function secretsOverLimits(secrets: JsonObject): ErrorIssue[] {
  const found = secretTexts(secrets)
  const issues: ErrorIssue[] = []
  if (found.length > requestSecrets) {
    const message = `secrets holds ${found.length} values; at most ${requestSecrets} are allowed`
    issues.push({ path: "secrets", message })
  }
  let all = 0
  for (const { name, text } of found) {
    const bytes = Buffer.byteLength(text, "utf8")
    all += bytes
    if (bytes <= requestSecretBytes || issues.length >= 20) continue
    const path = `secrets.${name}`
    issues.push({ path, message: `${path} has ${bytes} bytes; at most ${requestSecretBytes} are allowed` })
  }
  if (all > requestAllSecretsBytes && issues.length === 0) {
    const message = `secrets hold ${all} bytes in all; at most ${requestAllSecretsBytes} are allowed`
    issues.push({ path: "secrets", message })
  }
  return issues
}
