import type { JsonValue } from "../base/json-value.ts"

/** The keys of `output.items[2].name`; null for a text that is no such path. */
export function keysOf(path: string): readonly string[] | null {
  if (!/^[A-Za-z_][\w-]*(?:\.[^.[\]]+|\[\d+\])*$/.test(path)) return null
  return path.split(/[.[\]]+/).filter((key) => key !== "")
}

/** `[2].name` */
export function pathOf(keys: readonly string[]): string {
  return keys.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join("")
}

/** The value that keys lead to; undefined where there is none. */
export function valueAt(value: JsonValue | undefined, keys: readonly string[]): JsonValue | undefined {
  let found = value
  for (const key of keys) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined
    if (Array.isArray(found) && !/^\d+$/.test(key)) return undefined
    found = (found as Readonly<Record<string, JsonValue>>)[key]
  }
  return found
}

/** How a value reads as a text. */
export function textOfValue(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
