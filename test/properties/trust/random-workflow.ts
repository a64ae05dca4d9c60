import type { Random } from "../../support/random.ts"
import type { Agent, Approval, Ask, Condition, Dynamic, List, Loop, Text, Tool, Workflow } from "./labelled-workflow.ts"

/** A workflow that is right but for what trust has to say. */
export function randomWorkflow(random: Random): Workflow {
  return new WorkflowMaker(random).make()
}

interface Variable {
  readonly name: string
  readonly kind: "text" | "output" | "maybe output"
}

/** Where a value stands. */
interface Scope {
  readonly variables: readonly Variable[]
  readonly mayCall: boolean
  /** How much deeper it may go. */
  readonly depth: number
}

class WorkflowMaker {
  readonly #random: Random
  readonly #tools: Tool[]
  readonly #agents: { readonly name: string; readonly isLooped: boolean; readonly isNullable: boolean }[] = []
  readonly #asks: { readonly name: string; readonly isNullable: boolean }[] = []
  readonly #dynamics: { readonly name: string; readonly kind: "text" | "parts" | "list" }[] = []
  #names = 0

  constructor(random: Random) {
    this.#random = random
    this.#tools = random.list(1 + random.below(3), (index) => this.#tool(index))
  }

  make(): Workflow {
    const random = this.#random
    const server = (): Workflow["servers"]["shop"] => {
      const gives = this.#maybe(0.5, ["trusted", "private"] as const)
      return { isCleared: random.chance(0.2), ...(gives !== undefined && { gives }) }
    }
    const steps = random.list(1 + random.below(5), () => this.#step())
    return { servers: { shop: server(), web: server() }, tools: this.#tools, steps }
  }

  #tool(index: number): Tool {
    const random = this.#random
    return {
      name: `t${index}`,
      server: random.pick(["shop", "web"]),
      gives: this.#maybe(0.6, [["trusted"], ["private"], ["untrusted"], ["trusted", "private"]]),
      requires: this.#maybe(0.8, ["trusted", "trusted", "none", "to"]),
      isCleared: random.chance(0.3),
      approval: this.#approval(),
      to: this.#maybe(0.5, ["mail", "shop", "iban"]),
    }
  }

  #approval(): Approval {
    return this.#random.pick(["none", "none", "none", "none", "caller", "group", "cleared group"])
  }

