import type { Agent, Approval, Ask, Condition, Dynamic, List, Loop, Text, Tool, Workflow } from "./labelled-workflow.ts"

// The rules of trust by brute force: a graph of what flows into what, and a walk from every source along every path. It shares nothing
// with the checker: neither its tree nor its order, and it keeps no labels on values.

type Label = "untrusted" | "private"

interface Source {
  readonly name: string
  readonly label: Label
  readonly server?: string
}

/** A place where a label must not arrive. */
interface Sink {
  readonly label: Label
  /** `untrusted-action agent.n3 tool.t1`: the finding without its source. */
  readonly finding: string
  readonly nodes: readonly string[]
  /** A server that may have what it gave. */
  readonly server?: string
  /** A warning is given once, and not for each source. */
  readonly isOnce?: true
}

interface Edge {
  readonly to: string
  readonly carries: readonly Label[]
}

const both: readonly Label[] = ["untrusted", "private"]

/** The nodes of an array: its length, an element, and all elements together. */
interface Items {
  readonly own: readonly string[]
  readonly element: Item
  readonly gathered: readonly string[]
}

type Item =
  | { readonly kind: "text"; readonly nodes: readonly string[] }
  | { readonly kind: "output"; readonly text: readonly string[]; readonly ok: readonly string[] }

interface Where {
  readonly step: string
  readonly decided: readonly string[]
  readonly variables: ReadonlyMap<string, Item>
}

/** Every finding: `code step sink source` of errors, `code step sink` and `code reason` of warnings; sorted. */
export function naiveFindings(workflow: Workflow): string[] {
  return new NaiveTrust(workflow).findings()
}

