import { Buffer } from "node:buffer"
import type { JsonObject } from "../base/json-value.ts"
import type { ErrorIssue } from "../log/events.ts"
import { secretTexts } from "./secret-texts.ts"

// Whatever enters a run is searched for all of its secrets: these bound the memory that the search takes (10 MB or so).
const mostSecrets = 256
const longestSecretBytes = 16 * 1024
const allSecretsBytes = 64 * 1024

/** Which limits a request's secrets exceed, one issue for each. Never names a value. */
export function secretsOverLimits(secrets: JsonObject): ErrorIssue[] {
  const found = secretTexts(secrets)
  const issues: ErrorIssue[] = []
  if (found.length > mostSecrets) {
    const message = `secrets holds ${found.length} values; at most ${mostSecrets} are allowed`
    issues.push({ path: "secrets", message })
  }
  let all = 0
  for (const { name, text } of found) {
    const bytes = Buffer.byteLength(text, "utf8")
    all += bytes
    if (bytes <= longestSecretBytes || issues.length >= 20) continue
    const path = `secrets.${name}`
    issues.push({ path, message: `${path} has ${bytes} bytes; at most ${longestSecretBytes} are allowed` })
  }
  if (all > allSecretsBytes && issues.length === 0) {
    const message = `secrets hold ${all} bytes in all; at most ${allSecretsBytes} are allowed`
    issues.push({ path: "secrets", message })
  }
  return issues
}
