import type { JsonObject, JsonValue } from "./json-value.ts"

// JavaScript puts keys that look like integers before all others, in the order of numbers. The values of runs keep the order in
// which their keys were written: an object whose keys JavaScript would reorder is a proxy that lists them in their own order. It
// reads, copies as JSON and compares as any other object does. Only `{ ...object }` and `Object.fromEntries` lose the order.

/** Integers up to this are the keys that JavaScript reorders. */
const maxIndex = 2 ** 32 - 2

function indexOf(key: string): number {
  const first = key.charCodeAt(0)
  if (!(first >= 0x30 && first <= 0x39) || key.length > 10) return -1
  const index = Number(key)
  return index <= maxIndex && String(index) === key ? index : -1
}

/** Makes an object whose keys stay in the order in which they were first set. */
export class ObjectInOrder {
  readonly #fields: JsonObject = {}
  /** The keys, once JavaScript would list them in another order. */
  #keys: string[] | null = null
  #lastIndex = -1
  #hasName = false

  set(key: string, value: JsonValue): void {
    const fields = this.#fields
    const index = indexOf(key)
    if (this.#keys !== null) {
      if (!Object.hasOwn(fields, key)) this.#keys.push(key)
    } else if (index < 0) this.#hasName = true
    else if ((this.#hasName || index < this.#lastIndex) && !Object.hasOwn(fields, key)) {
      this.#keys = [...Object.keys(fields), key]
    } else if (index > this.#lastIndex) this.#lastIndex = index
    setOwn(fields, key, value)
  }

  /** The whole object: nothing is set after this. */
  get object(): JsonObject {
    return this.#keys === null ? this.#fields : inOrder(this.#fields, this.#keys)
  }
}

/** The object with its keys in this order, which has all of them. */
function inOrder(fields: JsonObject, keys: string[]): JsonObject {
  return new Proxy(fields, {
    ownKeys: () => keys,
    defineProperty: (target, key, property) => {
      if (typeof key === "string" && !Object.hasOwn(target, key)) keys.push(key)
      return Reflect.defineProperty(target, key, property)
    },
    deleteProperty: (target, key) => {
      if (typeof key === "string" && Object.hasOwn(target, key)) keys.splice(keys.indexOf(key), 1)
      return Reflect.deleteProperty(target, key)
    },
  })
}

/** Also right for a field called `__proto__`. */
export function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

/** `Object.fromEntries` that keeps the order. */
export function objectOf(entries: Iterable<readonly [string, JsonValue]>): JsonObject {
  const made = new ObjectInOrder()
  for (const [key, value] of entries) made.set(key, value)
  return made.object
}

/** A key of digits, which may be written as escapes. The quote that begins a string never follows a backslash. */
const digitKey = /(?<!\\)"(?=(?:[0-9]|\\u003[0-9])+"[ \t\r\n]*:)/

/**
 * `JSON.parse` that keeps the order of keys. A text with keys of digits is read with a mark before each of them, which makes them
 * names; the marks are taken off again.
 */
export function parseInOrder(text: string): unknown {
  if (!digitKey.test(text)) return JSON.parse(text)
  const mark = unusedCharacter(text)
  const holder: JsonObject = { value: parseMarked(text, mark) }
  // A stack of its own: values may be nested more deeply than calls.
  const open: [JsonObject | JsonValue[], string | number][] = [[holder, "value"]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [parent, at] = next as [JsonObject, string]
    let value = parent[at] ?? null
    if (typeof value !== "object" || value === null) continue
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        if (typeof item === "object" && item !== null) open.push([value, index])
      }
      continue
    }
    const keys = Object.keys(value)
    if (keys.some((key) => key.startsWith(mark))) {
      value = objectOf(
        keys.map((key) => [key.startsWith(mark) ? key.slice(1) : key, (value as JsonObject)[key] ?? null]),
      )
      parent[at] = value
    }
    for (const key of Object.keys(value)) {
      const item = value[key]
      if (typeof item === "object" && item !== null) open.push([value, key])
    }
  }
  return holder["value"]
}

function parseMarked(text: string, mark: string): JsonValue {
  try {
    return JSON.parse(text.replace(new RegExp(digitKey, "g"), `"${mark}`)) as JsonValue
  } catch {
    // The message tells of the text as it is.
    return JSON.parse(text) as JsonValue
  }
}

/** A character that the text has neither as it is nor as an escape. */
function unusedCharacter(text: string): string {
  const escapes = /\\u/.test(text) ? text.toLowerCase() : ""
  for (let code = 0xe000; ; code++) {
    const one = String.fromCharCode(code)
    if (!text.includes(one) && !escapes.includes(`\\u${code.toString(16)}`)) return one
  }
}
