/** A value's canonical text, made before: for a part of other values that is the same each time. */
export class CanonicalText {
  readonly text: string

  constructor(value: unknown) {
    this.text = canonicalJson(value)
  }
}

/** JSON text with sorted keys: the same for the same value, in whatever order its keys were written. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null"
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (value instanceof CanonicalText) return value.text
  // One text that grows: every step of a run hashes all that it depends on, and lists of parts cost twice as much.
  let text = ""
  if (Array.isArray(value)) {
    for (const item of value) text += text === "" ? canonicalJson(item) : `,${canonicalJson(item)}`
    return `[${text}]`
  }
  const fields = value as Readonly<Record<string, unknown>>
  for (const key of sortedKeys(fields)) {
    const entry = fields[key]
    if (entry !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(entry)}`
  }
  return `{${text}}`
}

/** Many are written in that order already, and to look costs less than to sort. */
function sortedKeys(fields: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(fields)
  for (let at = 1; at < keys.length; at++) {
    if ((keys[at - 1] ?? "") > (keys[at] ?? "")) return keys.sort()
  }
  return keys
}
