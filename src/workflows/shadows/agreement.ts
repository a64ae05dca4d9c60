import { isJsonObject } from "../../base/is-json-object.ts"
import { jsonEqual } from "../../base/json-equal.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/** As many paths are named. */
const mostPaths = 20

/** Where two outputs differ: `output.team`. `on`: paths into them; empty: all of them. */
export function differences(before: JsonObject, after: JsonObject, on: readonly (readonly string[])[]): string[] {
  const paths = on.length === 0 ? [[]] : on
  const found = paths.flatMap((path) => below(at(before, path), at(after, path), ["output", ...path].join(".")))
  return [...new Set(found)].slice(0, mostPaths)
}

function at(value: JsonValue, path: readonly string[]): JsonValue {
  return path.reduce<JsonValue>((found, name) => (isJsonObject(found) ? (found[name] ?? null) : null), value)
}

/** A field that is missing equals one that is null. */
function below(before: JsonValue, after: JsonValue, path: string): string[] {
  if (jsonEqual(before, after)) return []
  if (!isJsonObject(before) || !isJsonObject(after)) return [path]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => below(before[name] ?? null, after[name] ?? null, `${path}.${name}`))
}
