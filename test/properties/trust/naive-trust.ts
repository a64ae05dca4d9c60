import type {
  Agent,
  Approval,
  Ask,
  Condition,
  Dynamic,
  FileCall,
  FileDeclaration,
  FileInput,
  FileUse,
  FileValue,
  Label,
  List,
  Loop,
  RoundCondition,
  RoundInput,
  Text,
  Tool,
  Workflow,
} from "./labelled-workflow.ts"

// The rules of trust by brute force: a graph of what flows into what, and a walk from every source along every path. It shares nothing
// with the checker: neither its tree nor its order, and it keeps no labels on values.

interface Source {
  readonly name: string
  readonly node: string
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
  /** The call of the file in which it is: its nodes begin with this, and the names that others have for its sources with that. */
  readonly within?: { readonly prefix: string; readonly named: string }
}

/** `chosen`: by strangers, among what the author wrote. */
type Carried = Label | "chosen"

interface Edge {
  readonly to: string
  readonly carries: readonly Carried[]
  /** What each of them is then. */
  readonly as?: Carried
}

const all: readonly Carried[] = ["untrusted", "private", "chosen"]

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
  return graphOf(workflow).findings()
}

/** The most sources of a label that one value may have: inside of a called file, those of the file are there twice, by two names. */
export function maxSourcesOf(workflow: Workflow, label: Label): number {
  const names = new Set(graphOf(workflow).sources.flatMap((one) => (one.label === label ? [one.name] : [])))
  return [...names].reduce((count, name) => count + (name.includes("#") ? 2 : 1), 0)
}

function graphOf(workflow: Workflow): Graph {
  const graph = new Graph()
  new NaiveTrust(workflow, graph).follow()
  return graph
}

/** What flows into what, in a workflow and in every call of a file in it. */
class Graph {
  readonly sources: Source[] = []
  readonly sinks: Sink[] = []
  readonly exceptions: { readonly id: number; readonly label: Label; readonly nodes: readonly string[] }[] = []
  readonly #edges = new Map<string, Edge[]>()
  #fresh = 0

  findings(): string[] {
    const found = new Set<string>()
    for (const source of this.sources) {
      const reached = this.#reachedFrom([source.node], source.label)
      for (const { label, finding, nodes, server, isOnce, within } of this.sinks) {
        if (label !== source.label || (server !== undefined && server === source.server)) continue
        if (!nodes.some((node) => reached.has(node))) continue
        for (const name of this.#namesOf(source, nodes, within))
          found.add(isOnce === true ? finding : `${finding} ${name}`)
      }
    }
    for (const { id, label, nodes } of this.exceptions) {
      const given = this.sources.filter((one) => one.label === label).map(({ node }) => node)
      // A caller may have written any part of the input.
      const reached = this.#reachedFrom([...given, ...inputs], label, inputs)
      if (!nodes.some((node) => reached.has(node))) found.add(`needless-exception ${id}`)
    }
    return [...found].sort()
  }

  /** A source of a called file has its own name where the way stays in the file, and another one for each file around that it goes out to and comes back from. */
  #namesOf({ name, node, label }: Source, sink: readonly string[], within: Sink["within"]): string[] {
    if (within === undefined || !node.startsWith(within.prefix)) return [name]
    const calls = within.prefix.split("/").slice(0, -1)
    const names: string[] = []
    for (let level = calls.length; level >= 0; level--) {
      const isInside = insideOf(calls.slice(0, level))
      const isDeeper = level === calls.length ? () => false : insideOf(calls.slice(0, level + 1))
      const reached = this.#walk([[node, label]], isInside)
      const outside = all.flatMap((as) =>
        [...reached[as]].filter((one) => !isDeeper(one)).map((one) => [one, as] as const),
      )
      const back = this.#walk(outside, isInside)[label]
      if (sink.some((one) => back.has(one))) names.push(name.split("#").slice(level).join("#"))
    }
    return names
  }

  fresh(): number {
    return this.#fresh++
  }

  flow(from: readonly string[], to: string, carries = all, as?: Carried): void {
    for (const node of from) {
      const edges = this.#edges.get(node) ?? []
      edges.push({ to, carries, ...(as !== undefined && { as }) })
      this.#edges.set(node, edges)
    }
  }

