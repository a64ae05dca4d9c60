import { apiOf, wireApiIn } from "../check/api-of.ts"
import { asksForStatus } from "../check/check-http-tool.ts"
import { constantFields, constantIn, numberIn } from "../check/constants.ts"
import { isRoute, readRoute } from "../check/http-route.ts"
import type { ImportSymbol } from "../check/program.ts"
import { providerKinds } from "../check/provider-kinds.ts"
import { outputsOfModel } from "../check/rules/unsupported-output.ts"
import { assetsOfModel } from "../check/rules/unsupported-asset.ts"
import { expressionIn, propertyOf, valuesOf, type Properties, wordIn, wordOrString } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { defaultExpirySeconds, demandOf } from "./approval-demand.ts"
import type { Entry } from "./expression.ts"
import { assetKind, unchecked, type Lowering } from "./lower.ts"
import type {
  ApiPlan,
  HttpToolPlan,
  ModelPlan,
  ProviderPlan,
  RatePlan,
  RemotePlan,
  SendPlan,
  ServerPlan,
  StatedPrice,
  ToolPlan,
} from "./plan-shape.ts"
import { hostedToolsIn, inferenceOf, promptCacheIn, propertyBlock, responseFormat } from "./plan-settings.ts"

const apiTimeoutSeconds = 30
const apiRetries = 2

/** Plans what a workflow calls: providers and models, servers, APIs, and what it imports from them. */
export class BackendPlanner {
  readonly #lower: Lowering

  constructor(lower: Lowering) {
    this.#lower = lower
  }

  provider(declaration: Syntax.ProviderDeclaration, name: string): ProviderPlan {
    const { body, providerKind } = declaration
    const kind = providerKinds.get(providerKind?.text ?? "") ?? unchecked("an unknown kind of provider")
    const endpoint = this.#lower.optional(body, "endpoint", `provider.${name}`)
    return {
      kind: providerKind?.text ?? "",
      api: apiOf(declaration) ?? kind.api,
      endpoint: endpoint ?? { op: "literal", value: kind.endpoint ?? unchecked("a provider without an endpoint") },
      api_key: this.#lower.optional(body, "api_key", `provider.${name}`),
      headers: this.#lower.entries(valuesOf(body, "headers"), `provider.${name}`),
      inference: inferenceOf(body),
      ...rateOf(propertyBlock(body, "rate")),
    }
  }

  model(declaration: Syntax.ModelDeclaration, name: string): ModelPlan {
    const { body, provider } = declaration
    return {
      provider: provider?.text ?? unchecked("a model without a provider"),
      api: wireApiIn(body) ?? null,
      id: this.#lower.required(body, "id", `model.${name}`),
      inference: inferenceOf(body),
      assets: assetsOfModel(declaration).map(assetKind),
      response_format: responseFormat(body),
      system: this.#lower.optional(body, "system", `model.${name}.system`),
      price: priceOf(propertyBlock(body, "price")),
      ...promptCacheIn(body),
      ...hostedToolsIn(body),
      ...outputsOf(declaration),
    }
  }

  server({ kind, name, body }: Syntax.McpDeclaration | Syntax.ApiDeclaration): ServerPlan {
    const place = `${kind}.${name.text}`
    return {
      endpoint: this.#lower.required(body, "endpoint", place),
      headers: this.#lower.entries(valuesOf(body, "headers"), place),
      ...this.#auth(body, place),
      ...this.#elicitation(body, place),
    }
  }

