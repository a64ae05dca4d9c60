import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import type { Steps } from "../steps.ts"
import { ArrayBuilder, ObjectBuilder } from "../value-builders.ts"
import type { FunctionCall } from "./function-call.ts"

/** Listing or setting a field takes as long as copying this many characters: large objects are dictionaries. */
const perName = 640

export function keys(call: FunctionCall): JsonValue {
  const names = Object.keys(call.object(0))
  call.spend(perName * names.length)
  call.make(names.length)
  return names
}

export function values(call: FunctionCall): JsonValue {
  const found = Object.values(call.object(0))
  call.spend(perName * found.length)
  call.make(found.length)
  return found
}

export function* entries(call: FunctionCall): Steps<JsonValue> {
  const object = call.object(0)
  const names = Object.keys(object)
  const made = new ArrayBuilder(call.scope)
  for (const key of names) {
    if (call.isDue) yield null
    call.spend(perName)
    call.make(3)
    made.add({ key, value: object[key] ?? null })
  }
  return made.array
}

/** The last of equal keys wins, in the place of the first. */
export function* fromEntries(call: FunctionCall): Steps<JsonValue> {
  const made = new ObjectBuilder(call.scope)
  for (const pair of call.list(0)) {
    if (call.isDue) yield null
    const key = isJsonObject(pair) ? pair["key"] : undefined
    if (!isJsonObject(pair) || typeof key !== "string" || !Object.hasOwn(pair, "value")) {
      return call.refuse("an array of objects with a string `key` and a `value`", pair)
    }
    if (key === "__proto__") return call.fail("no field may have the name __proto__")
    call.spend(perName)
    call.make(1)
    made.set(key, pair["value"] ?? null)
  }
  return made.object
}

/** Each field in the place of the last object that has it. */
export function merge(call: FunctionCall): JsonValue {
  const whole = new ObjectBuilder(call.scope)
  const objects = Array.from({ length: call.count }, (_, at) => call.object(at))
  for (const [at, object] of objects.entries()) {
    const names = Object.keys(object)
    call.spend(perName * names.length * (call.count - at))
    call.make(names.length)
    const later = objects.slice(at + 1)
    for (const name of names) {
      if (!later.some((other) => Object.hasOwn(other, name))) whole.set(name, object[name] ?? null)
    }
  }
  return whole.object
}
