import type { JsonValue } from "../base/json-value.ts"
import { apiOf, wireApiIn } from "../check/api-of.ts"
import { fileStem } from "../check/check-file.ts"
import { constantFields, constantIn, constantOf, numberIn } from "../check/constants.ts"
import { wordIn } from "../check/asset-kind.ts"
import type { AgentSymbol, AskSymbol, ImportSymbol, Program } from "../check/program.ts"
import { modelEntries } from "../check/check-model-reference.ts"
import { propertyIn } from "../check/properties.ts"
import { secretRoutes } from "../check/secret-routes.ts"
import { assetsOfModel } from "../check/rules/unsupported-asset.ts"
import { providerKinds } from "../check/provider-kinds.ts"
import type { RecordType } from "../types/types.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Entry, Expression } from "./expression.ts"
import { defaultExpirySeconds, expiryOf } from "./approval-demand.ts"
import { assetKind, Lowering, targetName, unchecked } from "./lower.ts"
import type { Properties } from "../syntax/property-of.ts"
import { expressionIn, propertyOf, valuesOf } from "../syntax/property-of.ts"
import { inferenceKeys, isWordOf, limitKeys } from "../syntax/property-table.ts"
import type {
  AgentNode,
  AskNode,
  ContextPlan,
  DynamicNode,
  FilePlan,
  Inference,
  Limits,
  LoopPlan,
  ModelPlan,
  ModelUse,
  ModelUses,
  OutputNode,
  Plan,
  PlanNode,
  Price,
  ProviderPlan,
  RemotePlan,
  ResponseFormat,
  ServerPlan,
  ToolPlan,
  UsePlan,
  WhenPlan,
} from "./plan-shape.ts"
import { topologicalOrder } from "./topological-order.ts"

const defaultMaxSteps = 16
const emptyRecord: RecordType = { kind: "record", fields: [] }

/** Program → Plan, for a program without errors. */
export function plan(program: Program): Plan {
  return new Planner(program).plan()
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
      secrets: program.secrets?.type ?? emptyRecord,
      ...routesOf(program),
      output: program.output?.type ?? emptyRecord,
      providers: mapped(program.providers, (declaration, name) => this.#provider(declaration, name)),
      models: mapped(program.models, (declaration, name) => this.#model(declaration, name)),
      servers: mapped(program.servers, (declaration, name) => this.#server(declaration, name)),
      tools: mapped(program.tools, (symbol) => this.#tool(symbol)),
      resources: mapped(program.resources, (symbol) => this.#remote(symbol)),
      prompts: mapped(program.prompts, (symbol) => this.#remote(symbol)),
      limits: limitsOf(program.limits?.body),
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
      context: this.#context(propertyOf(body, "context"), models, id),
      locals: this.#locals(name, symbol),
      files: body.items.flatMap((item) => (item.name.text === "file" ? [this.#file(item, id)] : [])),
      instruction: this.#propertyExpression(body, "instruction", `${id}.instruction`),
      system: this.#optional(body, "system", `${id}.system`),
      limits: limitsOf(propertyBlock(body, "limits")),
      output: symbol.output,
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
    }
  }

  /** What agents and questions have in common. */
  #head<Kind extends Syntax.StepDeclaration["kind"]>(
    id: string,
    kind: Kind,
    name: string,
    { loop, when }: Syntax.StepDeclaration,
    depends_on: string[],
  ): Pick<AgentNode, "id" | "name" | "depends_on" | "loop" | "when"> & { readonly kind: Kind } {
    return {
      id,
      kind,
      name,
      depends_on,
      loop: loop === undefined ? null : this.#loop(loop, id),
      when: when === undefined ? null : this.#when(when, id),
    }
  }

  #loop(loop: Syntax.Loop, id: string): LoopPlan {
    const items = this.#lower.expression(loop.items, id)
    if (loop.pattern.kind === "item") return { items, pattern: { kind: "item", variable: loop.pattern.name.text } }
    const fields = loop.pattern.body.items.map(({ field, variable }) => ({
      field: field.text,
      variable: variable.text,
    }))
    return { items, pattern: { kind: "fields", fields } }
  }

  #when({ condition }: Syntax.When, id: string): WhenPlan {
    const text = this.#program.tree.text.slice(condition.start, condition.end)
    return { condition: this.#lower.expression(condition, `${id}.when`), text }
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

  #uses(property: Syntax.Property | undefined, id: string): UsePlan[] {
    if (property?.value.kind !== "uses") return []
    return property.value.entries.map((entry) => {
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

  #server(declaration: Syntax.McpDeclaration, name: string): ServerPlan {
    return {
      endpoint: this.#propertyExpression(declaration.body, "endpoint", `mcp.${name}`),
      headers: this.#lower.entries(valuesOf(declaration.body, "headers"), `mcp.${name}`),
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
    }
  }
}

/** A table by name, without a prototype: a workflow may call its agent `constructor`. */
function mapped<In, Out>(table: ReadonlyMap<string, In>, to: (value: In, name: string) => Out): Record<string, Out> {
  const out = Object.create(null) as Record<string, Out>
  for (const [name, value] of table) out[name] = to(value, name)
  return out
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