  #elicitation(body: Properties, place: string): Pick<ServerPlan, "elicitation"> {
    const demand = demandOf(body, "elicitation")
    if (demand === undefined) return {}
    const { to, expires_seconds = defaultExpirySeconds } = demand
    return { elicitation: { to: to === undefined ? null : this.#lower.expression(to, place), expires_seconds } }
  }

  #auth(body: Properties, place: string): Pick<ServerPlan, "auth"> {
    const block = propertyBlock(body, "auth")
    if (block === undefined) return {}
    const values = block.items.flatMap((item): Entry[] => {
      if (item.kind !== "property" || item.value.kind !== "expression" || item.name.text === "client_auth") return []
      return [{ key: item.name.text, value: this.#lower.expression(item.value.expression, `${place}.auth`) }]
    })
    return { auth: { values, client_auth: wordIn(block, "client_auth") === "post" ? "post" : "basic" } }
  }

  api(declaration: Syntax.ApiDeclaration): ApiPlan {
    const { body } = declaration
    return {
      ...this.server(declaration),
      timeout_seconds: numberIn(body, "timeout_seconds") ?? apiTimeoutSeconds,
      max_retries: numberIn(body, "max_retries") ?? apiRetries,
    }
  }

  remote(symbol: ImportSymbol): RemotePlan {
    const { server, remote, batch, node } = symbol
    const place = `${symbol.kind}.${symbol.name.text}`
    const shared = this.#lower.entries(valuesOf(batch?.body, "bindings"), place)
    const own = this.#lower.entries(valuesOf(node.body, "bindings"), place)
    const ownKeys = new Set(own.map((entry) => entry.key))
    return {
      server: server?.text ?? unchecked("an import without a server"),
      remote,
      bindings: [...shared.filter((entry) => !ownKeys.has(entry.key)), ...own],
    }
  }

  tool(symbol: ImportSymbol): ToolPlan {
    const { node, batch } = symbol
    const description = constantIn(node.body, "description")
    const pin = constantIn(node.body, "pin")
    return {
      ...this.remote(symbol),
      input: symbol.input ?? null,
      output: symbol.output ?? null,
      max_calls: numberIn(node.body, "max_calls") ?? numberIn(batch?.body, "max_calls"),
      description: typeof description === "string" ? description : null,
      idempotent: constantIn(node.body, "idempotent") === true,
      pin: typeof pin === "string" ? pin : null,
      ...requiredOf(symbol),
      ...(symbol.origin === "api" ? { http: httpOf(symbol) } : {}),
    }
  }
}

function outputsOf(declaration: Syntax.ModelDeclaration): Pick<ModelPlan, "outputs"> {
  const outputs = outputsOfModel(declaration)
  return outputs.length === 0 ? {} : { outputs }
}

/** `requires: [to]` of a tool whose arguments are not declared. */
function requiredOf({ input, node }: ImportSymbol): Pick<ToolPlan, "requires"> {
  const named = expressionIn(node.body, "requires")
  if (input !== undefined || named?.kind !== "array") return {}
  return { requires: named.items.flatMap((item) => wordOrString(item) ?? []) }
}

function httpOf({ remote, node }: ImportSymbol): HttpToolPlan {
  const route = readRoute(remote)
  if (!isRoute(route)) return unchecked("a strange path")
  const value = propertyOf(node.body, "send")?.value
  const send = Object.create(null) as Record<string, SendPlan>
  for (const { name, to, header } of value?.kind === "send" ? value.block.items : []) {
    if (to?.text === "header") send[name.text] = { to: "header", name: header?.text ?? "" }
    else send[name.text] = { to: to?.text === "body" ? "body" : "query" }
  }
  return {
    method: route.method,
    path: route.path,
    send,
    nulls: wordIn(node.body, "nulls") === "send",
    status: asksForStatus(propertyOf(node.body, "output")),
  }
}

function rateOf(block: Properties | undefined): Pick<ProviderPlan, "rate"> {
  if (block === undefined) return {}
  const rate: Record<string, number> = {}
  for (const name of ["requests_per_minute", "tokens_per_minute", "concurrency"] satisfies (keyof RatePlan)[]) {
    const most = numberIn(block, name)
    if (most !== null) rate[name] = most
  }
  return { rate }
}

function priceOf(block: Properties | undefined): StatedPrice | null {
  const input = numberIn(block, "input")
  const output = numberIn(block, "output")
  if (input === null || output === null) return null
  const uses = propertyOf(block, "hosted")?.value
  const hosted = uses?.kind === "values" ? constantFields(uses.block) : constantIn(block, "hosted")
  return {
    input,
    cached: numberIn(block, "cached") ?? input,
    written: numberIn(block, "written"),
    output,
    batch: numberIn(block, "batch") ?? 1,
    hosted: (hosted ?? {}) as Record<string, number>,
  }
}
