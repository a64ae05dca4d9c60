import { remembered } from "../base/remembered.ts"
import { boundSecrets } from "../check/bound-secrets.ts"
import { openingComment } from "../source/opening-comment.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import { fileStem } from "../check/check-file.ts"
import { numberIn } from "../check/constants.ts"
import type { AgentSymbol, AskSymbol, Program, WaitSymbol, WorkflowSymbol } from "../check/program.ts"
import { secretRoutes } from "../check/secret-routes.ts"
import { secretsOfRuns } from "./plan-triggers.ts"
import type { RecordType } from "../types/types.ts"
import { choiceOf, modelEntries } from "../syntax/model-choice.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Entry, Expression } from "./expression.ts"
import { defaultExpirySeconds } from "./approval-demand.ts"
import { planFunctions } from "./plan-functions.ts"
import { Lowering, targetName, unchecked } from "./lower.ts"
import { expressionIn, propertyOf, valuesOf, wordIn, type Properties } from "../syntax/property-of.ts"
import { limitKeys } from "../syntax/property-table.ts"
import { planScores } from "./plan-scores.ts"
import { BackendPlanner } from "./plan-backends.ts"
import { hostedToolsIn, inferenceOf, promptCacheIn, propertyBlock, responseFormat, textIn } from "./plan-settings.ts"
import type {
  AgentNode,
  AskNode,
  AwaitedPlan,
  CalledWorkflow,
  ContextPlan,
  DynamicNode,
  FilePlan,
  Limits,
  ModelUse,
  ModelUses,
  OutputNode,
  Plan,
  PlanNode,
  RequirementPlan,
  UsePlan,
  WaitNode,
  WhenPlan,
  WorkflowUsePlan,
} from "./plan-shape.ts"
import { topologicalOrder } from "./topological-order.ts"

const defaultMaxSteps = 16
const defaultBatchHours = 24
const emptyRecord: RecordType = { kind: "record", fields: [] }

// A file may be called from many places.
const planned = new WeakMap<Program, Plan>()

/** Program → Plan, for a program without errors. */
export function plan(program: Program): Plan {
  return remembered(planned, program, () => new Planner(program).plan())
}

function routesOf(program: Program): Pick<Plan, "secret_routes"> {
  const secret_routes = secretRoutes(program).map(({ backend, inputs, destinationInputs, sent }) => {
    return { backend, inputs, destinationInputs, sent }
  })
  return secret_routes.length === 0 ? {} : { secret_routes }
}

/** Tools that do nothing that matters, as the file says. */
function harmlessOf({ tools }: Program): Pick<Plan, "harmless"> {
  const harmless = [...tools].flatMap(([name, { node }]) => (wordIn(node.body, "requires") === "none" ? [name] : []))
  return harmless.length === 0 ? {} : { harmless }
}

class Planner {
  readonly #program: Program
  readonly #lower: Lowering
  readonly #backends: BackendPlanner

  constructor(program: Program) {
    this.#program = program
    this.#lower = new Lowering(program, planFunctions(program))
    this.#backends = new BackendPlanner(this.#lower)
  }

