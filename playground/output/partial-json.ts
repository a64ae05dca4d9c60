import type { JsonValue } from "../../src/base/json-value.ts"

/** Deeper values are left out: an answer that is still being written is for reading, not for use. */
const deepest = 50

/**
 * The value that a JSON text is about to be, as far as it has come: `{"a": "he` is `{ a: "he" }`. Undefined where nothing
 * can be said yet, or where the text is not JSON.
 */
export function partialJson(text: string): JsonValue | undefined {
  let at = 0
  const skipBlanks = (): void => {
    while (/\s/.test(text[at] ?? "")) at++
  }

  const readString = (): { readonly value: string; readonly isWhole: boolean } => {
    const start = ++at
    for (; at < text.length; at++) {
      if (text[at] === "\\") at++
      else if (text[at] === '"') {
        const raw = text.slice(start, at++)
        return { value: unescape(raw), isWhole: true }
      }
    }
    // An escape that is cut off is left out until it is whole.
    const raw = text.slice(start).replace(/(^|[^\\])((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1$2")
    return { value: unescape(raw), isWhole: false }
  }

  const readValue = (depth: number): JsonValue | undefined => {
    skipBlanks()
    const first = text[at]
    if (first === undefined || depth > deepest) return undefined
    if (first === '"') return readString().value
    if (first === "{") return readObject(depth)
    if (first === "[") return readArray(depth)
    const [word = ""] = /^[-+.\w]+/.exec(text.slice(at, at + 40)) ?? []
    at += Math.max(1, word.length)
    if (word === "true" || word === "false") return word === "true"
    if (word === "null") return null
    return /^-?\d/.test(word) && Number.isFinite(Number(word)) ? Number(word) : undefined
  }

  const readObject = (depth: number): JsonValue => {
    const entries: [string, JsonValue][] = []
    for (at++; at < text.length;) {
      skipBlanks()
      if (text[at] === "}") {
        at++
        break
      }
      if (text[at] !== '"') {
        at++
        continue
      }
      const { value: key, isWhole } = readString()
      skipBlanks()
      if (!isWhole || text[at] !== ":") break
      at++
      const value = readValue(depth + 1)
      if (value === undefined) break
      entries.push([key, value])
    }
    return Object.fromEntries(entries)
  }

  const readArray = (depth: number): JsonValue => {
    const items: JsonValue[] = []
    for (at++; at < text.length;) {
      skipBlanks()
      if (text[at] === "]") {
        at++
        break
      }
      if (text[at] === ",") {
        at++
        continue
      }
      const value = readValue(depth + 1)
      if (value === undefined) break
      items.push(value)
    }
    return items
  }

  // Some models put their JSON between fences.
  const opening = /^\s*(?:```\w*\s*)?(?=[{[])/.exec(text)
  if (opening === null) return undefined
  at = opening[0].length
  return readValue(0)
}

function unescape(raw: string): string {
  if (!raw.includes("\\")) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}