class NaiveTrust {
  readonly #workflow: Workflow
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #edges = new Map<string, Edge[]>()
  readonly #sources: Source[] = [
    { name: "input.mail", label: "untrusted" },
    { name: "input.iban", label: "private" },
    { name: "input.customer.note", label: "untrusted" },
    { name: "input.customer.name", label: "private" },
    { name: "input.mails.*", label: "untrusted" },
    { name: "input.letters", label: "untrusted" },
    { name: "input.rows.*.note", label: "untrusted" },
  ]
  readonly #sinks: Sink[] = []
  readonly #exceptions: { readonly id: number; readonly label: Label; readonly nodes: readonly string[] }[] = []
  #fresh = 0

  constructor(workflow: Workflow) {
    this.#workflow = workflow
    this.#tools = new Map(workflow.tools.map((tool) => [tool.name, tool]))
    for (const tool of workflow.tools) this.#give(tool)
    for (const step of workflow.steps) {
      if (step.kind === "agent") this.#agent(step)
      else if (step.kind === "ask") this.#ask(step)
      else this.#dynamic(step)
    }
  }

  findings(): string[] {
    const found = new Set<string>()
    for (const source of this.#sources) {
      const reached = this.#reachedFrom([source.name], source.label)
      for (const { label, finding, nodes, server, isOnce } of this.#sinks) {
        if (label !== source.label || (server !== undefined && server === source.server)) continue
        if (!nodes.some((node) => reached.has(node))) continue
        found.add(isOnce === true ? finding : `${finding} ${source.name}`)
      }
    }
    for (const { id, label, nodes } of this.#exceptions) {
      const given = this.#sources.filter((one) => one.label === label).map(({ name }) => name)
      // A caller may have written any part of the input.
      const reached = this.#reachedFrom([...given, ...inputs], label)
      if (!nodes.some((node) => reached.has(node))) found.add(`needless-exception ${id}`)
    }
    return [...found].sort()
  }

  #reachedFrom(starts: readonly string[], label: Label): Set<string> {
    const reached = new Set(starts)
    const open = [...starts]
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const { to, carries } of this.#edges.get(node) ?? []) {
        if (!carries.includes(label) || reached.has(to)) continue
        reached.add(to)
        open.push(to)
      }
    }
    return reached
  }

  #flow(from: readonly string[], to: string, carries = both): void {
    for (const node of from) {
      const edges = this.#edges.get(node) ?? []
      edges.push({ to, carries })
      this.#edges.set(node, edges)
    }
  }

  #sink(sink: Sink): void {
    this.#sinks.push(sink)
  }

  // ------------------------------------------------------------------------------------------------------------- tools

  #give({ name, server, gives, requires }: Tool): void {
    const { gives: ofServer } = this.#workflow.servers[server]
    const said: readonly string[] = gives ?? (ofServer === undefined ? [] : [ofServer])
    const acts = requires === "trusted" || requires === "to"
    const source = { name: `tool.${name}`, server }
    if (said.includes("untrusted") || (!said.includes("trusted") && !acts)) {
      this.#sources.push({ ...source, label: "untrusted" })
    }
    if (said.includes("private")) this.#sources.push({ ...source, label: "private" })
  }

  #tool(name: string): Tool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new Error(`No tool is called ${name}`)
    return tool
  }

  /** What may not arrive at a call, or at an entry of `uses`. `to` is bound or given; `filled` by a model, or the other argument. */
  #called(
    { name, server, requires, isCleared, approval }: Tool,
    own: Approval,
    { step, decided }: Where,
    to: readonly string[] | undefined,
    filled: readonly string[],
    isUse: boolean,
  ): void {
    const bound = to ?? []
    const sink = `${step} tool.${name}`
    if (approval === "none" && own === "none") {
      const nodes =
        requires === "trusted"
          ? [...bound, ...filled, ...decided]
          : requires === "to"
            ? [...bound, ...(to === undefined && isUse ? filled : [])]
            : []
      this.#sink({ label: "untrusted", finding: `untrusted-action ${sink}`, nodes })
    }
    const all = [...bound, ...filled, ...decided]
    if (!isCleared && !this.#workflow.servers[server].isCleared) {
      this.#sink({ label: "private", finding: `private-leak ${sink}`, nodes: all, server })
    }
    const asked = [approval, own].find((one) => one.endsWith("group"))
    if (asked === "group") this.#sink({ label: "private", finding: `private-leak ${step} an approval`, nodes: all })
  }

  // ------------------------------------------------------------------------------------------------------------- steps

  #agent(agent: Agent): void {
    const { name, loop, when, instruction, system, requirement, context, uses, skips, models } = agent
    const step = `agent.${name}`
    const start: Where = { step, decided: [], variables: new Map() }
    const items = loop && this.#items(loop, start)
    const variables = loop && items ? withVariable(start, loop, items) : start.variables
    const own = items?.own ?? []
    const condition = when === undefined ? [] : this.#condition(when, { ...start, variables, decided: own })
    const inner: Where = { step, decided: [...own, ...condition], variables }

    const texts = [instruction, ...(requirement === undefined ? [] : [requirement])]
    this.#flow(
      texts.flatMap((one) => this.#text(one, inner)),
      `${step}:said`,
    )
    if (context !== undefined) {
      this.#flow([`agent.${context.name}:conversation`], `${step}:context`)
      if (context.compact !== undefined) {
        this.#flow(this.#text(context.compact.instruction, inner), `${step}:context`)
        if (context.compact.model === "fast") this.#shown(step, [`${step}:context`])
      }
      this.#flow([`${step}:context`], `${step}:said`)
    }
    const results: string[] = []
    const bound = uses.map(({ tool, to }) => {
      const imported = this.#tool(tool).to
      const nodes =
        to === undefined ? (imported === undefined ? undefined : [`input.${imported}`]) : this.#text(to, inner)
      results.push(`tool.${tool}`, ...(nodes ?? []))
      return nodes
    })
    this.#flow([`${step}:said`, ...results], `${step}:reads`)
    if (system !== undefined) this.#flow(this.#text(system, inner), `${step}:reads`)

    const models_ = [...models, ...(context?.compact === undefined ? [] : [context.compact.model])]
    if (models.includes("fast")) this.#shown(step, [`${step}:reads`])
    if (models_.includes("fast")) this.#shown(step, inner.decided)
    for (const [index, { tool, approval }] of uses.entries()) {
      this.#called(this.#tool(tool), approval, inner, bound[index], [`${step}:reads`], true)
      if (this.#tool(tool).requires !== undefined) continue
      const finding = `undeclared-effect ${step} tool.${tool}`
      this.#sink({ label: "untrusted", finding, nodes: [`${step}:reads`], isOnce: true })
    }

    this.#flow([`${step}:reads`], `${step}.text`)
    this.#flow([`${step}:reads`], `${step}.ok`, ["private"])
    for (const part of [`${step}.text`, `${step}.ok`, `${step}:length`]) {
      this.#flow([...inner.decided, ...(skips ? [`${step}:reads`] : [])], part)
    }
    this.#flow([`${step}:reads`, ...(items?.gathered ?? [])], `${step}:together`)
    this.#flow([`${step}:said`, `${step}:reads`], `${step}:conversation`)
  }

  #shown(step: string, nodes: readonly string[]): void {
    this.#sink({ label: "private", finding: `private-leak ${step} model.fast`, nodes })
  }

  #ask({ name, when, question, to, isCleared, expired }: Ask): void {
    const step = `ask.${name}`
    const start: Where = { step, decided: [], variables: new Map() }
    const decided = when === undefined ? [] : this.#condition(when, start)
    const inner = { ...start, decided }
    const shown = this.#text(question, inner)
    if (to !== undefined) {
      const nodes = this.#text(to, inner)
      this.#sink({ label: "untrusted", finding: `untrusted-action ${step} ${step}.to`, nodes })
      this.#sink({ label: "private", finding: `private-leak ${step} ${step}.to`, nodes })
      if (!isCleared) {
        this.#sink({ label: "private", finding: `private-leak ${step} ${step}`, nodes: [...shown, ...decided] })
      }
    }
    this.#flow([...decided, ...(expired === undefined ? [] : this.#text(expired, inner))], `${step}.text`)
  }

  #dynamic(dynamic: Dynamic): void {
    const step = `dynamic.${dynamic.name}`
    const where: Where = { step, decided: [], variables: new Map() }
    if ("value" in dynamic) this.#flow(this.#text(dynamic.value, where), step)
    else if ("parts" in dynamic) {
      for (const part of ["p", "q"] as const) {
        this.#flow(this.#text(dynamic.parts[part], where), `${step}.${part}`)
        this.#flow([`${step}.${part}`], step)
      }
    } else {
      const { own, element, gathered } = this.#list(dynamic.list, where)
      this.#flow(own, `${step}:length`)
      this.#flow(textOf(element), `${step}:element`)
      this.#flow(gathered, `${step}:together`)
      this.#flow([`${step}:length`, `${step}:element`, `${step}:together`], step)
    }
  }

  // ------------------------------------------------------------------------------------------------------------ values

  /** The nodes that a text is made from. */
  #text(node: Text, where: Where): readonly string[] {
    const otherwise = (value: string[], other: Text | undefined): string[] => {
      if (other === undefined) return value
      return [...value, ...this.#text(other, { ...where, decided: [...where.decided, ...value] })]
    }
    switch (node.kind) {
      case "literal":
        return []
      case "input":
        return [`input.${node.field}`]
      case "customer":
        return [`input.customer.${node.field}`]
      case "agent":
        return otherwise([`agent.${node.name}.${node.field}`], node.otherwise)
      case "ask":
        return otherwise([`ask.${node.name}.text`], node.otherwise)
      case "dynamic":
      case "all":
        return [`dynamic.${node.name}`]
      case "part":
        return [`dynamic.${node.name}.${node.field}`]
      case "item": {
        const item = where.variables.get(node.name)
        return item === undefined ? [] : textOf(item)
      }
      case "item-field": {
        const item = where.variables.get(node.name)
        return item?.kind === "output" ? item[node.field] : []
      }
      case "interpolation":
        return node.parts.flatMap((part) => this.#text(part, where))
      case "upper":
        return this.#text(node.of, where)
      case "match": {
        const on = this.#condition(node.on, where)
        const inner = { ...where, decided: [...where.decided, ...on] }
        return [...on, ...this.#text(node.yes, inner), ...this.#text(node.no, inner)]
      }
      case "exception": {
        const label = node.word === "trust" ? "untrusted" : "private"
        const nodes = this.#text(node.of, where)
        this.#exceptions.push({ id: node.id, label, nodes })
        const fresh = `fresh ${this.#fresh++}`
        this.#flow(
          nodes,
          fresh,
          both.filter((one) => one !== label),
        )
        return [fresh]
      }
      case "join": {
        const { own, element, gathered } = this.#list(node.list, where)
        return [...own, ...textOf(element), ...gathered]
      }
      case "call": {
        const tool = this.#tool(node.tool)
        const given = node.to === undefined ? undefined : this.#text(node.to, where)
        const to = given ?? (tool.to === undefined ? undefined : [`input.${tool.to}`])
        const body = this.#text(node.body, where)
        this.#called(tool, node.approval, where, to, body, false)
        return [`tool.${node.tool}`, ...(to ?? []), ...body]
      }
    }
  }

  #condition(node: Condition, where: Where): readonly string[] {
    switch (node.kind) {
      case "go":
        return ["input.go"]
      case "equal":
        return [...this.#text(node.left, where), ...this.#text(node.right, where)]
      case "not":
        return this.#condition(node.of, where)
      case "and":
        return [...this.#condition(node.left, where), ...this.#condition(node.right, where)]
      case "longer":
        return this.#list(node.list, where).own
      case "agent":
        return [`agent.${node.name}.ok`]
      case "item-field": {
        const item = where.variables.get(node.name)
        return item?.kind === "output" ? item.ok : []
      }
    }
  }

  #list(node: List, where: Where): Items {
    const items = (own: readonly string[], nodes: readonly string[], gathered: readonly string[] = []): Items => {
      return { own, element: { kind: "text", nodes: [...own, ...nodes] }, gathered }
    }
    switch (node.kind) {
      case "mails":
        return items(["input.mails"], ["input.mails.*"])
      case "letters":
        return items(["input.letters"], [])
      case "ids":
        return items(["input.rows"], ["input.rows.*.id"])
      case "notes":
        return items(["input.rows"], ["input.rows.*.note"])
      case "lines":
        return items(this.#text(node.of, where), [])
      case "array":
        return items(
          [],
          node.items.flatMap((one) => this.#text(one, where)),
        )
      case "slice":
        return this.#list(node.of, where)
      case "concat": {
        const [left, right] = [this.#list(node.left, where), this.#list(node.right, where)]
        const elements = [...textOf(left.element), ...textOf(right.element)]
        return items([...left.own, ...right.own], elements, [...left.gathered, ...right.gathered])
      }
      case "dynamic-list": {
        const step = `dynamic.${node.name}`
        return items([`${step}:length`], [`${step}:element`], [`${step}:together`])
      }
      case "pluck": {
        const step = `agent.${node.name}`
        const part = `${step}.${node.field}`
        const left = node.drops ? [part, `${step}:together`] : []
        return items([`${step}:length`, ...left], [part], [`${step}:together`])
      }
      case "list": {
        const over = this.#items(node.loop, where)
        const variables = withVariable(where, node.loop, over)
        const inner = { ...where, variables, decided: [...where.decided, ...over.own] }
        const when = node.when === undefined ? [] : this.#condition(node.when, inner)
        const by = node.by === undefined ? [] : this.#text(node.by, inner)
        const value = this.#text(node.value, { ...inner, decided: [...inner.decided, ...when] })
        const isChosen = node.when !== undefined || node.by !== undefined
        return items([...over.own, ...when, ...by, ...(isChosen ? over.gathered : [])], value, over.gathered)
      }
    }
  }

  #items({ over }: Loop, where: Where): Items {
    if (over.kind !== "outputs") return this.#list(over, where)
    const step = `agent.${over.name}`
    const length = `${step}:length`
    const element: Item = { kind: "output", text: [`${step}.text`, length], ok: [`${step}.ok`, length] }
    return { own: [length], element, gathered: [`${step}:together`] }
  }
}

/** Every part of the input. */
const paths =
  "mail iban shop go mails mails.* letters rows rows.*.id rows.*.note customer.note customer.name customer.id"
const inputs = paths.split(" ").map((path) => `input.${path}`)

function textOf(item: Item): readonly string[] {
  return item.kind === "text" ? item.nodes : [...item.text, ...item.ok]
}

function withVariable({ variables }: Where, { variable }: Loop, { element }: Items): ReadonlyMap<string, Item> {
  return new Map([...variables, [variable, element]])
}