  plan(): Plan {
    const program = this.#program
    return {
      types: { ...program.types },
      input: program.input?.type ?? emptyRecord,
      ...this.#inputRequires(),
      secrets: secretsOfRuns(program),
      ...routesOf(program),
      output: program.output?.type ?? emptyRecord,
      providers: mapped(program.providers, (declaration, name) => this.#backends.provider(declaration, name)),
      models: mapped(program.models, (declaration, name) => this.#backends.model(declaration, name)),
      servers: mapped(program.servers, (declaration) => this.#backends.server(declaration)),
      ...(program.apis.size === 0
        ? {}
        : { apis: mapped(program.apis, (declaration) => this.#backends.api(declaration)) }),
      tools: mapped(program.tools, (symbol) => this.#backends.tool(symbol)),
      ...harmlessOf(program),
      resources: mapped(program.resources, (symbol) => this.#backends.remote(symbol)),
      prompts: mapped(program.prompts, (symbol) => this.#backends.remote(symbol)),
      ...(program.workflows.size === 0
        ? {}
        : { workflows: mapped(program.workflows, (symbol) => this.#workflow(symbol)) }),
      ...(program.functions.size === 0 ? {} : { functions: planFunctions(program) }),
      limits: limitsOf(program.limits?.body),
      ...(program.chat === undefined ? {} : { chat: program.chat }),
      ...planScores(program, this.#lower),
      nodes: this.#nodes(),
    }
  }

  #inputRequires(): Pick<Plan, "input_requires"> {
    const items = this.#program.input?.declaration.body.items ?? []
    const requires = items.flatMap((item) =>
      item.kind === "property" && item.value.kind === "requirement" ? [this.#lower.ofInput(item.value)] : [],
    )
    return requires.length === 0 ? {} : { input_requires: requires }
  }

  #nodes(): PlanNode[] {
    const program = this.#program
    const dependencies = (id: string): ReadonlySet<string> => program.dependencies.get(id) ?? new Set()
    const declared: string[] = []
    for (const declaration of program.tree.declarations) {
      if (declaration.kind === "agent" || declaration.kind === "ask" || declaration.kind === "wait") {
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
      const wait = id.startsWith("wait.") ? program.waits.get(name) : undefined
      const dynamic = id.startsWith("dynamic.") ? program.dynamics.get(name) : undefined
      if (agent !== undefined) nodes.push(this.#agent(id, name, agent, dependsOn(id)))
      else if (ask !== undefined) nodes.push(this.#ask(id, name, ask, dependsOn(id)))
      else if (wait !== undefined) nodes.push(this.#wait(id, name, wait, dependsOn(id)))
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
    const model = propertyOf(body, "model")
    const models = this.#modelUses(model, declaration.loop)
    const choice = choiceOf(model?.value, declaration.loop)
    // Whatever asks whether one of their calls failed comes after them.
    const locals = this.#locals(name, symbol)
    return {
      ...this.#head(id, "agent", name, declaration, depends_on),
      on_failure: wordIn(body, "on_failure") === "skip" ? "skip" : "fail",
      models,
      ...(choice === undefined ? {} : { choice: this.#lower.expression(choice, `${id}.model`) }),
      response_format: responseFormat(body),
      max_steps: numberIn(body, "max_steps") ?? defaultMaxSteps,
      uses: this.#uses(propertyOf(body, "uses"), id),
      ...this.#workflowUses(propertyOf(body, "uses"), id),
      context: this.#context(propertyOf(body, "context"), models, id),
      ...this.#messages(body, id),
      ...this.#repeat(propertyBlock(body, "repeat"), id),
      ...batchOf(body),
      locals,
      files: body.items.flatMap((item) => (item.name.text === "file" ? [this.#file(item, id)] : [])),
      instruction: this.#lower.required(body, "instruction", `${id}.instruction`),
      system: this.#lower.optional(body, "system", `${id}.system`),
      limits: limitsOf(propertyBlock(body, "limits")),
      ...promptCacheIn(body),
      ...hostedToolsIn(body),
      ...(this.#program.privateBeginnings.has(name) && { keeps_private: true as const }),
      output: symbol.output,
      requires: this.#requires(body),
    }
  }

  #ask(id: string, name: string, symbol: AskSymbol, depends_on: string[]): AskNode {
    const { declaration } = symbol
    const { body } = declaration
    return {
      ...this.#head(id, "ask", name, declaration, depends_on),
      question: this.#lower.required(body, "question", `${id}.question`),
      show: this.#lower.optional(body, "show", `${id}.show`),
      to: this.#lower.optional(body, "to", `${id}.to`),
      prefill: this.#lower.optional(body, "prefill", `${id}.prefill`),
      expires_seconds: this.#lower.optional(body, "expires_seconds", `${id}.expires_seconds`) ?? {
        op: "literal",
        value: defaultExpirySeconds,
      },
      on_expiry: this.#lower.optional(body, "on_expiry", `${id}.on_expiry`),
      output: symbol.output,
      requires: this.#requires(body),
    }
  }

  #wait(id: string, name: string, symbol: WaitSymbol, depends_on: string[]): WaitNode {
    const { concurrency: _none, ...head } = this.#head(id, "wait", name, symbol.declaration, depends_on)
    return { ...head, awaits: this.#awaits(id, symbol) }
  }

  #awaits(id: string, { declaration: { body }, output }: WaitSymbol): AwaitedPlan {
    const optional = (property: string): Expression | null => this.#lower.optional(body, property, `${id}.${property}`)
    const [seconds, until] = [optional("seconds"), optional("until")]
    if (seconds !== null) return { kind: "seconds", seconds }
    if (until !== null) return { kind: "until", until }
    return {
      kind: "event",
      event: textIn(body, "event") ?? unchecked("a wait without an event"),
      key: optional("key"),
      expires_seconds: optional("expires_seconds") ?? { op: "literal", value: defaultExpirySeconds },
      on_expiry: optional("on_expiry"),
      output,
    }
  }

  /** What steps have in common. */
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
        ...(model === undefined ? { own: true as const } : {}),
        // The agent's own models summarise without what the agent sets for its own step.
        models: model === undefined ? mapUses(own, ({ name }) => ({ name, inference: {} })) : this.#modelUses(model),
        instruction: instruction === undefined ? null : this.#lower.expression(instruction, `${id}.context`),
      },
    }
  }

  #messages(body: Properties, id: string): Pick<AgentNode, "messages"> {
    const messages = this.#lower.optional(body, "messages", `${id}.messages`)
    return messages === null ? {} : { messages }
  }

  #repeat(block: Properties | undefined, id: string): Pick<AgentNode, "repeat"> {
    if (block === undefined) return {}
    // Nothing is called in it: the place names no site.
    const until = this.#lower.required(block, "until", `${id}.repeat.until`)
    return { repeat: { until, at_most: numberIn(block, "at_most") ?? 1 } }
  }

  #file({ value }: Syntax.Property, id: string): FilePlan {
    if (value.kind !== "properties" && value.kind !== "file") return unchecked("a strange file")
    const content = value.kind === "file" ? value.content : expressionIn(value.block, "content")
    if (content === undefined) return unchecked("a file without content")
    const optional = (name: string): Expression | null => this.#lower.optional(value.block, name, `${id}.file`)
    const name = optional("name")
    return {
      name,
      stem: name === null ? (fileStem(content) ?? null) : null,
      content: this.#lower.expression(content, `${id}.file`),
      media_type: optional("media_type"),
    }
  }

  /** `model.fast` or a list, with what the place sets. */
  #modelUses(property: Syntax.Property | undefined, loop?: Syntax.Loop): ModelUses {
    const entries = property === undefined ? undefined : modelEntries(property.value, loop)
    const [first, ...others] = (entries ?? []).map(({ reference, block }): ModelUse => {
      return { name: targetName(reference), inference: inferenceOf(block) }
    })
    return [first ?? unchecked("an agent without a model"), ...others]
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

function describedAs(block: Properties | undefined): Pick<UsePlan, "description"> {
  const description = textIn(block, "description")
  return description === undefined ? {} : { description }
}

/** What a file says of itself, as in the list of named workflows. */
function descriptionOf({ tree }: Program): string | undefined {
  return openingComment(tree.text) ?? undefined
}

function mapUses([first, ...others]: ModelUses, to: (use: ModelUse) => ModelUse): ModelUses {
  return [to(first), ...others.map(to)]
}

function limitsOf(block: Properties | undefined): Limits | null {
  const limits: Partial<Record<(typeof limitKeys)[number], number>> = {}
  for (const key of limitKeys) {
    const limit = numberIn(block, key)
    if (limit !== null) limits[key] = limit
  }
  return Object.keys(limits).length === 0 ? null : limits
}

function batchOf(body: Properties): Pick<AgentNode, "batch"> {
  if (propertyOf(body, "batch") === undefined) return {}
  return { batch: { within_hours: numberIn(propertyBlock(body, "batch"), "within_hours") ?? defaultBatchHours } }
}
