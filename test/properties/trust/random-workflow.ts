import type { Random } from "../../support/random.ts"
import type {
  Agent,
  Approval,
  Ask,
  CalledFile,
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
  MarkedPath,
  RoundCondition,
  RoundInput,
  RoundList,
  RoundText,
  Text,
  Tool,
  Workflow,
} from "./labelled-workflow.ts"
import { naiveFindings } from "./naive-trust.ts"

/** A workflow that is right but for what trust has to say. This share of them calls files. */
export function randomWorkflow(random: Random, tenantOfCalling: number): Workflow {
  return new WorkflowMaker(random, random.chance(tenantOfCalling) ? randomFiles(random) : []).make(defaultMarks)
}

const defaultMarks: Workflow["marks"] = {
  mail: "untrusted",
  iban: "private",
  "customer.note": "untrusted",
  "customer.name": "private",
  "mails.*": "untrusted",
  letters: "untrusted",
  "rows.*.note": "untrusted",
}

const markedPaths = [...Object.keys(defaultMarks), "shop", "customer.id"] as readonly MarkedPath[]

/** Files that may call the ones before them. One with errors of its own cannot be called. */
function randomFiles(random: Random): CalledFile[] {
  const files: CalledFile[] = []
  const count = 1 + random.below(3)
  for (let tries = 0; files.length < count && tries < 40; tries++) {
    const marks = Object.fromEntries(
      random.list(random.below(2), () => [random.pick(markedPaths), random.pick(labels)]),
    )
    const workflow = new WorkflowMaker(random, files, true).make(marks)
    const isSound = !naiveFindings(workflow).some((one) => /^(?:untrusted-action|private-leak) /.test(one))
    if (isSound) files.push({ path: `f${files.length}.wire`, workflow })
  }
  return files
}

const labels: readonly Label[] = ["untrusted", "private"]

/** The fields that say where a call of a file goes: whoever calls it writes them out. */
type AddressField = "mail" | "iban" | "shop"

const addressFields: readonly AddressField[] = ["mail", "iban", "shop"]