  #maybe<T>(probability: number, items: readonly T[]): T | undefined {
    return this.#random.chance(probability) ? this.#random.pick(items) : undefined
  }

  #name(): string {
    return `n${this.#names++}`
  }

  #step(): Agent | Ask | Dynamic {
    const kind = this.#random.pick(["agent", "agent", "agent", "ask", "dynamic", "dynamic"] as const)
    if (kind === "agent") return this.#agent()
    return kind === "ask" ? this.#ask() : this.#dynamic()
  }

  #agent(): Agent {
    const random = this.#random
    const open: Scope = { variables: [], mayCall: true, depth: 2 }
    const loop = random.chance(0.35) ? this.#loop({ ...open, mayCall: false }) : undefined
    const variables = loop === undefined ? [] : [variableOf(loop)]
    const inner = { ...open, variables }
    const quiet = { ...inner, mayCall: false }
    const when = random.chance(0.3) ? this.#condition(quiet) : undefined
    const skips = random.chance(0.15)
    const before = this.#agents.filter(({ isLooped, isNullable }) => !isLooped && !isNullable)
    const context = before.length > 0 && random.chance(0.3) ? random.pick(before).name : undefined
    const isCompact = random.chance(0.4)
    const compact = { model: random.pick(["safe", "fast"] as const), instruction: this.#text(quiet) }
    const used = this.#tools.filter(() => random.chance(0.35))
    const agent: Agent = {
      kind: "agent",
      name: this.#name(),
      ...(loop !== undefined && { loop }),
      ...(when !== undefined && { when }),
      models: random.pick([["safe"], ["safe"], ["fast"], ["safe", "fast"]]),
      instruction: this.#text(inner),
      ...(random.chance(0.2) && { system: this.#text(quiet) }),
      ...(random.chance(0.2) && { requirement: this.#text(quiet) }),
      ...(context !== undefined && { context: { name: context, ...(isCompact && { compact }) } }),
      uses: used.map(({ name }) => {
        return { tool: name, approval: this.#approval(), ...(random.chance(0.4) && { to: this.#text(quiet) }) }
      }),
      skips,
    }
    this.#agents.push({
      name: agent.name,
      isLooped: loop !== undefined,
      isNullable: when !== undefined || skips,
    })
    return agent
  }

  #ask(): Ask {
    const random = this.#random
    const scope: Scope = { variables: [], mayCall: false, depth: 2 }
    const ask: Ask = {
      kind: "ask",
      name: this.#name(),
      ...(random.chance(0.3) && { when: this.#condition(scope) }),
      question: this.#text(scope),
      ...(random.chance(0.6) && { to: random.chance(0.7) ? { kind: "literal" } : this.#text({ ...scope, depth: 0 }) }),
      isCleared: random.chance(0.3),
      ...(random.chance(0.5) && { expired: this.#text(scope) }),
    }
    this.#asks.push({ name: ask.name, isNullable: ask.when !== undefined })
    return ask
  }

  #dynamic(): Dynamic {
    const scope: Scope = { variables: [], mayCall: true, depth: 3 }
    const kind = this.#random.pick(["text", "text", "parts", "list"] as const)
    const name = this.#name()
    const value = (): Text => this.#text(scope)
    const made: Dynamic =
      kind === "text"
        ? { kind: "dynamic", name, value: value() }
        : kind === "parts"
          ? { kind: "dynamic", name, parts: { p: value(), q: value() } }
          : { kind: "dynamic", name, list: this.#list(scope) }
    this.#dynamics.push({ name, kind })
    return made
  }

  // ------------------------------------------------------------------------------------------------------------ values

  #text(scope: Scope): Text {
    const random = this.#random
    const inner = { ...scope, depth: scope.depth - 1 }
    if (scope.depth <= 0 || random.chance(0.4)) return this.#leaf(scope)
    const again = (): Text => this.#text(inner)
    switch (random.below(scope.mayCall ? 9 : 7)) {
      case 0:
        return { kind: "interpolation", parts: [again(), again()] }
      case 1:
        return { kind: "upper", of: again() }
      case 2:
      case 3:
        return { kind: "match", on: this.#condition({ ...inner, mayCall: false }), yes: again(), no: again() }
      case 4:
        return { kind: "exception", id: this.#names++, word: random.pick(["trust", "release"]), of: again() }
      case 5:
      case 6:
        return { kind: "join", list: this.#list(inner) }
      default: {
        const tool = random.pick(this.#tools)
        const to = tool.to === undefined ? { to: again() } : {}
        return { kind: "call", tool: tool.name, ...to, body: again(), approval: this.#approval() }
      }
    }
  }

  #leaf(scope: Scope): Text {
    const random = this.#random
    const nothing: Text = { kind: "literal" }
    // A default may go further: what decides whether it is evaluated reaches the calls in it.
    const otherwise = (): Text => (scope.depth > 0 ? this.#text({ ...scope, depth: scope.depth - 1 }) : nothing)
    const choices: (() => Text)[] = [
      () => nothing,
      () => ({ kind: "input", field: random.pick(["mail", "iban", "shop"]) }),
      () => ({ kind: "customer", field: random.pick(["note", "name", "id"]) }),
    ]
    for (const { name, isLooped, isNullable } of this.#agents) {
      if (isLooped) continue
      const field = random.pick(["text", "ok"] as const)
      choices.push(() => ({ kind: "agent", name, field, ...(isNullable && { otherwise: otherwise() }) }))
    }
    for (const { name, isNullable } of this.#asks) {
      choices.push(() => ({ kind: "ask", name, ...(isNullable && { otherwise: otherwise() }) }))
    }
    for (const { name, kind } of this.#dynamics) {
      if (kind === "text") choices.push(() => ({ kind: "dynamic", name }))
      if (kind === "parts") choices.push(() => ({ kind: "part", name, field: random.pick(["p", "q"]) }))
      choices.push(() => ({ kind: "all", name }))
    }
    for (const { name, kind } of scope.variables) {
      const isNullable = kind === "maybe output"
      const item = (): Text =>
        kind === "text"
          ? { kind: "item", name }
          : { kind: "item-field", name, field: random.pick(["text", "ok"]), isNullable }
      choices.push(item, item)
    }
    return random.pick(choices)()
  }

  #condition(scope: Scope): Condition {
    const random = this.#random
    const inner = { ...scope, depth: scope.depth - 1 }
    const choices: (() => Condition)[] = [() => ({ kind: "go" })]
    for (const { name, isLooped, isNullable } of this.#agents) {
      if (!isLooped) choices.push(() => ({ kind: "agent", name, isNullable }))
    }
    for (const { name, kind } of scope.variables) {
      const isNullable = kind === "maybe output"
      if (kind !== "text") choices.push(() => ({ kind: "item-field", name, isNullable }))
    }
    if (scope.depth > 0) {
      const equal = (): Condition => ({ kind: "equal", left: this.#text(inner), right: this.#text(inner) })
      choices.push(equal, equal)
      choices.push(() => ({ kind: "not", of: this.#condition(inner) }))
      choices.push(() => ({ kind: "and", left: this.#condition(inner), right: this.#condition(inner) }))
      choices.push(() => ({ kind: "longer", list: this.#list(inner) }))
    }
    return random.pick(choices)()
  }

  #list(scope: Scope): List {
    const random = this.#random
    const inner = { ...scope, depth: scope.depth - 1 }
    const choices: (() => List)[] = [() => ({ kind: random.pick(["mails", "letters", "ids", "notes"]) })]
    for (const { name, isLooped, isNullable } of this.#agents) {
      const field = random.pick(["text", "ok"] as const)
      if (isLooped) choices.push(() => ({ kind: "pluck", name, field, drops: isNullable || random.chance(0.3) }))
    }
    for (const { name, kind } of this.#dynamics) {
      if (kind === "list") choices.push(() => ({ kind: "dynamic-list", name }))
    }
    if (scope.depth > 0) {
      choices.push(() => ({ kind: "lines", of: this.#text(inner) }))
      choices.push(() => ({ kind: "slice", of: this.#list(inner) }))
      choices.push(() => ({ kind: "concat", left: this.#list(inner), right: this.#list(inner) }))
      choices.push(() => ({ kind: "array", items: [this.#text(inner), this.#text(inner)] }))
      const made = (): List => this.#listFrom(scope)
      choices.push(made, made, made)
    }
    return random.pick(choices)()
  }

  #listFrom(scope: Scope): List {
    const inner = { ...scope, depth: scope.depth - 1 }
    const loop = this.#loop(inner)
    const within = { ...inner, variables: [...scope.variables, variableOf(loop)] }
    const quiet = { ...within, mayCall: false }
    return {
      kind: "list",
      loop,
      value: this.#text(within),
      ...(this.#random.chance(0.4) && { when: this.#condition(quiet) }),
      ...(this.#random.chance(0.2) && { by: this.#text(quiet) }),
    }
  }

  #loop(scope: Scope): Loop {
    const looped = this.#agents.filter(({ isLooped }) => isLooped)
    const variable = `v${this.#names++}`
    if (looped.length > 0 && this.#random.chance(0.5)) {
      const { name, isNullable } = this.#random.pick(looped)
      return { variable, over: { kind: "outputs", name, isNullable } }
    }
    return { variable, over: this.#list(scope) }
  }
}

function variableOf({ variable, over }: Loop): Variable {
  return {
    name: variable,
    kind: over.kind !== "outputs" ? "text" : over.isNullable ? "maybe output" : "output",
  }
}
