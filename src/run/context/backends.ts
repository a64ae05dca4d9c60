import { CanonicalText } from "../../base/canonical-json.ts"
import { hasDotSegment } from "../../base/has-dot-segment.ts"
import { isHeaderValue } from "../../base/header-text.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Entry, Expression } from "../../plan/expression.ts"
import type { ModelPlan, PromptCacheWord } from "../../plan/plan-shape.ts"
import { priceOfModel, wholePrice, type Price } from "../../plan/price-of-model.ts"
import type { BackendFacts } from "./cache-key.ts"
import type { Scope } from "../values/scope.ts"
import { evaluate } from "../values/evaluate.ts"
import { toBoundedText } from "../values/value-builders.ts"
import { children } from "../../plan/expression-traits.ts"
import { failure } from "../../ports/run-failure.ts"
import type { Backend, Login, ModelRequest } from "../../ports/model.ts"
import type { RunContext } from "./run-context.ts"
import { outerScope } from "./run-context.ts"
import { hideAddress } from "../secrets/hide-address.ts"
import { modelModelIdLength } from "../../base/limits.ts"

/** Where a model's calls go. Its provider was resolved when the run began, before any call. */
export function backendOf(running: RunContext, model: string): Backend {
  const backend = running.backends.get(model)
  if (backend === undefined) throw new Error(`Model ${model} has no provider`)
  return backend
}

export function modelId(running: RunContext, model: string, scope: Scope): string {
  const plan = running.plan.models[model]
  if (plan === undefined) throw new Error(`Model ${model} is not in the plan`)
  const path = `model.${model}.id`
  const id = writtenText(plan.id) ?? evaluateText(plan.id, { ...scope, path })
  if (id.length > modelModelIdLength) {
    const message = `The id of a model has at most ${modelModelIdLength} characters (found ${id.length})`
    throw failure("evaluation_error", path, message)
  }
  return withoutDotSegments(id, path)
}

/** A text that stands in the source as it is: most addresses and ids. Null for any other expression. */
function writtenText(expression: Expression): string | null {
  return expression.op === "literal" && typeof expression.value === "string" ? expression.value : null
}

function evaluateText(expression: Expression, scope: Scope): string {
  return toBoundedText(evaluate(expression, scope), scope)
}

/** An id is a part of the address in some APIs, and an endpoint is in all: a value in it must not lead to another path. */
function withoutDotSegments(text: string, path: string): string {
  if (!hasDotSegment(text)) return text
  throw failure(
    "evaluation_error",
    path,
    `The value of ${path} has a segment \`.\` or \`..\`, which would lead to another path`,
  )
}

/** The kind of a model's provider. */
export function providerKindOf(running: RunContext, model: string): string {
  const { models, providers } = running.plan
  return providers[models[model]?.provider ?? ""]?.kind ?? ""
}

/** How a declared model signs in at its backend. */
export function loginOf({ plan }: RunContext, model: string): Login {
  const name = plan.models[model]?.provider ?? ""
  const provider = plan.providers[name]
  const sent = [provider?.api_key, ...(provider?.headers ?? []).map(({ value }) => value)]
  const secrets = new Set(sent.flatMap((expression) => (expression ? secretsIn(expression) : [])))
  return { provider: name, secrets: [...secrets] }
}

/** The secrets that an expression refers to, by name. */
function secretsIn(expression: Expression): string[] {
  const isSecret =
    expression.op === "chain" && expression.base.op === "reference" && expression.base.root.kind === "secrets"
  const [first] = isSecret ? expression.steps : []
  return first?.step === "field" ? [first.name] : children(expression).flatMap(secretsIn)
}

/** The price of a declared model: its file's, else the operator's; null where neither has one. `cache`: of the agent that calls. */
export function priceOf(running: RunContext, model: string, cache?: PromptCacheWord | null): Price | null {
  const { plan } = running
  const own = Object.hasOwn(plan.models, model) ? plan.models[model] : undefined
  if (own === undefined) return null
  if (own.price !== null) {
    return wholePrice(own.price, own.api ?? plan.providers[own.provider]?.api, cacheOf(running, model, cache))
  }
  if (running.ports.prices === undefined) return null
  return listedPrice(running, model, modelId(running, model, outerScope(running, `model.${model}.id`)), cache)
}

/** The operator's price of a declared model; null where there is none. */
export function listedPrice(
  running: RunContext,
  model: string,
  id: string,
  cache?: PromptCacheWord | null,
): Price | null {
  const { prices } = running.ports
  if (prices === undefined) return null
  const file = { price: running.plan.models[model]?.price ?? null, prompt_cache: cacheOf(running, model, cache) }
  return prices.of(backendOf(running, model), id, file)
}

