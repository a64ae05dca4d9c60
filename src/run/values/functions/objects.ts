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

export function merge(call: FunctionCall): JsonValue {
  const [one, other] = [call.object(0), call.object(1)]
  const whole = new ObjectBuilder(call.scope)
  for (const object of [one, other]) {
    const names = Object.keys(object)
    call.spend(perName * names.length)
    call.make(names.length)
    for (const name of names) if (object === other || !Object.hasOwn(other, name)) whole.set(name, object[name] ?? null)
  }
  return whole.object
}
