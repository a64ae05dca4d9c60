import type { JsonObject, JsonValue } from "../base/json-value.ts"

/** A value of a request's secrets that is worth hiding: text that is not empty, or a number. */
export interface SecretText {
  /** `key`, `db.password`, `tokens.0` */
  readonly name: string
  readonly text: string
  readonly numeric: boolean
}

export function secretTexts(secrets: JsonObject): SecretText[] {
  const found: SecretText[] = []
  for (const name in secrets) collect(name, secrets[name] ?? null, found)
  return found
}

function collect(name: string, value: JsonValue, into: SecretText[]): void {
  if (typeof value === "string") {
    if (value !== "") into.push({ name, text: value, numeric: false })
  } else if (typeof value === "number") into.push({ name, text: String(value), numeric: true })
  else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) collect(`${name}.${key}`, item, into)
  }
}