function cacheOf({ plan }: RunContext, model: string, own: PromptCacheWord | null | undefined): PromptCacheWord | null {
  return own ?? plan.models[model]?.prompt_cache ?? null
}

/** What a request says about its price. */
export function pricing(
  running: RunContext,
  model: string,
  cache?: PromptCacheWord | null,
): Pick<ModelRequest, "price" | "isOwnPrice"> {
  const price = priceOf(running, model, cache)
  return price === priceOfModel(running.plan, model) ? { price } : { price, isOwnPrice: true }
}

/** Every provider that a model of the plan has, with secrets. */
export function resolveBackends(running: RunContext): void {
  const providers = new Map<string, Backend>()
  running.work.together(() => {
    for (const name of running.prepared.providers) {
      const backend = resolve(running, name, running.secrets)
      hideAddress(running.redactor, running.secrets, backend.endpoint)
      providers.set(name, backend)
    }
  })
  for (const [model, { provider, api }] of Object.entries(running.plan.models)) {
    const backend = providers.get(provider)
    if (backend !== undefined) running.backends.set(model, withApi(backend, api))
  }
}

/** The same, with secrets by name. All steps of a run share it. */
export function backendFacts(running: RunContext, model: string): CanonicalText {
  let facts = running.backendFacts.get(model)
  if (facts === undefined) {
    const { provider = "", api = null } = running.plan.models[model] ?? {}
    const named: BackendFacts = running.prepared.secretProviders.has(provider)
      ? withApi(resolve(running, provider, running.named()), api)
      : backendOf(running, model)
    facts = factsText(running.plan.models[model], named)
    running.backendFacts.set(model, facts)
  }
  return facts
}

/** By model of a plan: the last facts of its backend, written. Plans run again and again, and most backends stay what they are. */
const writtenFacts = new WeakMap<ModelPlan, { readonly facts: BackendFacts; readonly text: CanonicalText }>()

function factsText(model: ModelPlan | undefined, facts: BackendFacts): CanonicalText {
  // Headers may be many, and few providers have any.
  if (model === undefined || Object.keys(facts.headers).length > 0) return new CanonicalText(facts)
  const before = writtenFacts.get(model)
  if (
    before !== undefined &&
    before.facts.api === facts.api &&
    before.facts.endpoint === facts.endpoint &&
    before.facts.api_key === facts.api_key
  )
    return before.text
  const text = new CanonicalText(facts)
  writtenFacts.set(model, { facts, text })
  return text
}

/** The provider as one of its models is called. */
function withApi(provider: Backend, api: ApiName | null): Backend {
  return api === null || api === provider.api ? provider : { ...provider, api }
}

function resolve(running: RunContext, name: string, secrets: JsonObject): Backend {
  const provider = running.plan.providers[name]
  if (provider === undefined) throw new Error(`Provider ${name} is not in the plan`)
  const path = `provider.${name}`
  const { api, endpoint, api_key, headers } = provider
  return {
    api,
    endpoint: resolveEndpoint(running, endpoint, `${path}.endpoint`, secrets),
    api_key: api_key === null ? null : resolveHeader(running, api_key, `${path}.api_key`, secrets),
    headers: resolveHeaders(running, headers, `${path}.headers`, secrets),
  }
}

export function resolveEndpoint(
  running: RunContext,
  expression: Expression,
  path: string,
  secrets: JsonObject,
): string {
  const text = writtenText(expression) ?? evaluateText(expression, outerScope(running, path, secrets))
  return withoutDotSegments(text, path)
}

export function resolveHeaders(
  running: RunContext,
  headers: readonly Entry[],
  path: string,
  secrets: JsonObject,
): Record<string, string> {
  const resolved: Record<string, string> = {}
  for (const { key, value } of headers) {
    const text = resolveHeader(running, value, `${path}.${key}`, secrets)
    if (text !== null) resolved[key] = text
  }
  return resolved
}

/** Null sends none. The value may be a secret, so the message does not show it. */
function resolveHeader(running: RunContext, expression: Expression, path: string, secrets: JsonObject): string | null {
  const scope = outerScope(running, path, secrets)
  const value = evaluate(expression, scope)
  if (value === null) return null
  const text = toBoundedText(value, scope)
  if (isHeaderValue(text)) return text
  const message = `The value of ${path} contains a character that a header may not contain: only Latin letters and signs on one line can be sent`
  throw failure("evaluation_error", path, message)
}