  /** The nodes that have the label. `chosen`: strangers may have chosen these, too. */
  #reachedFrom(starts: readonly string[], label: Label, chosen: readonly string[] = []): Set<string> {
    const others = label === "untrusted" ? chosen.map((start) => [start, "chosen"] as const) : []
    return this.#walk([...starts.map((start) => [start, label] as const), ...others])[label]
  }

  /** From these nodes on, each with what it has, over nodes that are `allowed`. */
  #walk(
    starts: readonly (readonly [string, Carried])[],
    allowed: (node: string) => boolean = () => true,
  ): Record<Carried, Set<string>> {
    const reached: Record<Carried, Set<string>> = { untrusted: new Set(), private: new Set(), chosen: new Set() }
    const open: [string, Carried][] = []
    const reach = (node: string, as: Carried): void => {
      if (reached[as].has(node) || !allowed(node)) return
      reached[as].add(node)
      open.push([node, as])
    }
    for (const [start, as] of starts) reach(start, as)
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [node, has] = next
      for (const { to, carries, as } of this.#edges.get(node) ?? []) if (carries.includes(has)) reach(to, as ?? has)
    }
    return reached
  }
}

/** The call of a file, as the file sees it. */
interface Caller {
  /** Before the nodes of this call. */
  readonly prefix: string
  /** Before the names of sources in the file: `f1.wire#f0.wire#`. */
  readonly named: string
  /** The step of the outermost file in which all of it happens. */
  readonly step: string
  readonly decided: readonly string[]
  /** The run goes on where the file fails. */
  readonly isCaught: boolean
}

/** The nodes of what a file gives. */
interface Given {
  readonly text: readonly string[]
  readonly flag: readonly string[]
  readonly list: Items
  /** Those of the value itself: that it is there, or how many rounds it took. Every part has them, too. */
  readonly own: readonly string[]
}

/** One file, or one call of a file: each call has nodes of its own. */
class NaiveTrust {
  readonly #workflow: Workflow
  readonly #graph: Graph
  readonly #caller: Caller | undefined
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #prefix: string
  /** What may have failed by now, where the run goes on after a failure. */
  #caught: string[] | undefined
  /** What called files gave meanwhile. */
  #gave: string[] = []
  #isInList = false
  #isSideBySide = false
  /** The calls of files meanwhile, with what may have failed in them. */
  #ended: { readonly call: object; readonly nodes: readonly string[] }[] = []

  constructor(workflow: Workflow, graph: Graph, caller?: Caller) {
    this.#workflow = workflow
    this.#graph = graph
    this.#caller = caller
    this.#prefix = caller?.prefix ?? ""
    this.#tools = new Map(workflow.tools.map((tool) => [tool.name, tool]))
    for (const [path, label] of Object.entries(workflow.marks)) this.#source(`input.${path}`, label)
    for (const tool of workflow.tools) this.#give(tool)
    for (const { name, gives } of workflow.files) for (const label of gives) this.#source(`workflow.${name}`, label)
  }

