import asyncHooks from "node:async_hooks"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import type { Dialect, Fetch } from "./dialect.ts"

/** Ids come from workflows, which anyone may write. */
const mostModels = 100

// By its module: Node loads the class when it is asked for, and the bundle has no names of such classes.
const fetchOfCall = new asyncHooks.AsyncLocalStorage<Fetch>()
const models = new Map<string, LanguageModelV4>()

const fetch: Fetch = (...request) => {
  const own = fetchOfCall.getStore()
  if (own === undefined) throw new Error("A package called its backend outside of a call of ours")
  return own(...request)
}

/** The package's model of that id. It is shared: making one costs several times as much as a call. */
export function sharedModel(dialect: Dialect, id: string): LanguageModelV4 {
  const name = `${dialect.name} ${id}`
  let model = models.get(name)
  if (model === undefined) {
    if (models.size >= mostModels) models.clear()
    model = dialect.model(id, fetch)
    models.set(name, model)
  }
  return model
}

/** Calls a shared model with a `fetch` of this call alone. */
export function callWith<T>(own: Fetch, call: () => T): T {
  return fetchOfCall.run(own, call)
}
