import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/** Merges in depth; what is in both is taken from `from`. */
export function mergeOptions(into: JsonObject, from: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(into))
  for (const [key, value] of Object.entries(from)) {
    const before = merged.get(key)
    merged.set(key, isJsonObject(before) && isJsonObject(value) ? mergeOptions(before, value) : value)
  }
  return Object.fromEntries(merged)
}

/** The names of all options that are set, those within objects too: `seed`, `reasoning`, `reasoning.effort`. */
export function optionNames(options: JsonObject): string[] {
  return Object.entries(options).flatMap(([key, value]) => {
    return isJsonObject(value) ? [key, ...Object.keys(value).map((inner) => `${key}.${inner}`)] : [key]
  })
}

/** The value of an option by its name. A field of `extra` may itself have a dot in its name. */
export function optionValue(options: JsonObject, name: string): JsonValue | undefined {
  if (Object.hasOwn(options, name)) return options[name]
  const dot = name.indexOf(".")
  const holder = dot < 0 ? undefined : options[name.slice(0, dot)]
  const inner = name.slice(dot + 1)
  return isJsonObject(holder) && Object.hasOwn(holder, inner) ? holder[inner] : undefined
}

/** How an option is remembered that is refused with one value only. */
export function optionWithValue(name: string, value: JsonValue | undefined): string {
  return `${name}=${JSON.stringify(value)}`
}

const besideWord = " beside "

/** How an option is remembered that is not taken together with another one. */
export function optionBeside(name: string, other: string): string {
  return `${name}${besideWord}${other}`
}

/** The options without those that the backend does not take: by name, by name and value, or beside another one. */
export function withoutOptions(options: JsonObject, dropped: ReadonlySet<string>): JsonObject {
  if (dropped.size === 0) return options
  const besides = [...dropped].flatMap((field) => {
    const [name = "", other] = field.split(besideWord)
    return other !== undefined && optionValue(options, other) !== undefined ? name : []
  })
  const isDropped = (name: string, value: JsonValue): boolean =>
    dropped.has(name) || dropped.has(optionWithValue(name, value)) || besides.includes(name)
  const left = new Map<string, JsonValue>()
  for (const [key, value] of Object.entries(options)) {
    if (isDropped(key, value)) continue
    if (!isJsonObject(value)) {
      left.set(key, value)
      continue
    }
    const inner = Object.entries(value).filter(([name, item]) => !isDropped(`${key}.${name}`, item))
    if (inner.length === Object.keys(value).length) left.set(key, value)
    else if (inner.length > 0) left.set(key, Object.fromEntries(inner))
  }
  return Object.fromEntries(left)
}
