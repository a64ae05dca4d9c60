import type { JsonObject, JsonValue } from "../base/json-value.ts"

/**
 * A part of a plan without what changes nothing: how expressions are written, and the names of functions and of the variables of loops
 * and lists.
 */
export function withoutTexts(value: JsonValue): JsonValue {
  return plain(value, noVariables)
}

/** By kind and name of a variable: the name that it has in every plan. */
type Variables = ReadonlyMap<string, string>

const noVariables: Variables = new Map()

function plain(value: JsonValue, variables: Variables): JsonValue {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item) => plain(item, variables))
  const isNode = "op" in value || "condition" in value
  const isOwnFunction = value["op"] === "own-function"
  const loop = value["loop"]
  const isLoop = isObject(loop) && isObject(loop["pattern"])
  const inside = isLoop ? withLoop(loop, variables) : variables
  const entries = Object.entries(value).flatMap(([key, item]): [string, JsonValue][] => {
    if ((isNode && (key === "text" || key === "site")) || (isOwnFunction && key === "name")) return []
    if (isLoop && key === "loop") return [[key, plainLoop(loop, variables)]]
    if (key === "root" && isObject(item)) return [[key, plainRoot(item, inside)]]
    return [[key, plain(item, inside)]]
  })
  return Object.fromEntries(entries)
}

function plainRoot(root: JsonObject, variables: Variables): JsonObject {
  const { kind, name } = root
  const plainName =
    typeof name === "string" && (kind === "variable" || kind === "item") ? variables.get(name) : undefined
  return plainName === undefined ? root : { ...root, name: plainName }
}

/** The list that a loop goes over stands outside of it. */
function plainLoop(loop: JsonObject, variables: Variables): JsonObject {
  const { items = null, index, pattern = null } = loop
  const fields = isObject(pattern) && Array.isArray(pattern["fields"]) ? pattern["fields"] : null
  return {
    items: plain(items, variables),
    index: index !== undefined,
    fields: fields === null ? null : fields.map((field) => (isObject(field) ? (field["field"] ?? null) : null)),
  }
}

function withLoop({ index, pattern }: JsonObject, around: Variables): Variables {
  const variables = new Map(around)
  const add = (name: JsonValue | undefined): void => {
    if (typeof name === "string") variables.set(name, `#${around.size}.${variables.size - around.size}`)
  }
  add(index)
  if (!isObject(pattern)) return variables
  add(pattern["variable"])
  const fields = Array.isArray(pattern["fields"]) ? pattern["fields"] : []
  for (const field of fields) if (isObject(field)) add(field["variable"])
  return variables
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