function addressesIn({ tools, steps, files, output }: Workflow): ReadonlySet<AddressField> {
  const found = new Set(tools.flatMap(({ to }) => to ?? []))
  const inner = new Map(files.map(({ name, file }) => [name, addressesIn(file.workflow)]))
  const look = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    if ("workflow" in node) {
      const { workflow, input, bound } = node as Partial<FileCall & FileUse>
      for (const field of inner.get(workflow ?? "") ?? []) {
        const given = (input ?? bound)?.[field]
        if (given?.kind === "input") found.add(given.field)
      }
    }
    for (const part of Object.values(node)) look(part)
  }
  look([steps, output])
  return found
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
  readonly #dynamics: { readonly name: string; readonly kind: "text" | "parts" | "list" | FileCall }[] = []
  readonly #files: readonly FileDeclaration[]
  readonly #isCalled: boolean
  /** For each file, the fields of its input that say where calls go. */
  readonly #addresses: ReadonlyMap<string, ReadonlySet<AddressField>>
  #names = 0

  constructor(random: Random, files: readonly CalledFile[], isCalled = false) {
    this.#random = random
    this.#isCalled = isCalled
    this.#tools = random.list(1 + random.below(3), (index) => this.#tool(index))
    this.#files = files.map((file, index) => ({
      name: `w${index}`,
      file,
      gives: labels.filter(() => random.chance(0.1)),
      requiresTrust: random.chance(0.1),
    }))
    this.#addresses = new Map(this.#files.map(({ name, file }) => [name, addressesIn(file.workflow)]))
  }

  make(marks: Workflow["marks"]): Workflow {
    const random = this.#random
    const server = (): Workflow["servers"]["shop"] => {
      const gives = this.#maybe(0.5, ["trusted", "private"] as const)
      return { isCleared: random.chance(0.2), ...(gives !== undefined && { gives }) }
    }
    const steps = random.list(1 + random.below(5), () => this.#step())
    const scope: Scope = { variables: [], mayCall: true, depth: 2 }
    return {
      marks,
      files: this.#files,
      servers: { shop: server(), web: server() },
      tools: this.#tools,
      steps,
      ...(this.#isCalled && {
        output: {
          text: this.#text(scope),
          flag: this.#condition({ ...scope, mayCall: false }),
          list: this.#list(scope),
        },
      }),
    }
  }

  #tool(index: number): Tool {
    const random = this.#random
    return {
      name: `t${index}`,
      server: random.pick(["shop", "web"]),
      // A file that mixes strangers' words and tools that act is rarely right by itself.
      gives: this.#maybe(this.#isCalled ? 0.9 : 0.6, [
        ["trusted"],
        this.#isCalled ? ["trusted"] : ["untrusted"],
        ["private"],
        ["trusted", "private"],
      ]),
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
    const files = this.#files.filter(() => random.chance(0.25))
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
      uses: used.map(({ name, to }) => {
        // What the import binds, a use may not bind again.
        const binds = to === undefined && random.chance(0.4)
        return { tool: name, approval: this.#approval(), ...(binds && { to: this.#text(quiet) }) }
      }),
      files: files.map(({ name }) => this.#fileUse(name, quiet)),
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
    const name = this.#name()
    if (this.#files.length > 0 && this.#random.chance(0.4)) {
      const file = this.#fileCall(scope)
      this.#dynamics.push({ name, kind: file })
      return { kind: "dynamic", name, file }
    }
    const kind = this.#random.pick(["text", "text", "parts", "list"] as const)
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

  // ------------------------------------------------------------------------------------------------------ called files

  #fileCall(scope: Scope): FileCall {
    const random = this.#random
    const { name } = random.pick(this.#files)
    const inner = { ...scope, depth: Math.min(scope.depth - 1, 1), mayCall: false }
    const isRepeated = random.chance(0.4)
    return {
      kind: "file-call",
      workflow: name,
      input: this.#fileInput(name, inner),
      approval: this.#approval(),
      skips: random.chance(0.2),
      ...(isRepeated && { repeat: { until: this.#until(inner), next: this.#next(name, inner) } }),
    }
  }

  #fileInput(name: string, scope: Scope): FileInput {
    const fixed = this.#addresses.get(name)
    const text = (): Text => this.#text(scope)
    const field = (one: AddressField): Text => (fixed?.has(one) === true ? this.#address() : text())
    const loop = this.#loop({ ...scope, depth: scope.depth - 1 })
    const each = { ...scope, variables: [...scope.variables, variableOf(loop)] }
    return {
      mail: field("mail"),
      iban: field("iban"),
      shop: field("shop"),
      customer: { note: text(), name: text(), id: text() },
      mails: this.#list(scope),
      letters: this.#list(scope),
      rows: { loop, id: this.#text(each), note: this.#text(each) },
      go: this.#condition(scope),
    }
  }

  #address(): Text {
    const random = this.#random
    return random.chance(0.5) ? { kind: "literal" } : { kind: "input", field: random.pick(addressFields) }
  }

  #until(scope: Scope): RoundCondition {
    const kind = this.#random.pick(["flag", "flag", "text", "list", "other"] as const)
    return kind === "other" ? this.#condition(scope) : { kind }
  }

  #next(name: string, scope: Scope): RoundInput {
    const random = this.#random
    const fixed = this.#addresses.get(name)
    const text = (): RoundText => {
      const kind = random.pick(["result", "result", "round", "other"] as const)
      return kind === "other" ? this.#text(scope) : { kind }
    }
    const list = (): RoundList => {
      return random.chance(0.7) ? { kind: "result-list" } : this.#list(scope)
    }
    return {
      ...(fixed?.has("mail") !== true && random.chance(0.6) && { mail: text() }),
      ...(fixed?.has("iban") !== true && random.chance(0.4) && { iban: text() }),
      ...(random.chance(0.3) && { mails: list() }),
      letters: list(),
    }
  }

  #fileUse(name: string, scope: Scope): FileUse {
    const fixed: ReadonlySet<string> = this.#addresses.get(name) ?? new Set()
    const all = this.#fileInput(name, { ...scope, depth: 1 })
    const bound = Object.entries(all).filter(([field]) => fixed.has(field) || this.#random.chance(0.4))
    return { workflow: name, bound: Object.fromEntries(bound), approval: this.#approval() }
  }

  /** Values of files that were called, and of calls that stand there. */
  #fileValues(scope: Scope): (() => FileValue)[] {
    const values: (() => FileValue)[] = this.#dynamics.flatMap(({ name, kind }) => {
      return typeof kind === "string" ? [] : [() => ({ kind: "file-dynamic", name, by: kind }) as const]
    })
    if (this.#files.length > 0 && scope.mayCall && scope.depth > 1) values.push(() => this.#fileCall(scope))
    return values
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
    for (const value of this.#fileValues(scope)) {
      choices.push(() => ({ kind: "file", value: value(), field: random.pick(["text", "text", "flag"]) }))
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
    for (const value of this.#fileValues({ ...scope, mayCall: false })) {
      choices.push(() => this.#fileFlag(value()))
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

  #fileFlag(value: FileValue): Condition {
    const { repeat, skips } = value.kind === "file-call" ? value : value.by
    const done = repeat === undefined ? [] : (["done"] as const)
    const missing = skips ? (["missing"] as const) : []
    return { kind: "file-flag", value, field: this.#random.pick(["flag", ...done, ...missing]) }
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
    for (const value of this.#fileValues(scope)) choices.push(() => ({ kind: "file-list", value: value() }))
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