  follow(): void {
    const { output, steps } = this.#workflow
    const failures = new Map<string, readonly string[]>()
    for (const step of steps) {
      const id = `${step.kind}.${step.name}`
      const failed = this.#reach(id, () => {
        if (step.kind === "agent") this.#agent(step)
        else if (step.kind === "ask") this.#ask(step)
        else this.#dynamic(step)
      })
      failures.set(id, step.kind === "agent" ? [...failed, this.#node(`${id}:reads`)] : failed)
    }
    const failed = this.#reach("output", () => {
      if (output !== undefined) this.#sideBySide(() => this.#output(output))
    })
    failures.set("output", failed)
    this.#ends(failures)
  }

  #output({ text, flag, list }: NonNullable<Workflow["output"]>): void {
    const where = this.#start("output")
    this.#graph.flow(this.#text(text, where), this.#node("output.text"))
    this.#graph.flow(this.#condition(flag, where), this.#node("output.flag"))
    this.#keep(this.#list(list, where), "output.list")
  }

  /** Whoever calls the file goes on after a failure in it: what may fail decides whether its other steps are reached. */
  #reach(id: string, run: () => void): readonly string[] {
    if (this.#caller?.isCaught !== true) {
      run()
      return []
    }
    this.#caught = [this.#node(`${id}:reached`)]
    run()
    const failed = this.#caught.slice(1)
    this.#caught = undefined
    return failed
  }

  /** A failure ends all that is not done before it. */
  #ends(failures: ReadonlyMap<string, readonly string[]>): void {
    const { steps, output } = this.#workflow
    const needed = new Map<string, unknown>([
      ...steps.map((step) => [`${step.kind}.${step.name}`, step] as const),
      ["output", output],
    ])
    for (const [failing, nodes] of failures) {
      const before = new Set([failing])
      for (const id of before)
        for (const one of needed.keys()) if (refersTo(needed.get(id), one.slice(one.indexOf(".") + 1))) before.add(one)
      const step = needed.get(failing)
      if (typeof step === "object" && step !== null && "loop" in step && step.loop !== undefined) before.delete(failing)
      for (const id of needed.keys()) if (!before.has(id)) this.#graph.flow(nodes, this.#node(`${id}:reached`))
    }
  }

  /** What may fail in other parts decides about the steps of a file that is under way, where the run goes on. */
  #sideBySide<T>(run: () => T): T {
    const ends = this.#caller?.isCaught === true || this.#workflow.files.length > 0
    if (this.#caught === undefined || this.#isSideBySide || !ends) return run()
    this.#isSideBySide = true
    const [outer, ended] = [this.#caught, this.#ended]
    const side = this.#node(`side ${this.#graph.fresh()}`)
    this.#caught = [...outer, side]
    this.#ended = []
    const value = run()
    const failed = this.#caught.slice(outer.length + 1)
    const calls = new Set(this.#ended.map(({ call }) => call))
    // A file that stands alone is ended by its own failures inside of it.
    const own = new Set(calls.size > 1 ? [] : this.#ended.flatMap(({ nodes }) => nodes))
    this.#graph.flow(
      failed.filter((node) => !own.has(node)),
      side,
    )
    this.#caught = outer
    outer.push(...failed)
    this.#ended = [...ended, ...this.#ended]
    this.#isSideBySide = false
    return value
  }

  #node(name: string): string {
    return `${this.#prefix}${name}`
  }

  /** A source, by the name that the outermost file has for it. */
  #source(name: string, label: Label, server?: string): void {
    this.#graph.sources.push({
      name: `${this.#caller?.named ?? ""}${name}`,
      node: this.#node(name),
      label,
      ...(server !== undefined && { server: this.#node(server) }),
    })
  }

  /** What a called file warns about is its own matter. */
  #sink(sink: Sink): void {
    if (this.#caller === undefined || sink.isOnce !== true)
      this.#graph.sinks.push({ ...sink, ...(this.#caller && { within: this.#caller }) })
  }

  #start(step: string): Where {
    return { step: this.#caller?.step ?? step, decided: this.#caller?.decided ?? [], variables: new Map() }
  }

  /** If a call that fails is seen by somebody, anything in it may have made it fail. */
  #anything(nodes: readonly string[]): void {
    this.#caught?.push(...nodes)
    this.#graph.flow(nodes, this.#node("anything"))
  }

  /** What may fail meanwhile: the run goes on then, where something `skips`. */
  #catching(skips: boolean, run: () => void): readonly string[] {
    const outer = this.#caught
    if (skips) this.#caught = [...(outer ?? [])]
    run()
    const caught = skips ? (this.#caught ?? []) : []
    outer?.push(...caught)
    this.#caught = outer
    return caught
  }

  /** What strangers may write who choose in a called file again and again: once for each item. */
  #repeatedly(run: () => void): readonly string[] {
    const outer = this.#gave
    this.#gave = []
    run()
    const words = this.#words(this.#gave)
    outer.push(...this.#gave)
    this.#gave = outer
    return words
  }

  #words(choices: readonly string[]): readonly string[] {
    const words = this.#node(`words ${this.#graph.fresh()}`)
    this.#graph.flow(choices, words, ["chosen"], "untrusted")
    return [words]
  }

  /** What may fail in an element of a list decides about the calls of the next ones, where the run goes on. */
  #element(where: Where, run: (where: Where) => readonly string[]): readonly string[] {
    if (this.#caught === undefined || this.#isInList) return run(where)
    this.#isInList = true
    const outer = this.#caught
    this.#caught = []
    run(where)
    const failed = this.#caught
    outer.push(...failed)
    this.#caught = outer
    const element = run({ ...where, decided: [...where.decided, ...failed] })
    this.#isInList = false
    return element
  }

  /** An array in nodes of its own. */
  #keep({ own, element, gathered }: Items, step: string): void {
    this.#graph.flow(own, this.#node(`${step}:length`))
    this.#graph.flow(textOf(element), this.#node(`${step}:element`))
    this.#graph.flow(gathered, this.#node(`${step}:together`))
  }

  #kept(step: string): Items {
    const own = [this.#node(`${step}:length`)]
    const nodes = [...own, this.#node(`${step}:element`)]
    return { own, element: { kind: "text", nodes }, gathered: [this.#node(`${step}:together`)] }
  }

  // ------------------------------------------------------------------------------------------------------ called files

  #declaration(name: string): FileDeclaration {
    const declared = this.#workflow.files.find((one) => one.name === name)
    if (declared === undefined) throw new Error(`No file is called ${name}`)
    return declared
  }

  /** One call of a file. The caller says what flows into the nodes of its input, which begin with the prefix. */
  #inside(
    { name, file }: FileDeclaration,
    { step, decided }: Where,
    call: object,
    isCaught = this.#caught !== undefined,
  ): { readonly prefix: string; readonly given: Given } {
    const prefix = `${this.#prefix}${name}@${this.#graph.fresh()}/`
    const named = `${this.#caller?.named ?? ""}${file.path}#`
    const inner = new NaiveTrust(file.workflow, this.#graph, { prefix, named, step, decided, isCaught })
    inner.#anything(inputs.map((one) => inner.#node(one)))
    inner.follow()
    const nodes = [inner.#node("anything"), this.#node(`workflow.${name}`)]
    this.#ended.push({ call, nodes })
    this.#anything(nodes)
    const text = [inner.#node("output.text")]
    return { prefix, given: { text, flag: [inner.#node("output.flag")], list: inner.#kept("output.list"), own: [] } }
  }

  #fileCall(call: FileCall, where: Where): Given {
    let given: Given | undefined
    const caught = this.#catching(call.skips, () => (given = this.#fileCalled(call, where)))
    if (given === undefined) throw new Error("A call gives something")
    this.#gave.push(...given.text, ...given.flag, ...wholeOf(given.list), ...given.own)
    return withOwn(given, caught)
  }

  #fileCalled(call: FileCall, around: Where): Given {
    const { workflow, input, approval, repeat } = call
    const declared = this.#declaration(workflow)
    const mark = this.#node(`workflow.${workflow}`)
    const ended = this.#node(`ended ${this.#graph.fresh()}`)
    const sent = this.#sideBySide(() => this.#input(input, around))
    const where = { ...around, decided: [...around.decided, ...(this.#caught ?? [])] }
    this.#fileSinks(declared, approval, where, [...sent.values()].flat(), [])
    const first = this.#inside(declared, where, call)
    this.#fill(first.prefix, sent)
    this.#ended.push({ call, nodes: around.decided })
    this.#anything(around.decided)
    if (repeat === undefined) return withOwn(first.given, [mark])
    // All rounds after the first are one call that gives its result to itself.
    const stopped = this.#node(`stopped ${this.#graph.fresh()}`)
    const later = this.#inside(declared, { ...where, decided: [...where.decided, ended, stopped] }, call)
    this.#fill(later.prefix, sent)
    this.#fileSinks(declared, approval, where, [ended, stopped], [])
    // What the declaration says of the result, `until` and `next` see, too.
    const both = bothOf(first.given, later.given)
    const result: Given = {
      text: [...both.text, mark],
      flag: [...both.flag, mark],
      list: {
        ...both.list,
        own: [...both.list.own, mark],
        element: { kind: "text", nodes: [...textOf(both.list.element), mark] },
      },
      own: [...both.own, mark],
    }
    // After a round that failed there is no other one.
    this.#graph.flow(this.#caught ?? [], stopped)
    this.#graph.flow(this.#until(repeat.until, result, where), ended)
    for (const [path, nodes] of this.#next(repeat.next, result, ended, where)) {
      // All of these are texts, which grow by a choice in each round.
      const grown = [...nodes, ended, ...this.#words([...nodes, ended])]
      this.#graph.flow(grown, `${later.prefix}${path}`)
      this.#fileSinks(declared, approval, where, grown, [])
    }
    return withOwn(result, [ended])
  }

  #fill(prefix: string, sent: ReadonlyMap<string, readonly string[]>): void {
    for (const [path, nodes] of sent) this.#graph.flow(nodes, `${prefix}${path}`)
  }

  /** What each part of the input is given. */
  #input(input: Partial<FileInput>, where: Where): Map<string, readonly string[]> {
    const given = new Map<string, readonly string[]>()
    const { customer, rows, go } = input
    for (const field of ["mail", "iban", "shop"] as const) {
      const value = input[field]
      if (value !== undefined) given.set(`input.${field}`, this.#text(value, where))
    }
    for (const field of ["mails", "letters"] as const) {
      const value = input[field]
      if (value !== undefined) giveList(given, `input.${field}`, this.#list(value, where))
    }
    for (const field of ["note", "name", "id"] as const) {
      if (customer !== undefined) given.set(`input.customer.${field}`, this.#text(customer[field], where))
    }
    if (go !== undefined) given.set("input.go", this.#condition(go, where))
    if (rows === undefined) return given
    const over = this.#items(rows.loop, where)
    const inner = {
      ...where,
      variables: withVariable(where, rows.loop, over),
      decided: [...where.decided, ...over.own],
    }
    given.set("input.rows", over.own)
    const words = this.#repeatedly(() => {
      this.#element(inner, (one) => {
        const fields = (["id", "note"] as const).map((field) => [field, this.#text(rows[field], one)] as const)
        for (const [field, nodes] of fields) given.set(`input.rows.*.${field}`, [...over.own, ...nodes])
        return []
      })
    })
    given.set("input.rows:together", [...over.gathered, ...words])
    return given
  }

  #until(until: RoundCondition, { text, flag, list }: Given, where: Where): readonly string[] {
    switch (until.kind) {
      case "flag":
        return flag
      case "text":
        return text
      case "list":
        return list.own
      default:
        return this.#condition(until, where)
    }
  }

  #next(next: RoundInput, result: Given, ended: string, where: Where): Map<string, readonly string[]> {
    const given = new Map<string, readonly string[]>()
    for (const field of ["mail", "iban"] as const) {
      const value = next[field]
      if (value?.kind === "result") given.set(`input.${field}`, result.text)
      else if (value?.kind === "round") given.set(`input.${field}`, [ended])
      else if (value !== undefined) given.set(`input.${field}`, this.#text(value, where))
    }
    for (const field of ["mails", "letters"] as const) {
      const value = next[field]
      if (value === undefined) continue
      giveList(given, `input.${field}`, value.kind === "result-list" ? result.list : this.#list(value, where))
    }
    return given
  }

  /** A file that a model calls: it may call it again after it read what came of it. */
  #fileUsed(use: FileUse, sent: ReadonlyMap<string, readonly string[]>, where: Where, reads: string): void {
    const { workflow, bound, approval } = use
    const declared = this.#declaration(workflow)
    this.#fileSinks(declared, approval, where, [...sent.values()].flat(), [reads])
    for (let call = 0; call < 2; call++) {
      const { prefix, given } = this.#inside(declared, { ...where, decided: [...where.decided, reads] }, use, true)
      this.#fill(prefix, sent)
      for (const path of inputs) if (!isGiven(path, bound)) this.#graph.flow([reads], `${prefix}${path}`)
      const { text, flag, list } = given
      const results = [...text, ...flag, ...list.own, ...textOf(list.element), ...list.gathered]
      // The model is told why a call failed.
      this.#graph.flow([...results, `${prefix}anything`, this.#node(`workflow.${workflow}`)], reads)
    }
  }

  #fileSinks(
    { name, requiresTrust }: FileDeclaration,
    approval: Approval,
    { step, decided }: Where,
    sent: readonly string[],
    reads: readonly string[],
  ): void {
    const nodes = [...sent, ...reads, ...decided]
    if (requiresTrust && approval === "none") {
      this.#sink({ label: "untrusted", finding: `untrusted-action ${step} workflow.${name}`, nodes })
    }
    if (approval === "group") this.#sink({ label: "private", finding: `private-leak ${step} an approval`, nodes })
  }

  #fileValue(value: FileValue, where: Where): Given {
    if (value.kind === "file-call") return this.#fileCall(value, where)
    const step = `dynamic.${value.name}`
    const part = (name: string): string[] => [this.#node(`${step}:${name}`)]
    return { text: part("text"), flag: part("flag"), list: this.#kept(`${step}:list`), own: part("own") }
  }

  // ------------------------------------------------------------------------------------------------------------- tools

  #give({ name, server, gives, requires }: Tool): void {
    const { gives: ofServer } = this.#workflow.servers[server]
    const said: readonly string[] = gives ?? (ofServer === undefined ? [] : [ofServer])
    const acts = requires === "trusted" || requires === "to"
    if (said.includes("untrusted") || (!said.includes("trusted") && !acts)) {
      this.#source(`tool.${name}`, "untrusted", server)
    }
    if (said.includes("private")) this.#source(`tool.${name}`, "private", server)
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
    { step, decided: decisions }: Where,
    to: readonly string[] | undefined,
    filled: readonly string[],
    isUse: boolean,
  ): void {
    const bound = to ?? []
    const decided = [...decisions, ...(isUse ? [] : (this.#caught ?? []))]
    // A tool that fails may say what it was called with. What decides about the call decides whether it fails.
    this.#anything([this.#node(`tool.${name}`), ...bound, ...(isUse ? [] : [...filled, ...decisions])])
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
      this.#sink({ label: "private", finding: `private-leak ${sink}`, nodes: all, server: this.#node(server) })
    }
    const asked = [approval, own].find((one) => one.endsWith("group"))
    if (asked === "group") this.#sink({ label: "private", finding: `private-leak ${step} an approval`, nodes: all })
  }

  // ------------------------------------------------------------------------------------------------------------- steps

  #agent(agent: Agent): void {
    const { name, loop, when, skips } = agent
    const id = `agent.${name}`
    const start = this.#start(id)
    const items = loop && this.#items(loop, start)
    const variables = loop && items ? withVariable(start, loop, items) : start.variables
    const own = [...start.decided, ...(items?.own ?? [])]
    let condition: readonly string[] = []
    const judged = this.#catching(skips, () => {
      if (when !== undefined) condition = this.#condition(when, { ...start, variables, decided: own })
    })
    const outer: Where = { step: start.step, decided: [...own, ...condition, ...judged], variables }
    let caught: readonly string[] = []
    const words = this.#repeatedly(() => (caught = this.#catching(skips, () => this.#asked(agent, outer))))
    const node = (part: string): string => this.#node(`${id}${part}`)
    const graph = this.#graph
    graph.flow([node(":reads")], node(".text"))
    graph.flow([node(":reads")], node(".ok"), ["private"])
    graph.flow([node(":reads")], node(".ok"), ["untrusted", "chosen"], "chosen")
    for (const part of [".text", ".ok", ":length"]) {
      graph.flow([...outer.decided, ...caught, ...(skips ? [node(":reads")] : [])], node(part))
    }
    graph.flow([node(":reads"), ...words, ...(items?.gathered ?? [])], node(":together"))
    graph.flow([node(":said"), node(":reads")], node(":conversation"))
  }

  /** What the model of an agent reads, and what it may call. */
  #asked({ name, instruction, system, requirement, context, uses, files, models }: Agent, outer: Where): void {
    const id = `agent.${name}`
    const node = (part: string): string => this.#node(`${id}${part}`)
    const graph = this.#graph
    const results: string[] = []
    const { bound, sent } = this.#sideBySide(() => {
      const texts = [instruction, ...(requirement === undefined ? [] : [requirement])]
      graph.flow(
        texts.flatMap((one) => this.#text(one, outer)),
        node(":said"),
      )
      if (context !== undefined) {
        graph.flow([this.#node(`agent.${context.name}:conversation`)], node(":context"))
        if (context.compact !== undefined) {
          graph.flow(this.#text(context.compact.instruction, outer), node(":context"))
          if (context.compact.model === "fast") this.#shown(outer.step, [node(":context")])
        }
        graph.flow([node(":context")], node(":said"))
      }
      const bound = uses.map(({ tool, to }) => {
        const imported = this.#tool(tool).to
        const nodes =
          to === undefined
            ? imported === undefined
              ? undefined
              : [this.#node(`input.${imported}`)]
            : this.#text(to, outer)
        results.push(this.#node(`tool.${tool}`), ...(nodes ?? []))
        return nodes
      })
      if (system !== undefined) graph.flow(this.#text(system, outer), node(":reads"))
      return { bound, sent: files.map((file) => this.#input(file.bound, outer)) }
    })
    graph.flow([node(":said"), ...results], node(":reads"))
    const inner = { ...outer, decided: [...outer.decided, ...(this.#caught ?? [])] }
    files.forEach((file, at) => this.#fileUsed(file, sent[at] ?? new Map(), inner, node(":reads")))

    const models_ = [...models, ...(context?.compact === undefined ? [] : [context.compact.model])]
    if (models.includes("fast")) this.#shown(outer.step, [node(":reads")])
    if (models_.includes("fast")) this.#shown(outer.step, inner.decided)
    for (const [index, { tool, approval }] of uses.entries()) {
      this.#called(this.#tool(tool), approval, inner, bound[index], [node(":reads")], true)
      if (this.#tool(tool).requires !== undefined) continue
      const finding = `undeclared-effect ${outer.step} tool.${tool}`
      this.#sink({ label: "untrusted", finding, nodes: [node(":reads")], isOnce: true })
    }
    this.#anything(outer.decided)
  }

  #shown(step: string, nodes: readonly string[]): void {
    this.#sink({ label: "private", finding: `private-leak ${step} model.fast`, nodes })
  }

  #ask({ name, when, question, to, isCleared, expired }: Ask): void {
    const id = `ask.${name}`
    const start = this.#start(id)
    const { step } = start
    const decided = [...start.decided, ...(when === undefined ? [] : this.#condition(when, start))]
    const inner = { ...start, decided }
    const { shown, group, late } = this.#sideBySide(() => ({
      shown: this.#text(question, inner),
      group: to === undefined ? undefined : this.#text(to, inner),
      late: expired === undefined ? [] : this.#text(expired, inner),
    }))
    if (group !== undefined) {
      const nodes = group
      this.#sink({ label: "untrusted", finding: `untrusted-action ${step} ${id}.to`, nodes })
      this.#sink({ label: "private", finding: `private-leak ${step} ${id}.to`, nodes })
      if (!isCleared) {
        this.#sink({
          label: "private",
          finding: `private-leak ${step} ${id}`,
          nodes: [...shown, ...decided, ...(this.#caught ?? [])],
        })
      }
    }
    // Whether anybody answers in time is not known.
    this.#anything(decided)
    this.#graph.flow([...decided, ...late], this.#node(`${id}.text`))
  }

  #dynamic(dynamic: Dynamic): void {
    const step = `dynamic.${dynamic.name}`
    const where = this.#start(step)
    const all = this.#node(step)
    this.#sideBySide(() => this.#value(dynamic, step, all, where))
  }

  #value(dynamic: Dynamic, step: string, all: string, where: Where): void {
    const graph = this.#graph
    if ("value" in dynamic) graph.flow(this.#text(dynamic.value, where), all)
    else if ("parts" in dynamic) {
      for (const part of ["p", "q"] as const) {
        graph.flow(this.#text(dynamic.parts[part], where), `${all}.${part}`)
        graph.flow([`${all}.${part}`], all)
      }
    } else if ("list" in dynamic) {
      this.#keep(this.#list(dynamic.list, where), step)
      graph.flow([`${all}:length`, `${all}:element`, `${all}:together`], all)
    } else {
      const { text, flag, list, own } = this.#fileCall(dynamic.file, where)
      graph.flow(text, `${all}:text`)
      graph.flow(flag, `${all}:flag`)
      graph.flow(own, `${all}:own`)
      this.#keep(list, `${step}:list`)
      const parts = ["text", "flag", "own", "list:length", "list:element", "list:together"]
      graph.flow(
        parts.map((part) => `${all}:${part}`),
        all,
      )
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
        return [this.#node(`input.${node.field}`)]
      case "customer":
        return [this.#node(`input.customer.${node.field}`)]
      case "agent":
        return otherwise([this.#node(`agent.${node.name}.${node.field}`)], node.otherwise)
      case "ask":
        return otherwise([this.#node(`ask.${node.name}.text`)], node.otherwise)
      case "dynamic":
      case "all":
        return [this.#node(`dynamic.${node.name}`)]
      case "part":
        return [this.#node(`dynamic.${node.name}.${node.field}`)]
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
        if (this.#caller === undefined) this.#graph.exceptions.push({ id: node.id, label, nodes })
        const fresh = this.#node(`fresh ${this.#graph.fresh()}`)
        this.#graph.flow(
          nodes,
          fresh,
          all.filter((one) => one !== label && (label === "private" || one !== "chosen")),
        )
        return [fresh]
      }
      case "join": {
        const { own, element, gathered } = this.#list(node.list, where)
        return [...own, ...textOf(element), ...gathered]
      }
      case "file":
        return partOf(this.#fileValue(node.value, where), node.field)
      case "call": {
        const tool = this.#tool(node.tool)
        const { given, body } = this.#sideBySide(() => ({
          given: node.to === undefined ? undefined : this.#text(node.to, where),
          body: this.#text(node.body, where),
        }))
        const to = given ?? (tool.to === undefined ? undefined : [this.#node(`input.${tool.to}`)])
        this.#called(tool, node.approval, where, to, body, false)
        return [this.#node(`tool.${node.tool}`), ...(to ?? []), ...body]
      }
    }
  }

  #condition(node: Condition, where: Where): readonly string[] {
    switch (node.kind) {
      case "go":
        return [this.#node("input.go")]
      case "equal":
        return [...this.#text(node.left, where), ...this.#text(node.right, where)]
      case "not":
        return this.#condition(node.of, where)
      case "and":
        return [...this.#condition(node.left, where), ...this.#condition(node.right, where)]
      case "longer":
        return this.#list(node.list, where).own
      case "agent":
        return [this.#node(`agent.${node.name}.ok`)]
      case "item-field": {
        const item = where.variables.get(node.name)
        return item?.kind === "output" ? item.ok : []
      }
      case "file-flag": {
        const value = this.#fileValue(node.value, where)
        if (node.field === "done") return value.own
        return node.field === "flag"
          ? partOf(value, "flag")
          : [...value.own, ...value.text, ...value.flag, ...wholeOf(value.list)]
      }
    }
  }

  #list(node: List, where: Where): Items {
    const items = (own: readonly string[], nodes: readonly string[], gathered: readonly string[] = []): Items => {
      return { own, element: { kind: "text", nodes: [...own, ...nodes] }, gathered }
    }
    switch (node.kind) {
      case "mails":
      case "letters": {
        const path = this.#node(`input.${node.kind}`)
        return items([path], [`${path}.*`], [`${path}:together`])
      }
      case "ids":
      case "notes": {
        const path = this.#node("input.rows")
        return items([path], [`${path}.*.${node.kind === "ids" ? "id" : "note"}`], [`${path}:together`])
      }
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
        return this.#kept(`dynamic.${node.name}`)
      }
      case "pluck": {
        const step = this.#node(`agent.${node.name}`)
        const part = `${step}.${node.field}`
        const left = node.drops ? [part, `${step}:together`] : []
        return items([`${step}:length`, ...left], [part], [`${step}:together`])
      }
      case "file-list": {
        const { list, own } = this.#fileValue(node.value, where)
        return items([...own, ...list.own], textOf(list.element), list.gathered)
      }
      case "list": {
        const over = this.#items(node.loop, where)
        const variables = withVariable(where, node.loop, over)
        const inner = { ...where, variables, decided: [...where.decided, ...over.own] }
        const when = node.when === undefined ? [] : this.#condition(node.when, inner)
        const by = node.by === undefined ? [] : this.#text(node.by, inner)
        const at = { ...inner, decided: [...inner.decided, ...when, ...by] }
        let value: readonly string[] = []
        const words = this.#repeatedly(() => (value = this.#element(at, (one) => this.#text(node.value, one))))
        const isChosen = node.when !== undefined || node.by !== undefined
        return items([...over.own, ...when, ...by, ...(isChosen ? over.gathered : [])], value, [
          ...over.gathered,
          ...words,
        ])
      }
    }
  }

  #items({ over }: Loop, where: Where): Items {
    if (over.kind !== "outputs") return this.#list(over, where)
    const step = this.#node(`agent.${over.name}`)
    const length = `${step}:length`
    const element: Item = { kind: "output", text: [`${step}.text`, length], ok: [`${step}.ok`, length] }
    return { own: [length], element, gathered: [`${step}:together`] }
  }
}

/** Whether a node is in a call of a file within calls of others. */
function insideOf(calls: readonly string[]): (node: string) => boolean {
  const prefix = calls.map((call) => `${call}/`).join("")
  return (node) => node.startsWith(prefix)
}

/** Every part of the input. */
const paths =
  "mail iban shop go mails mails.* mails:together letters letters.* letters:together rows rows:together rows.*.id rows.*.note customer.note customer.name customer.id"
const inputs = paths.split(" ").map((path) => `input.${path}`)

function textOf(item: Item): readonly string[] {
  return item.kind === "text" ? item.nodes : [...item.text, ...item.ok]
}

function withVariable({ variables }: Where, { variable }: Loop, { element }: Items): ReadonlyMap<string, Item> {
  return new Map([...variables, [variable, element]])
}

function wholeOf({ own, element, gathered }: Items): readonly string[] {
  return [...own, ...textOf(element), ...gathered]
}

function partOf(value: Given, part: "text" | "flag"): readonly string[] {
  return [...value.own, ...value[part]]
}

function withOwn(value: Given, own: readonly string[]): Given {
  return { ...value, own: [...value.own, ...own] }
}

function bothOf(a: Given, b: Given): Given {
  const element: Item = { kind: "text", nodes: [...textOf(a.list.element), ...textOf(b.list.element)] }
  const gathered = [...a.list.gathered, ...b.list.gathered]
  return {
    text: [...a.text, ...b.text],
    flag: [...a.flag, ...b.flag],
    list: { own: [...a.list.own, ...b.list.own], element, gathered },
    own: [...a.own, ...b.own],
  }
}

function giveList(given: Map<string, readonly string[]>, path: string, { own, element, gathered }: Items): void {
  given.set(path, own)
  given.set(`${path}.*`, textOf(element))
  given.set(`${path}:together`, gathered)
}

/** Whether a step names another one: each has a name of its own. */
function refersTo(step: unknown, name: string): boolean {
  if (typeof step !== "object" || step === null) return false
  return Object.entries(step).some(([key, part]) => (key === "name" && part === name) || refersTo(part, name))
}

/** Whether a field of the input, or a part of one, is bound. */
function isGiven(path: string, bound: Partial<FileInput>): boolean {
  return Object.hasOwn(bound, path.split(/[.:]/)[1] ?? "")
}
