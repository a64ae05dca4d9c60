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

/** Characters of a piece, about. */
const perPiece = 16 * 1024

/** An array, or an object with its keys in order, of which some parts are written. */
interface Open {
  readonly value: Readonly<Record<string | number, unknown>>
  readonly keys: readonly string[] | null
  readonly length: number
  next: number
}

/** The same text, piece by piece: the caller can do other work between two pieces of a large value. */
export function* canonicalPieces(value: unknown): Generator<string, void, undefined> {
  const around: Open[] = []
  let text = ""
  let entry = value
  for (;;) {
    let inner = open(entry)
    if (inner === null) text += canonicalJson(entry)
    else text += inner.keys === null ? "[" : "{"
    // Closes what is complete, up to the first value that has a part still to be written.
    for (inner ??= around.pop() ?? null; inner !== null && inner.next >= inner.length; inner = around.pop() ?? null)
      text += inner.keys === null ? "]" : "}"
    if (inner === null) break
    if (inner.next > 0) text += ","
    const at = inner.next++
    const key = inner.keys?.[at]
    if (key !== undefined) text += `${JSON.stringify(key)}:`
    entry = inner.value[key ?? at]
    around.push(inner)
    if (text.length < perPiece) continue
    yield text
    text = ""
  }
  yield text
}

function open(value: unknown): Open | null {
  if (typeof value !== "object" || value === null || value instanceof CanonicalText) return null
  const parts = value as Readonly<Record<string | number, unknown>>
  if (Array.isArray(value)) return { value: parts, keys: null, length: value.length, next: 0 }
  const keys = sortedKeys(parts).filter((key) => parts[key] !== undefined)
  return { value: parts, keys, length: keys.length, next: 0 }
}
