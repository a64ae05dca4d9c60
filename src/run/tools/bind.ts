import type { JsonObject } from "../../base/json-value.ts"
import type { Entry } from "../../plan/expression.ts"
import { setOwn } from "../../base/ordered-object.ts"
import type { Scope } from "../values/scope.ts"
import { evaluateEffects, type Effects } from "../values/evaluate-effects.ts"
import { traits } from "../../plan/expression-traits.ts"
import type { RunContext } from "../context/run-context.ts"

/** Arguments that the workflow sets, as they are sent, and as an event or a cache key may see them. */
export interface Bound {
  readonly values: JsonObject
  readonly shown: JsonObject
}

/** Where bindings are written: their place, for errors. */
export interface Bindings {
  readonly path: string
  readonly entries: readonly Entry[]
}

/** The later of two with the same name wins. */
export async function bind(
  running: RunContext,
  layers: readonly Bindings[],
  scope: Scope,
  effects: Effects,
): Promise<Bound> {
  const values: JsonObject = {}
  const shown: JsonObject = {}
  for (const { path, entries } of layers) {
    for (const { key, value } of entries) {
      const here = { ...scope, path: `${path}.${key}` }
      const { pure, secrets } = traits(value)
      const found = await evaluateEffects(value, here, effects)
      setOwn(values, key, found)
      if (!secrets) setOwn(shown, key, found)
      else if (!pure) setOwn(shown, key, "[secret]")
      else setOwn(shown, key, await evaluateEffects(value, { ...here, secrets: running.named() }, effects))
    }
  }
  return { values, shown }
}
