import type { JsonValue } from "../base/json-value.ts"

// A large value on its way from one thread to the other. To read it at once would take longer than the event loop may stand
// still, so it comes in pieces of bounded size that are read one by one.

type Key = string | number

/** Entries of an array or object, which an earlier piece has made; `empty` makes one. */
interface Piece {
  readonly path: readonly Key[]
  readonly empty?: "array" | "object"
  readonly entries?: readonly (readonly [Key, JsonValue])[]
}

/** Characters of JSON of a piece, about. */
const perPiece = 64 * 1024

/** The value as JSON texts. */
export function toPieces(value: JsonValue): string[] {
  const heavy = new Set<JsonValue>()
  weigh(value, heavy)
  const pieces: string[] = []
  const add = (piece: Piece): number => pieces.push(JSON.stringify(piece))
  const send = (whole: JsonValue, path: readonly Key[]): void => {
    if (typeof whole !== "object" || whole === null) return
    add({ path, empty: Array.isArray(whole) ? "array" : "object" })
    let entries: [Key, JsonValue][] = []
    let weight = 0
    for (const [key, part] of Object.entries(whole)) {
      if (heavy.has(part)) {
        send(part, [...path, key])
        continue
      }
      entries.push([key, part])
      weight += key.length + weigh(part, heavy)
      if (weight < perPiece) continue
      add({ path, entries })
      entries = []
      weight = 0
    }
    add({ path, entries })
  }
  send([value], [])
  return pieces
}

/** Yields after each piece, and returns the value. */
export function* fromPieces(pieces: readonly string[]): Generator<void, JsonValue, undefined> {
  const root: { value: JsonValue } = { value: null }
  for (const text of pieces) {
    const { path, empty, entries = [] } = JSON.parse(text) as Piece
    if (empty !== undefined) setAt(root, path, empty === "array" ? [] : {})
    else {
      const target = at(root, path)
      for (const [key, value] of entries) set(target, key, value)
    }
    yield
  }
  return Array.isArray(root.value) ? (root.value[0] ?? null) : null
}

/** About how long the value is as JSON. Arrays and objects that are too long for one piece are remembered. */
function weigh(value: JsonValue, heavy: Set<JsonValue>): number {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 8
  let weight = 2
  if (Array.isArray(value)) for (const item of value) weight += 1 + weigh(item, heavy)
  else for (const key in value) weight += key.length + 4 + weigh(value[key] ?? null, heavy)
  if (weight > perPiece) heavy.add(value)
  return weight
}

function setAt(root: { value: JsonValue }, path: readonly Key[], value: JsonValue): void {
  const last = path.at(-1)
  if (last === undefined) root.value = value
  else set(at(root, path.slice(0, -1)), last, value)
}

function at(root: { value: JsonValue }, path: readonly Key[]): object {
  let found: unknown = root.value
  for (const key of path) found = (found as Record<Key, unknown>)[key]
  return found as object
}

/** Also right for a name such as `__proto__`. */
function set(target: object, key: Key, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}
