import type { JsonValue } from "../base/json-value.ts"
import { remembered } from "../base/remembered.ts"
import { asksForStatus } from "../check/check-http-tool.ts"
import { isRoute, readRoute } from "../check/http-route.ts"
import { boundSecrets } from "../check/bound-secrets.ts"
import { openingComment } from "../source/opening-comment.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import { apiOf, wireApiIn } from "../check/api-of.ts"
import { fileStem } from "../check/check-file.ts"
import { constantFields, constantIn, constantOf, numberIn } from "../check/constants.ts"
import { wordIn } from "../check/asset-kind.ts"
import type { AgentSymbol, AskSymbol, ImportSymbol, Program, WorkflowSymbol } from "../check/program.ts"
import { modelEntries } from "../check/check-model-reference.ts"
import { propertyIn } from "../check/properties.ts"
import { secretRoutes } from "../check/secret-routes.ts"
import { secretsOfRuns } from "./plan-triggers.ts"
import { assetsOfModel } from "../check/rules/unsupported-asset.ts"
import { providerKinds } from "../check/provider-kinds.ts"
import type { RecordType } from "../types/types.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Entry, Expression } from "./expression.ts"
import { defaultExpirySeconds, demandOf, expiryOf } from "./approval-demand.ts"
import { assetKind, Lowering, targetName, unchecked } from "./lower.ts"
import type { Properties } from "../syntax/property-of.ts"
import { expressionIn, propertyOf, valuesOf } from "../syntax/property-of.ts"
import { inferenceKeys, isWordOf, limitKeys } from "../syntax/property-table.ts"
import type {
  AgentNode,
  ApiPlan,
  AskNode,
  CalledWorkflow,
  ContextPlan,
  DynamicNode,
  FilePlan,
  HttpToolPlan,
  Inference,
  Limits,
  ModelPlan,
  ModelUse,
  ModelUses,
  OutputNode,
  Plan,
  PlanNode,
  Price,
  ProviderPlan,
  RemotePlan,
  RequirementPlan,
  ResponseFormat,
  SendPlan,
  ServerPlan,
  ToolPlan,
  UsePlan,
  WhenPlan,
  WorkflowUsePlan,
} from "./plan-shape.ts"
import { topologicalOrder } from "./topological-order.ts"

const defaultMaxSteps = 16
const apiTimeoutSeconds = 30
const apiRetries = 2
const emptyRecord: RecordType = { kind: "record", fields: [] }

// A file may be called from many places.
const planned = new WeakMap<Program, Plan>()

/** Program → Plan, for a program without errors. */
export function plan(program: Program): Plan {
  return remembered(planned, program, () => new Planner(program).plan())
}

function routesOf(program: Program): Pick<Plan, "secret_routes"> {
  const secret_routes = secretRoutes(program).map(({ backend, inputs, steering, sent }) => {
    return { backend, inputs, steering, sent }
  })
  return secret_routes.length === 0 ? {} : { secret_routes }
}

class Planner {
  readonly #program: Program
  readonly #lower: Lowering

  constructor(program: Program) {
    this.#program = program
    this.#lower = new Lowering(program)
  }

  plan(): Plan {
    const program = this.#program
    return {
      types: { ...program.types },
      input: program.input?.type ?? emptyRecord,
      secrets: secretsOfRuns(program),
      ...routesOf(program),
      output: program.output?.type ?? emptyRecord,
      providers: mapped(program.providers, (declaration, name) => this.#provider(declaration, name)),
      models: mapped(program.models, (declaration, name) => this.#model(declaration, name)),
      servers: mapped(program.servers, (declaration) => this.#server(declaration)),
      ...(program.apis.size === 0 ? {} : { apis: mapped(program.apis, (declaration) => this.#api(declaration)) }),
      tools: mapped(program.tools, (symbol) => this.#tool(symbol)),
      resources: mapped(program.resources, (symbol) => this.#remote(symbol)),
      prompts: mapped(program.prompts, (symbol) => this.#remote(symbol)),
      ...(program.workflows.size === 0
        ? {}
        : { workflows: mapped(program.workflows, (symbol) => this.#workflow(symbol)) }),
      limits: limitsOf(program.limits?.body),
      ...(program.chat === undefined ? {} : { chat: program.chat }),
      nodes: this.#nodes(),
    }
  }

  #nodes(): PlanNode[] {
    const program = this.#program
    const dependencies = (id: string): ReadonlySet<string> => program.dependencies.get(id) ?? new Set()
    const declared: string[] = []
    for (const declaration of program.tree.declarations) {
      if (declaration.kind === "agent" || declaration.kind === "ask") {
        declared.push(`${declaration.kind}.${declaration.name.text}`)
      } else if (declaration.kind === "dynamic") {
        for (const field of declaration.body.items) declared.push(`dynamic.${field.name.text}`)
      }
    }
    const order = topologicalOrder(declared, dependencies)
    const position = new Map(order.map((id, index) => [id, index]))
    const dependsOn = (id: string): string[] =>
      [...dependencies(id)].sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))
    const nodes: PlanNode[] = []
    for (const id of order) {
      const name = id.slice(id.indexOf(".") + 1)
      const agent = id.startsWith("agent.") ? program.agents.get(name) : undefined
      const ask = id.startsWith("ask.") ? program.asks.get(name) : undefined
      const dynamic = id.startsWith("dynamic.") ? program.dynamics.get(name) : undefined
      if (agent !== undefined) nodes.push(this.#agent(id, name, agent, dependsOn(id)))
      else if (ask !== undefined) nodes.push(this.#ask(id, name, ask, dependsOn(id)))
      else if (dynamic !== undefined) nodes.push(this.#dynamic(id, name, dynamic.field, dependsOn(id)))
    }
    const { output } = program
    if (output !== undefined) nodes.push(this.#output(output.declaration, dependsOn("output")))
    return nodes
  }

  #dynamic(id: string, name: string, field: Syntax.ValueField, depends_on: string[]): DynamicNode {
    return { id, kind: "dynamic", name, depends_on, value: this.#lower.expression(field.value, id) }
  }

  #output(declaration: Syntax.OutputDeclaration, depends_on: string[]): OutputNode {
    const fields = declaration.body.items.flatMap((field) => this.#lower.entries([field], `output.${field.name.text}`))
    return { id: "output", kind: "output", name: "output", depends_on, fields }
  }

  // ------------------------------------------------------------------------------------------------------ agents

  #agent(id: string, name: string, symbol: AgentSymbol, depends_on: string[]): AgentNode {
    const { declaration } = symbol
    const { body } = declaration
    const models = this.#modelUses(propertyOf(body, "model"))
    return {
      ...this.#head(id, "agent", name, declaration, depends_on),
      on_failure: wordIn(body, "on_failure") === "skip" ? "skip" : "fail",
      models,
      response_format: responseFormat(body),
      max_steps: numberIn(body, "max_steps") ?? defaultMaxSteps,
      uses: this.#uses(propertyOf(body, "uses"), id),
      ...this.#workflowUses(propertyOf(body, "uses"), id),
      context: this.#context(propertyOf(body, "context"), models, id),
      locals: this.#locals(name, symbol),
      files: body.items.flatMap((item) => (item.name.text === "file" ? [this.#file(item, id)] : [])),
      instruction: this.#propertyExpression(body, "instruction", `${id}.instruction`),
      system: this.#optional(body, "system", `${id}.system`),
      limits: limitsOf(propertyBlock(body, "limits")),
      output: symbol.output,
      requires: this.#requires(body),
    }
  }

  #ask(id: string, name: string, symbol: AskSymbol, depends_on: string[]): AskNode {
    const { declaration } = symbol
    const { body } = declaration
    return {
      ...this.#head(id, "ask", name, declaration, depends_on),
      question: this.#propertyExpression(body, "question", `${id}.question`),
      show: this.#optional(body, "show", `${id}.show`),
      to: this.#optional(body, "to", `${id}.to`),
      expires_seconds: expiryOf(body) ?? defaultExpirySeconds,
      on_expiry: this.#optional(body, "on_expiry", `${id}.on_expiry`),
      output: symbol.output,
      requires: this.#requires(body),
    }
  }

  /** What agents and questions have in common. */
  #head<Kind extends Syntax.StepDeclaration["kind"]>(
    id: string,
    kind: Kind,
    name: string,
    { loop, when, body }: Syntax.StepDeclaration,
    depends_on: string[],
  ): Pick<AgentNode, "id" | "name" | "depends_on" | "loop" | "when" | "concurrency"> & { readonly kind: Kind } {
    return {
      id,
      kind,
      name,
      depends_on,
      loop: loop === undefined ? null : this.#lower.loop(loop, id),
      when: when === undefined ? null : this.#when(when, id),
      concurrency: numberIn(body, "concurrency"),
    }
  }

  #when({ condition }: Syntax.When, id: string): WhenPlan {
    const text = this.#program.tree.text.slice(condition.start, condition.end)
    return { condition: this.#lower.expression(condition, `${id}.when`), text }
  }

  #requires({ items }: Syntax.Block<Syntax.Property>): RequirementPlan[] {
    return items.flatMap(({ value }) => (value.kind === "requirement" ? [this.#lower.requirement(value)] : []))
  }

  #locals(agent: string, symbol: AgentSymbol): Entry[] {
    const edges = this.#program.localDependencies.get(agent)
    const names = [...symbol.locals.keys()]
    return topologicalOrder(names, (name) => edges?.get(name) ?? new Set()).flatMap((name) => {
      const local = symbol.locals.get(name)
      const place = `agent.${agent}.dynamic.${name}`
      return local === undefined ? [] : [{ key: name, value: this.#lower.expression(local.field.value, place) }]
    })
  }

  #workflow({ name, declaration, file, program }: WorkflowSymbol): CalledWorkflow {
    const bound = boundSecrets(declaration)
    const secrets = Object.create(null) as Record<string, string | null>
    for (const field of secretsOfRuns(program).fields) secrets[field.name] = bound.get(field.name) ?? null
    const description = descriptionOf(program) ?? declaration.doc ?? null
    const version = this.#program.files.version(file)
    return { name: name.text, file, version, description, plan: plan(program), secrets }
  }

  #workflowUses(property: Syntax.Property | undefined, id: string): Pick<AgentNode, "workflows"> {
    const entries = usesOf(property).filter(({ reference }) => isWorkflow(reference))
    if (entries.length === 0) return {}
    const workflows = entries.map(({ reference, block }): WorkflowUsePlan => {
      return {
        workflow: targetName(reference),
        bindings: this.#lower.entries(valuesOf(block, "bindings"), `${id}.uses`),
        max_calls: numberIn(block, "max_calls"),
        approval: this.#lower.approvalOf([block], `${id}.uses`),
        description: textIn(block, "description") ?? null,
      }
    })
    return { workflows }
  }

  #uses(property: Syntax.Property | undefined, id: string): UsePlan[] {
    const entries = usesOf(property).filter(({ reference }) => !isWorkflow(reference))
    return entries.map((entry) => {
      const { base } = entry.reference
      const kind = base.kind === "name" ? base.text : ""
      const name = targetName(entry.reference)
      if (kind !== "tool" && kind !== "resource" && kind !== "prompt") return unchecked("a strange use")
      return {
        kind,
        name,
        site: this.#lower.site(`${id}.uses`, "use", `${kind}.${name}`),
        bindings: this.#lower.entries(valuesOf(entry.block, "bindings"), `${id}.uses`),
        max_calls: numberIn(entry.block, "max_calls"),
        approval: kind === "tool" ? this.#lower.approval(name, entry.block, `${id}.uses`) : null,
        ...describedAs(entry.block),
      }
    })
  }

  #context(property: Syntax.Property | undefined, own: ModelUses, id: string): ContextPlan | null {
    if (property?.value.kind !== "context") return null
    const { reference, compact, block } = property.value
    const agent = targetName(reference)
    if (compact === undefined) return { agent, compact: null }
    const model = propertyOf(block, "model")
    const instruction = expressionIn(block, "instruction")
    return {
      agent,
      compact: {
        // The agent's own models summarise without what the agent sets for its own step.
        models: model === undefined ? mapUses(own, ({ name }) => ({ name, inference: {} })) : this.#modelUses(model),
        instruction: instruction === undefined ? null : this.#lower.expression(instruction, `${id}.context`),
      },
    }
  }

  #file({ value }: Syntax.Property, id: string): FilePlan {
    if (value.kind !== "properties" && value.kind !== "file") return unchecked("a strange file")
    const content = value.kind === "file" ? value.content : expressionIn(value.block, "content")
    if (content === undefined) return unchecked("a file without content")
    const optional = (name: string): Expression | null => this.#optional(value.block, name, `${id}.file`)
    const name = optional("name")
    return {
      name,
      stem: name === null ? (fileStem(content) ?? null) : null,
      content: this.#lower.expression(content, `${id}.file`),
      media_type: optional("media_type"),
    }
  }

  #propertyExpression(block: Syntax.Block<Syntax.Property>, name: string, place: string): Expression {
    return this.#optional(block, name, place) ?? unchecked(`a missing ${name}`)
  }

  /** `model.fast` or a list, with what the place sets. */
  #modelUses(property: Syntax.Property | undefined): ModelUses {
    const entries = property === undefined ? undefined : modelEntries(property.value)
    const [first, ...others] = (entries ?? []).map(({ reference, block }): ModelUse => {
      return { name: targetName(reference), inference: inferenceOf(block) }
    })
    return [first ?? unchecked("an agent without a model"), ...others]
  }

  // ------------------------------------------------------------------------------------- backends, servers, imports

  #provider(declaration: Syntax.ProviderDeclaration, name: string): ProviderPlan {
    const { body, providerKind } = declaration
    const kind = providerKinds.get(providerKind?.text ?? "") ?? unchecked("an unknown kind of provider")
    const endpoint = this.#optional(body, "endpoint", `provider.${name}`)
    return {
      kind: providerKind?.text ?? "",
      api: apiOf(declaration) ?? kind.api,
      endpoint: endpoint ?? { op: "literal", value: kind.endpoint ?? unchecked("a provider without an endpoint") },
      api_key: this.#optional(body, "api_key", `provider.${name}`),
      headers: this.#lower.entries(valuesOf(body, "headers"), `provider.${name}`),
      inference: inferenceOf(body),
    }
  }

  #optional(block: Properties | undefined, name: string, place: string): Expression | null {
    const expression = expressionIn(block, name)
    return expression === undefined ? null : this.#lower.expression(expression, place)
  }

  #model(declaration: Syntax.ModelDeclaration, name: string): ModelPlan {
    const { body, provider } = declaration
    return {
      provider: provider?.text ?? unchecked("a model without a provider"),
      api: wireApiIn(body) ?? null,
      id: this.#propertyExpression(body, "id", `model.${name}`),
      inference: inferenceOf(body),
      assets: assetsOfModel(declaration).map(assetKind),
      response_format: responseFormat(body),
      system: this.#optional(body, "system", `model.${name}.system`),
      price: priceOf(propertyBlock(body, "price")),
    }
  }

  #server({ kind, name, body }: Syntax.McpDeclaration | Syntax.ApiDeclaration): ServerPlan {
    const place = `${kind}.${name.text}`
    return {
      endpoint: this.#propertyExpression(body, "endpoint", place),
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

  #api(declaration: Syntax.ApiDeclaration): ApiPlan {
    const { body } = declaration
    return {
      ...this.#server(declaration),
      timeout_seconds: numberIn(body, "timeout_seconds") ?? apiTimeoutSeconds,
      max_retries: numberIn(body, "max_retries") ?? apiRetries,
    }
  }

  #remote(symbol: ImportSymbol): RemotePlan {
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

  #tool(symbol: ImportSymbol): ToolPlan {
    const { node, batch } = symbol
    const description = constantIn(node.body, "description")
    const pin = constantIn(node.body, "pin")
    return {
      ...this.#remote(symbol),
      input: symbol.input ?? null,
      output: symbol.output ?? null,
      max_calls: numberIn(node.body, "max_calls") ?? numberIn(batch?.body, "max_calls"),
      description: typeof description === "string" ? description : null,
      idempotent: constantIn(node.body, "idempotent") === true,
      pin: typeof pin === "string" ? pin : null,
      ...(symbol.origin === "api" ? { http: httpOf(symbol) } : {}),
    }
  }
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

/** A table by name, without a prototype: a workflow may call its agent `constructor`. */
function mapped<In, Out>(table: ReadonlyMap<string, In>, to: (value: In, name: string) => Out): Record<string, Out> {
  const out = Object.create(null) as Record<string, Out>
  for (const [name, value] of table) out[name] = to(value, name)
  return out
}

function usesOf(property: Syntax.Property | undefined): readonly Syntax.UseEntry[] {
  return property?.value.kind === "uses" ? property.value.entries : []
}

function textIn(block: Properties | undefined, name: string): string | undefined {
  const text = constantIn(block, name)
  return typeof text === "string" ? text : undefined
}

function describedAs(block: Properties | undefined): Pick<UsePlan, "description"> {
  const description = textIn(block, "description")
  return description === undefined ? {} : { description }
}

/** What a file says of itself, as in the list of named workflows. */
function descriptionOf({ tree }: Program): string | undefined {
  return openingComment(tree.text) ?? undefined
}

function responseFormat(block: Properties | undefined): ResponseFormat | null {
  const word = wordIn(block, "response_format")
  return isWordOf("response_format", word) ? word : null
}

function mapUses([first, ...others]: ModelUses, to: (use: ModelUse) => ModelUse): ModelUses {
  return [to(first), ...others.map(to)]
}

function propertyBlock(block: Properties | undefined, name: string): Properties | undefined {
  const value = propertyOf(block, name)?.value
  return value?.kind === "properties" ? value.block : undefined
}

function priceOf(block: Properties | undefined): Price | null {
  const input = numberIn(block, "input")
  const output = numberIn(block, "output")
  return input === null || output === null ? null : { input, cached: numberIn(block, "cached") ?? input, output }
}

function limitsOf(block: Properties | undefined): Limits | null {
  const limits: Partial<Record<(typeof limitKeys)[number], number>> = {}
  for (const key of limitKeys) {
    const limit = numberIn(block, key)
    if (limit !== null) limits[key] = limit
  }
  return Object.keys(limits).length === 0 ? null : limits
}

function inferenceOf(block: Properties | undefined): Inference {
  const settings = propertyBlock(block, "inference")
  const inference: Record<string, JsonValue> = {}
  for (const key of inferenceKeys) {
    const value = propertyIn("inference", settings, key)?.value
    const constant =
      value?.kind === "values"
        ? constantFields(value.block)
        : value?.kind === "expression"
          ? constantOf(value.expression)
          : undefined
    if (constant !== undefined) inference[key] = constant
  }
  return inference
}
