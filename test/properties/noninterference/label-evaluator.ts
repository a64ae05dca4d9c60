import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { ValueFunctionName } from "../../../src/check/function-table.ts"
import { RunFailure } from "../../../src/ports/run-failure.ts"
import { applyFunction } from "../../../src/run/values/functions/apply-function.ts"
import { EvaluationWork } from "../../../src/run/values/evaluation-work.ts"
import { emptyScope } from "../../../src/run/values/scope.ts"
import { parse } from "../../../src/syntax/parser.ts"
import type * as Syntax from "../../../src/syntax/tree.ts"
import type { Random } from "../../support/random.ts"
import type { Settled } from "./program.ts"
import { choicesIn, closedCount, makeValue, randomOf, resolved, type Maker, type WireType } from "./wire-type.ts"

// A second evaluator, which carries labels with values. It runs a program on made-up answers of models, tools and people, and says
// where a label arrived that must not. What it finds in one run, a checker has to find in all runs. Written from the page of trust
// alone: it shares the parser and what functions do with the product, and no label.

/** `untrusted`, `chosen`, `private input`, `private s0` (only because that server gave it). */
type Labels = ReadonlySet<string>

const none: Labels = new Set()

interface Value {
  /** That it is there, its length, its case: what is known without looking into it. */
  readonly own: Labels
  readonly scalar?: JsonValue
  /** It is null because a step failed. */
  readonly failed?: true
  readonly items?: readonly Value[]
  readonly fields?: ReadonlyMap<string, Value>
}

export interface Arrival {
  readonly rule: string
  readonly at: string
}

/** An evaluation that failed, with the labels of what made it fail. */
class Failed extends Error {
  readonly labels: Labels

  constructor(labels: Labels) {
    super("The evaluation failed")
    this.labels = labels
  }
}

/** The labels that arrived where they must not. */
export function arrivalsIn(settled: Settled, random: Random): Arrival[] {
  const run = new LabelledRun(settled, random)
  run.main()
  return run.arrivals
}

const maxChoices = 1_000_000

class LabelledRun {
  readonly arrivals: Arrival[] = []
  readonly settled: Settled
  readonly random: Random
  readonly #trees = new Map<string, Syntax.Tree>()
  #steps = 0

  constructor(settled: Settled, random: Random) {
    this.settled = settled
    this.random = random
  }

  main(): void {
    const { program } = this.settled
    const fields = program.input.map(([name, type]): readonly [string, Value] => {
      const value = marked(type, fromJson(this.made(type), none), "input")
      return [name, program.filled.has(name) ? joined(value, new Set(["untrusted"])) : value]
    })
    const decided: Labels = program.isDeliveredWhen ? new Set(["untrusted"]) : none
    try {
      new LabelledFile(this, this.tree("main.wire"), { own: none, fields: new Map(fields) }, decided).run()
    } catch (error) {
      if (!(error instanceof Failed)) throw error
    }
  }

  tree(path: string): Syntax.Tree {
    const known = this.#trees.get(path)
    if (known !== undefined) return known
    const { tree } = parse(path === "main.wire" ? this.settled.source : (this.settled.modules[path] ?? ""))
    this.#trees.set(path, tree)
    return tree
  }

  /** Some value of a type. */
  made(type: WireType): JsonValue {
    const seed = String(this.random.next())
    const maker: Maker = { seedAt: (path) => `${seed} ${path}`, text: (at) => randomOf(at).pick(["a", "b", "ab", "7"]) }
    return makeValue(type, maker)
  }

  arrive(rule: string, at: string): void {
    this.arrivals.push({ rule, at })
  }

  /** Programs that go on for too long have shown enough. */
  step(): void {
    if (++this.#steps > 20_000) throw new Failed(none)
  }
}

interface Place {
  readonly variables: ReadonlyMap<string, Value>
  readonly locals: ReadonlyMap<string, Value>
  /** The labels of what decided that this is evaluated. */
  readonly decided: Labels
}

/** One file, or one call of one. */
class LabelledFile {
  readonly #run: LabelledRun
  readonly #input: Value
  readonly #decided: Labels
  readonly #agents = new Map<string, Syntax.AgentDeclaration>()
  readonly #asks = new Map<string, Syntax.AskDeclaration>()
  readonly #waits = new Map<string, Syntax.WaitDeclaration>()
  readonly #dynamics = new Map<string, Syntax.Expression>()
  readonly #functions = new Map<string, Syntax.FunctionDeclaration>()
  readonly #output: Syntax.ValueField[] = []
  readonly #files = new Map<string, { readonly path: string; readonly gives: string }>()
  readonly #bindings = new Map<string, readonly Syntax.ValueField[]>()
  readonly #systems = new Map<string, Syntax.Expression>()
  readonly #values = new Map<string, Value>()
  /** What a model reads that continues the conversation of an agent, with its system text and without. */
  readonly #conversations = new Map<
    string,
    { readonly models: readonly string[]; readonly all: Labels; readonly said: Labels }
  >()

  constructor(run: LabelledRun, tree: Syntax.Tree, input: Value, decided: Labels) {
    this.#run = run
    this.#input = input
    this.#decided = decided
    for (const one of tree.declarations) {
      if (one.kind === "agent") this.#agents.set(one.name.text, one)
      else if (one.kind === "ask") this.#asks.set(one.name.text, one)
      else if (one.kind === "wait") this.#waits.set(one.name.text, one)
      else if (one.kind === "function-declaration") this.#functions.set(one.name.text, one)
      else if (one.kind === "dynamic")
        for (const { name, value } of one.body.items) this.#dynamics.set(name.text, value)
      else if (one.kind === "output") this.#output.push(...one.body.items)
      else if (one.kind === "import") this.#bindings.set(one.name.text, blockValues(one.body, "bindings"))
      else if (one.kind === "model") {
        const system = expressionOf(one.body, "system")
        if (system !== undefined) this.#systems.set(one.name.text, system)
      } else if (one.kind === "workflow") {
        const gives = one.body?.items.find(({ name }) => name.text === "gives")
        const text = gives === undefined ? "" : tree.text.slice(gives.start, gives.end)
        this.#files.set(one.name.text, { path: one.file.texts.join("").replace("./", ""), gives: text })
      }
    }
  }

  run(): Value {
    const place = this.#start()
    for (const name of this.#dynamics.keys()) this.#dynamic(name)
    for (const name of this.#agents.keys()) this.#agent(name)
    for (const name of this.#asks.keys()) this.#ask(name)
    for (const name of this.#waits.keys()) this.#wait(name)
    return { own: none, fields: new Map(this.#output.map(({ name, value }) => [name.text, this.#of(value, place)])) }
  }

  #start(): Place {
    return { variables: new Map(), locals: new Map(), decided: this.#decided }
  }

  #once(id: string, make: () => Value): Value {
    const known = this.#values.get(id)
    if (known !== undefined) return known
    const value = make()
    this.#values.set(id, value)
    return value
  }

  #dynamic(name: string): Value {
    return this.#once(`dynamic.${name}`, () => {
      const value = this.#dynamics.get(name)
      if (value === undefined) throw new Error(`No value is called ${name}`)
      return this.#of(value, this.#start())
    })
  }

  // ----------------------------------------------------------------------------------------------------------- steps

  /** Does a step once, or for each item; where it is not done, its value is null. */
  #each(declaration: Syntax.StepDeclaration, once: (place: Place) => Value): Value {
    const { loop, when } = declaration
    const start = this.#start()
    const done = (place: Place): Value => {
      if (when === undefined) return once(place)
      const condition = this.#of(when.condition, place)
      const decided = union(place.decided, whole(condition))
      return joined(condition.scalar === true ? once({ ...place, decided }) : nothing, whole(condition))
    }
    if (loop === undefined) return done(start)
    const list = this.#of(loop.items, start)
    const decided = union(start.decided, list.own)
    return {
      own: list.own,
      items: itemsOf(list).map((item, at) => {
        const variables = bind(start, loop, item, { own: list.own, scalar: at })
        return done({ ...start, decided, variables })
      }),
    }
  }

  #agent(name: string): Value {
    return this.#once(`agent.${name}`, () => {
      const declaration = this.#agents.get(name)
      if (declaration === undefined) throw new Error(`No agent is called ${name}`)
      const value = this.#each(declaration, (place) => this.#agentRounds(name, declaration, place))
      const rounds = this.#values.get(`rounds.${name}`) ?? { own: none, items: [] }
      // An agent that was skipped may have been skipped because of what it read.
      this.#values.set(`rounds.${name}`, isNull(value) ? joined(rounds, value.own) : rounds)
      return value
    })
  }

  /** One round after the other; an agent that does not repeat has one. */
  #agentRounds(name: string, declaration: Syntax.AgentDeclaration, place: Place): Value {
    const block = propertyIn(declaration.body, "repeat")
    if (block?.kind !== "properties") return this.#agentOnce(name, declaration, place)
    const [until, most] = [expressionOf(block.block, "until"), expressionOf(block.block, "at_most")]
    const skips = this.#run.settled.program.agents.get(name)?.skips === true
    const outputs: Value[] = []
    let ended: Labels = none
    let previous: Value = nothing
    const close = (value: Value): Value => {
      this.#values.set(`rounds.${name}`, { own: union(place.decided, ended), items: outputs })
      const before = this.#conversations.get(name)
      if (before !== undefined) {
        const [all, said] = [union(before.all, ended), union(before.said, ended)]
        this.#conversations.set(name, { ...before, all, said })
      }
      return joined(value, ended)
    }
    for (let round = 1; ; round++) {
      this.#run.step()
      const variables = new Map([...place.variables, ["previous", previous]])
      const here = { ...place, variables, decided: union(place.decided, ended) }
      const output = this.#agentOnce(name, declaration, here)
      if (isNull(output)) return close(output)
      outputs.push(output)
      variables.set("result", output)
      variables.set("round", { own: ended, scalar: round })
      if (most?.kind === "number" && round >= most.value) return close(output)
      try {
        const condition = until === undefined ? nothing : this.#of(until, { ...here, variables, locals: new Map() })
        ended = union(ended, whole(condition))
        if (condition.scalar === true) return close(output)
      } catch (error) {
        if (!(error instanceof Failed) || !skips) throw error
        return close(joined(nothing, error.labels))
      }
      previous = joined(output, ended)
    }
  }

  #agentOnce(name: string, { body }: Syntax.AgentDeclaration, outer: Place): Value {
    const { settled, random } = this.#run
    const facts = settled.program.agents.get(name)
    if (facts === undefined) throw new Error(`No agent is called ${name}`)
    const locals = new Map<string, Value>()
    let place: Place = { ...outer, locals }
    let touched: Labels = none
    try {
      for (const property of body.items) {
        if (property.name.text !== "dynamic" || property.value.kind !== "values") continue
        for (const field of property.value.block.items) {
          const value = this.#of(field.value, place)
          locals.set(field.name.text, value)
          touched = union(touched, whole(value))
          place = { ...outer, locals }
        }
      }
      const { model, labels } = this.#chosen(name, body, place, facts.models[0] ?? "")
      const own = union(labels, this.#readings(body, place, model))
      const system = expressionOf(body, "system") ?? this.#systems.get(model)
      const spoken = system === undefined ? none : whole(this.#of(system, place))
      const used = this.#uses(name, body, place, union(own, spoken))
      const reads = union(own, spoken, used)
      for (const model of facts.models) this.#model(model, name, reads, place.decided)
      if (facts.skips && random.chance(0.2)) throw new Failed(reads)
      const output = this.#answer(facts.output, reads)
      this.#conversations.set(name, {
        models: facts.models,
        all: union(reads, whole(output)),
        said: union(own, used, whole(output)),
      })
      return joined(output, union(place.decided, facts.skips ? union(reads, touched) : none))
    } catch (error) {
      if (!(error instanceof Failed) || !facts.skips) throw error
      return joined(failed, union(error.labels, touched))
    }
  }

  /** The model that does a step, and the labels of what chose it. */
  #chosen(
    agent: string,
    body: Syntax.Block<Syntax.Property>,
    place: Place,
    first: string,
  ): { readonly model: string; readonly labels: Labels } {
    const choice = expressionOf(body, "model")
    if (choice === undefined || (choice.kind === "chain" && rootOf(choice) === "model"))
      return { model: first, labels: none }
    const value = this.#of(choice, place)
    const labels = whole(value)
    if (labels.has("untrusted")) this.#run.arrive("untrusted-action", `agent ${agent}.model`)
    return { model: nameOf(value.scalar), labels }
  }

  /** What a model reads besides its system text and what it uses. */
  #readings(body: Syntax.Block<Syntax.Property>, place: Place, model: string): Labels {
    let read: Labels = none
    const add = (expression: Syntax.Expression | undefined): void => {
      if (expression !== undefined) read = union(read, whole(this.#of(expression, place)))
    }
    for (const { name, value } of body.items) {
      const isRead = name.text === "instruction" || name.text === "messages"
      if (isRead && value.kind === "expression") add(value.expression)
      if (value.kind === "file") {
        add(value.content)
        for (const one of value.block?.items ?? []) if (one.value.kind === "expression") add(one.value.expression)
      }
      if (name.text === "file" && value.kind === "properties") {
        for (const one of value.block.items) if (one.value.kind === "expression") add(one.value.expression)
      }
      if (value.kind === "context") {
        const continued = secondOf(value.reference)
        this.#agent(continued)
        const { all = none, said = none, models = [] } = this.#conversations.get(continued) ?? {}
        const compact = value.block
        const here = propertyIn(body, "model")?.kind === "expression" ? [model] : []
        // What a model thought goes on to the same provider.
        const isSame = here.some((one) => models.some((other) => this.#provider(one) === this.#provider(other)))
        const sent = compact === undefined && isSame ? all : said
        read = union(read, sent)
        if (compact !== undefined) {
          const summariser = propertyIn(compact, "model")
          const instruction = expressionOf(compact, "instruction")
          const asked = instruction === undefined ? none : whole(this.#of(instruction, place))
          if (summariser?.kind === "expression") {
            this.#model(
              secondOf(summariser.expression as Syntax.Chain),
              "compaction",
              union(said, asked),
              place.decided,
            )
          }
          read = union(read, asked)
        }
      }
    }
    return read
  }

  #provider(model: string): string {
    return this.#run.settled.program.models.get(model) ?? model
  }

  #model(model: string, about: string, reads: Labels, decided: Labels): void {
    const { settled } = this.#run
    if (settled.text(model, "cleared") !== "" || settled.text(this.#provider(model), "cleared") !== "") return
    if (hasPrivate(reads)) this.#run.arrive("private-leak", `model ${model} reads for ${about}`)
    if (hasPrivate(decided)) this.#run.arrive("private-leak", `model ${model} is called for ${about}`)
  }

  /** What a model makes after it read something: choices are chosen, words keep the labels. */
  #answer(type: WireType, reads: Labels): Value {
    const isWords = choicesIn(type) > maxChoices
    const choice = isWords ? reads : choiceOf(reads)
    const label = (of: WireType, value: Value): Value => {
      if (isWords || value.scalar === null) return joined(value, choice)
      if (closedCount(of) !== Infinity) return joined(value, choice)
      const kind = resolved(of)
      if (kind.kind === "maybe") return label(kind.of, value)
      const byName = kind.kind === "record" ? kind.fields : kind.kind === "variant" ? caseOf(kind, value) : undefined
      if (byName !== undefined && value.fields !== undefined) {
        const types = new Map(byName)
        const fields = [...value.fields].map(([name, one]): [string, Value] => {
          const part = types.get(name)
          return [name, part === undefined ? joined(one, choice) : label(part, one)]
        })
        return { own: choice, fields: new Map(fields) }
      }
      if (kind.kind === "tuple")
        return { own: choice, items: itemsOf(value).map((one, index) => label(kind.of[index] ?? kind, one)) }
      return joined(value, reads)
    }
    return label(type, fromJson(this.#run.made(type), none))
  }

  #uses(agent: string, body: Syntax.Block<Syntax.Property>, place: Place, before: Labels): Labels {
    const uses = propertyIn(body, "uses")
    if (uses?.kind !== "uses") return none
    let results: Labels = none
    const entries = uses.entries.map((entry) => {
      const bound = blockValues(entry.block, "bindings").map(
        ({ name, value }) => [name.text, this.#of(value, place)] as const,
      )
      return { kind: rootOf(entry.reference), name: secondOf(entry.reference), bound: new Map(bound) }
    })
    for (const { kind, name, bound } of entries) {
      const sent = union(...[...bound.values()].map(whole))
      if (kind !== "workflow") results = union(results, this.#given(kind, name), sent)
    }
    const reads = union(before, results)
    for (const { kind, name, bound } of entries) {
      const at = `${kind} ${name} of agent ${agent}`
      if (kind === "workflow") {
        this.#demand(name, at, bound, reads, place.decided)
        continue
      }
      const all = new Map([...this.#imported(name, place), ...bound])
      this.#demand(name, at, all, reads, place.decided)
      // Prompts are rendered before the model is asked; the model decides about the others.
      const decided = kind === "prompt" ? place.decided : union(place.decided, reads)
      this.#clear(name, at, union(...[...all.values()].map(whole)), decided)
    }
    return results
  }

  #ask(name: string): Value {
    return this.#once(`ask.${name}`, () => {
      const declaration = this.#asks.get(name)
      const { settled, random } = this.#run
      const facts = settled.program.asks.get(name)
      if (declaration === undefined || facts === undefined) throw new Error(`No question is called ${name}`)
      const { body } = declaration
      return this.#each(declaration, (place) => {
        const valueOf = (one: string): Value | undefined => {
          const expression = expressionOf(body, one)
          return expression === undefined ? undefined : this.#of(expression, place)
        }
        const [prefill, expires] = [valueOf("prefill"), valueOf("expires_seconds")]
        const shown = [valueOf("question"), valueOf("show"), prefill, expires]
        const seen = union(...shown.map((one) => (one === undefined ? none : whole(one))))
        const to = expressionOf(body, "to")
        if (to !== undefined) {
          const group = whole(this.#of(to, place))
          if (group.has("untrusted")) this.#run.arrive("untrusted-action", `ask ${name}.to`)
          if (hasPrivate(group)) this.#run.arrive("private-leak", `ask ${name}.to`)
          if (settled.text(name, "cleared") === "" && hasPrivate(union(seen, place.decided))) {
            this.#run.arrive("private-leak", `ask ${name}`)
          }
        }
        const expired = expressionOf(body, "on_expiry")
        const ends = expires === undefined ? none : whole(expires)
        if (expired !== undefined && random.chance(0.5))
          return joined(this.#of(expired, place), union(place.decided, ends))
        const given = fromJson(this.#run.made(facts.output), none)
        const left = [...(prefill?.fields ?? [])].filter(() => random.chance(0.5))
        const fields = new Map([...(given.fields ?? []), ...left])
        return joined(
          { ...given, fields },
          union(place.decided, ends, left.length === 0 ? none : (prefill?.own ?? none)),
        )
      })
    })
  }

  #wait(name: string): Value {
    return this.#once(`wait.${name}`, () => {
      const declaration = this.#waits.get(name)
      if (declaration === undefined) throw new Error(`No wait is called ${name}`)
      const { settled, random } = this.#run
      const { body } = declaration
      return this.#each(declaration, (place) => {
        const valueOf = (one: string): Value => {
          const expression = expressionOf(body, one)
          return expression === undefined ? nothing : this.#of(expression, place)
        }
        const key = whole(valueOf("key"))
        if (key.has("untrusted")) this.#run.arrive("untrusted-action", `wait ${name}.key`)
        const facts = settled.program.asks.get(name)
        const ends = union(place.decided, key, whole(valueOf("seconds")), whole(valueOf("until")))
        if (facts === undefined) return { own: ends, scalar: "2026-01-01T00:00:00.000Z" }
        const late = valueOf("on_expiry")
        if (random.chance(0.5)) return joined(late, ends)
        const isTrusted = propertyIn(body, "gives") !== undefined
        return joined(
          fromJson(this.#run.made(facts.output), none),
          union(ends, isTrusted ? none : new Set(["untrusted"])),
        )
      })
    })
  }

  // ---------------------------------------------------------------------------------------------------------- calls

  /** What a tool, resource or prompt gives, besides the labels of what it is given. */
  #given(kind: string, name: string): Labels {
    const { program } = this.#run.settled
    const facts = program.tools.get(name) ?? program.resources.get(name) ?? program.prompts.get(name)
    if (facts === undefined) throw new Error(`Nothing is called ${name}`)
    const gives = facts.gives === "" ? (program.servers.get(facts.server)?.gives ?? "") : facts.gives
    const labels = new Set<string>()
    const requires = this.#run.settled.text(name, "requires")
    const isTrusted = /\btrusted/.test(gives) || kind === "prompt" || /trusted|strict|\[/.test(requires)
    if (gives.includes("untrusted") || !isTrusted) labels.add("untrusted")
    if (gives.includes("private")) labels.add(`private ${facts.server}`)
    const tool = program.tools.get(name)
    if (tool === undefined) return labels
    return union(labels, whole(marked(tool.result, fromJson(this.#run.made(tool.result), none), facts.server)))
  }

  #imported(name: string, place: Place): Map<string, Value> {
    return new Map((this.#bindings.get(name) ?? []).map((field) => [field.name.text, this.#of(field.value, place)]))
  }

  /** What requires trust is neither filled nor decided by strangers. */
  #demand(name: string, at: string, sent: ReadonlyMap<string, Value>, filled: Labels, decided: Labels): void {
    const { settled } = this.#run
    const requires = settled.text(name, "requires")
    if (settled.text(name, "approval") !== "" || requires === "" || requires === "requires: none") return
    const wrong = (labels: Labels): boolean =>
      labels.has("untrusted") || (requires.includes("strict") && labels.has("chosen"))
    const names = /\[(.*)\]/.exec(requires)?.[1]?.split(", ")
    for (const [argument, value] of sent) {
      if ((names === undefined || names.includes(argument)) && wrong(whole(value))) {
        this.#run.arrive("untrusted-action", `${at}: ${argument}`)
      }
    }
    const isFilled = names === undefined || names.some((one) => !sent.has(one))
    if (isFilled && wrong(filled)) this.#run.arrive("untrusted-action", `${at}: filled`)
    if (names === undefined && wrong(decided)) this.#run.arrive("untrusted-action", `${at}: decided`)
  }

  #clear(name: string, at: string, sent: Labels, decided: Labels): void {
    const { settled } = this.#run
    const { program } = settled
    const server = (program.tools.get(name) ?? program.resources.get(name) ?? program.prompts.get(name))?.server ?? ""
    if (settled.text(name, "cleared") !== "" || settled.text(server, "cleared") !== "") return
    if (hasPrivate(sent, server)) this.#run.arrive("private-leak", `${at}: sent`)
    if (hasPrivate(decided, server)) this.#run.arrive("private-leak", `${at}: decided`)
  }

  #invoke(node: Syntax.InvokeNode, around: Place): Value {
    const { when } = node
    if (when === undefined) return this.#invoked(node, around)
    const condition = this.#of(when.condition, around)
    const made = condition.scalar === true ? this.#invoked(node, after(around, whole(condition))) : nothing
    return joined(made, whole(condition))
  }

  #invoked(node: Syntax.InvokeNode, place: Place): Value {
    const name = secondOf(node.target)
    if (rootOf(node.target) === "workflow") return this.#callFile(node, name, place)
    const { settled, random } = this.#run
    const own = [...blockValues(node.block, "input"), ...blockValues(node.block, "bindings")]
    const sent = this.#imported(name, place)
    for (const field of own) sent.set(field.name.text, this.#of(field.value, place))
    const labels = union(...[...sent.values()].map(whole))
    const at = `${node.kind} ${name}`
    this.#demand(name, at, sent, none, place.decided)
    this.#clear(name, at, labels, place.decided)
    const skips = propertyIn(node.block, "on_failure") !== undefined
    const given = union(labels, this.#given(rootOf(node.target), name))
    if (random.chance(skips ? 0.3 : 0.02)) {
      if (skips) return joined(failed, given)
      throw new Failed(given)
    }
    const tool = settled.program.tools.get(name)
    const isText = node.kind === "render" || settled.program.resources.get(name)?.isText === true
    const type: WireType =
      tool?.result ?? (isText ? { kind: "string" } : { kind: "record", fields: [["a", { kind: "string" }]] })
    const result = marked(type, fromJson(this.#run.made(type), none), tool?.server ?? "")
    const plain = this.#givenWithoutMarks(rootOf(node.target), name)
    return joined(result, union(labels, plain, skips ? given : none))
  }

  #givenWithoutMarks(kind: string, name: string): Labels {
    const tool = this.#run.settled.program.tools.get(name)
    if (tool === undefined) return this.#given(kind, name)
    const gives = tool.gives === "" ? (this.#run.settled.program.servers.get(tool.server)?.gives ?? "") : tool.gives
    const labels = new Set<string>()
    const isTrusted = /\btrusted/.test(gives) || /trusted|strict|\[/.test(this.#run.settled.text(name, "requires"))
    if (gives.includes("untrusted") || !isTrusted) labels.add("untrusted")
    if (gives.includes("private")) labels.add(`private ${tool.server}`)
    return labels
  }

  #callFile(node: Syntax.InvokeNode, name: string, place: Place): Value {
    const file = this.#files.get(name)
    if (file === undefined) throw new Error(`No file is called ${name}`)
    const skips = propertyIn(node.block, "on_failure") !== undefined
    const tree = this.#run.tree(file.path)
    const given = new Set([
      ...(file.gives.includes("untrusted") ? ["untrusted"] : []),
      ...(file.gives.includes("private") ? ["private file"] : []),
    ])
    let sent = new Map(
      blockValues(node.block, "input").map(({ name: field, value }) => [field.text, this.#of(value, place)]),
    )
    try {
      const call = (decided: Labels): Value => {
        this.#run.step()
        this.#demand(name, `workflow ${name}`, sent, none, decided)
        const input: Value = { own: none, fields: withMarks(tree, sent) }
        return joined(new LabelledFile(this.#run, tree, input, decided).run(), given)
      }
      if (node.kind === "call") return call(place.decided)
      const until = expressionOf(node.block, "until")
      const most = expressionOf(node.block, "at_most")
      let decided = place.decided
      let ended: Labels = none
      for (let round = 1; ; round++) {
        const result = call(decided)
        const variables = new Map([
          ...place.variables,
          ["result", result],
          ["round", { own: ended, scalar: round }],
        ] as const)
        const inner = { ...place, variables, decided }
        const condition = until === undefined ? nothing : this.#of(until, inner)
        ended = union(ended, whole(condition))
        const isLast = most?.kind === "number" && round >= most.value
        if (condition.scalar === true || isLast) {
          const fields = new Map([
            ["result", result],
            ["rounds", { own: ended, scalar: round }],
            ["done", { own: ended, scalar: condition.scalar === true }],
          ])
          return { own: ended, fields }
        }
        decided = union(decided, ended)
        const next = blockValues(node.block, "next").map(
          ({ name: field, value }) => [field.text, joined(this.#of(value, inner), ended)] as const,
        )
        sent = new Map([...sent, ...next])
      }
    } catch (error) {
      if (!(error instanceof Failed) || !skips) throw error
      return joined(failed, union(error.labels, given))
    }
  }

  // ------------------------------------------------------------------------------------------------------ expressions

  #of(node: Syntax.Expression, place: Place): Value {
    this.#run.step()
    const of = (one: Syntax.Expression, at = place): Value => this.#of(one, at)
    switch (node.kind) {
      case "string":
        return this.#string(node, place)
      case "number":
        return { own: none, scalar: node.value }
      case "word":
        return { own: none, scalar: node.value }
      case "array":
        return { own: none, items: node.items.map((item) => of(item)) }
      case "object":
        return { own: none, fields: new Map(node.body.items.map(({ name, value }) => [name.text, of(value)])) }
      case "group":
        return of(node.expression)
      case "chain":
        return this.#chain(node, place)
      case "default": {
        const left = of(node.left)
        if (!isNull(left)) return left
        return joined(of(node.right, after(place, left.own)), left.own)
      }
      case "binary":
        return this.#binary(node, place)
      case "not": {
        const value = of(node.operand)
        return { own: whole(value), scalar: value.scalar !== true }
      }
      case "negate": {
        const value = of(node.operand)
        return { own: whole(value), scalar: -Number(value.scalar) }
      }
      case "list":
        return this.#list(node, place)
      case "function": {
        if (node.name.text === "rounds") return this.#rounds(node)
        const items = node.items.map((item) => of(item))
        const called = this.#functions.get(node.name.text)
        if (called === undefined) return this.#function(node, items)
        const variables = new Map(called.parameters.map(({ name }, at) => [name.text, items[at] ?? nothing]))
        return of(called.value, { ...place, variables })
      }
      case "match": {
        const value = of(node.value)
        const name = value.fields?.get("kind")?.scalar ?? value.scalar
        const inner = after(place, value.own)
        const branch =
          node.body.items.find((one) => one.case?.text === nameOf(name)) ??
          node.body.items.find((one) => one.case === undefined)
        return branch === undefined ? nothing : joined(of(branch.value, inner), value.own)
      }
      case "call":
      case "read":
      case "render":
      case "repeat":
        return this.#invoke(node, place)
      case "asset": {
        const source = of(node.value)
        if (hasPrivate(union(whole(source), place.decided))) this.#run.arrive("private-leak", "the address of an asset")
        const more = (node.block?.items ?? []).map(({ value }) =>
          value.kind === "expression" ? whole(of(value.expression)) : none,
        )
        return { own: union(whole(source), ...more, new Set(["untrusted"])), scalar: "asset" }
      }
      case "exception":
        return freed(of(node.value), node.word === "trust" ? /^(?:untrusted|chosen)$/ : /^private/)
      case "observed":
      case "fail":
      case "fixture":
      case "missing-expression":
        return nothing
    }
  }

  #rounds({ items: [agent] }: Syntax.FunctionNode): Value {
    const name = agent?.kind === "chain" ? secondOf(agent) : ""
    this.#agent(name)
    return this.#values.get(`rounds.${name}`) ?? nothing
  }

  /** The messages of the input, with their text under another name. */
  #history(): Value {
    const past = this.#input.fields?.get("past") ?? nothing
    const items = itemsOf(past).map((one): Value => {
      const fields = new Map([
        ["role", one.fields?.get("role") ?? nothing],
        ["content", one.fields?.get("text") ?? nothing],
      ])
      return { own: one.own, fields }
    })
    return { own: past.own, items }
  }

  #string(node: Syntax.StringNode, place: Place): Value {
    const parts = node.interpolations.map((one) => this.#of(one, place))
    const text = node.texts
      .map((one, index) => `${one}${parts[index] === undefined ? "" : shown(parts[index])}`)
      .join("")
    return { own: union(...parts.map(whole)), scalar: text }
  }

  #chain({ base, steps }: Syntax.Chain, place: Place): Value {
    if (base.kind !== "name") return this.#walk(this.#of(base, place), steps)
    const [first, ...rest] = steps
    const name = first?.kind === "field" ? first.name.text : ""
    if (place.variables.has(base.text)) return this.#walk(place.variables.get(base.text) ?? nothing, steps)
    switch (base.text) {
      case "input":
        return this.#walk(this.#input, steps)
      case "chat":
        return this.#walk(this.#history(), rest)
      case "agent":
        return this.#walk(this.#agent(name), rest)
      case "ask":
        return this.#walk(this.#ask(name), rest)
      case "wait":
        return this.#walk(this.#wait(name), rest)
      case "dynamic":
        return this.#walk(place.locals.get(name) ?? this.#dynamic(name), rest)
      case "model":
        return { own: none, scalar: name }
      case "run":
        return { own: none, scalar: name === "date" ? "2026-01-01" : "2026-01-01T00:00:00.000Z" }
      case "secrets":
        return { own: none, scalar: "secret" }
      default:
        throw new Error(`Nothing is called ${base.text}`)
    }
  }

  #walk(value: Value, steps: readonly Syntax.ChainStep[]): Value {
    let at = value
    for (const [index, step] of steps.entries()) {
      if (isNull(at)) return { own: at.own, scalar: null }
      switch (step.kind) {
        case "field":
          at = joined(at.fields?.get(step.name.text) ?? nothing, at.own)
          break
        case "index":
          at = joined(itemsOf(at)[step.index?.value ?? 0] ?? nothing, at.own)
          break
        case "case":
          at = at.fields?.get("kind")?.scalar === step.name.text ? at : { own: at.own, scalar: null }
          break
        case "pluck": {
          const rest = steps.slice(index + 1)
          const read = itemsOf(at).map((item) => {
            return isNull(item)
              ? { own: item.own, scalar: null }
              : this.#walk(joined(item.fields?.get(step.name.text) ?? nothing, item.own), rest)
          })
          if (step.stars !== 2) return { own: at.own, items: read }
          const dropped = read.filter(isNull)
          return { own: union(at.own, ...dropped.map(({ own }) => own)), items: read.filter((one) => !isNull(one)) }
        }
      }
    }
    return at
  }

  #binary({ operator, left, right }: Syntax.BinaryNode, place: Place): Value {
    const a = this.#of(left, place)
    if ((operator === "&&" && a.scalar !== true) || (operator === "||" && a.scalar === true)) {
      return { own: whole(a), scalar: operator === "||" }
    }
    const isShort = operator === "&&" || operator === "||"
    const b = this.#of(right, isShort ? after(place, whole(a)) : place)
    // Whether a value is null is known without looking into it.
    const isNullTest = (operator === "==" || operator === "!=") && (isNullWord(left) || isNullWord(right))
    const own = isNullTest ? union(a.own, b.own) : union(whole(a), whole(b))
    const [x, y] = [toJson(a), toJson(b)]
    const [m, n] = [Number(x), Number(y)]
    const isText = typeof x === "string" && typeof y === "string"
    const order = isText ? Buffer.compare(Buffer.from(x), Buffer.from(y)) : 0
    const result = ((): JsonValue => {
      switch (operator) {
        case "==":
          return JSON.stringify(x) === JSON.stringify(y)
        case "!=":
          return JSON.stringify(x) !== JSON.stringify(y)
        case "<":
          return isText ? order < 0 : m < n
        case "<=":
          return isText ? order <= 0 : m <= n
        case ">":
          return isText ? order > 0 : m > n
        case ">=":
          return isText ? order >= 0 : m >= n
        case "in":
          return Array.isArray(y) && y.some((one) => JSON.stringify(one) === JSON.stringify(x))
        case "contains":
          return JSON.stringify(x).slice(1, -1).includes(JSON.stringify(y).slice(1, -1))
        case "+":
          return m + n
        case "-":
          return m - n
        case "*":
          return m * n
        case "/":
          return m / n
        case "%":
          return m % n
        default:
          return y === true
      }
    })()
    if (typeof result === "number" && !Number.isFinite(result)) throw new Failed(own)
    return { own, scalar: result }
  }

  #list({ loop, when, by, value }: Syntax.ListNode, place: Place): Value {
    const list = this.#of(loop.items, place)
    let own: Labels = list.own
    const all = itemsOf(list)
    const inner = (item: Value): Place => {
      const index = { own: list.own, scalar: all.indexOf(item) }
      return { ...after(place, list.own), variables: bind(place, loop, item, index) }
    }
    let kept = all
    if (when !== undefined) {
      kept = kept.filter((item) => {
        const condition = this.#of(when.condition, inner(item))
        own = union(own, whole(condition))
        return condition.scalar === true
      })
    }
    if (by !== undefined) for (const item of kept) own = union(own, whole(this.#of(by.key, inner(item))))
    return { own, items: kept.map((item) => this.#of(value, after(inner(item), own))) }
  }

  /** Functions that move elements keep the labels of each; all others have those of everything that they are given. */
  #function({ name }: Syntax.FunctionNode, given: readonly Value[]): Value {
    const [first = nothing, ...others] = given
    if (name.text === "failure") return failureOf(first)
    const rest = union(...others.map(whole))
    const plain = given.map(toJson)
    const result = ((): JsonValue => {
      // Their contents are in no store here: the id is what was written.
      if (name.text === "make_file") return { file_id: plain[1] ?? null }
      if (name.text === "text_of") return (plain[0] as JsonObject)["file_id"] ?? null
      try {
        const expression = {
          op: "function",
          name: name.text as ValueFunctionName,
          items: [],
          integer: false,
          text: name.text,
        } as const
        return applyFunction(expression, plain, { ...emptyScope, path: "", work: new EvaluationWork() })
      } catch (error) {
        if (error instanceof RunFailure) throw new Failed(union(...given.map(whole)))
        throw error
      }
    })()
    const items = itemsOf(first)
    switch (name.text) {
      case "length":
        return { own: first.items === undefined ? whole(first) : first.own, scalar: result }
      case "reverse":
        return { own: first.own, items: [...items].reverse() }
      case "first":
        return joined(items[0] ?? nothing, first.own)
      case "last":
        return joined(items.at(-1) ?? nothing, first.own)
      case "concat":
        return { own: union(...given.map(({ own }) => own)), items: given.flatMap(itemsOf) }
      case "merge": {
        const fields = new Map(given.flatMap((one) => [...(one.fields ?? [])]))
        return { own: union(...given.map(({ own }) => own)), fields }
      }
      case "zip": {
        const [second = nothing] = others
        const length = Math.min(items.length, itemsOf(second).length)
        const pairs = items
          .slice(0, length)
          .map((one, index) => ({ own: none, items: [one, itemsOf(second)[index] ?? nothing] }))
        return { own: union(first.own, second.own), items: pairs }
      }
      case "slice":
        if (first.items === undefined) break
        return { own: union(first.own, rest), items: items.slice(items.length - (result as JsonValue[]).length) }
      default:
        break
    }
    return fromJson(result, union(...given.map(whole)))
  }
}

// -------------------------------------------------------------------------------------------------------------- values

const nothing: Value = { own: none, scalar: null }

/** The value of a step, or of a call, that failed and may. */
const failed: Value = { ...nothing, failed: true }

/** Why a step failed: its text is a stranger's, with the labels of all that the step read. */
function failureOf(step: Value): Value {
  if (step.items !== undefined) return { own: step.own, items: step.items.map(failureOf) }
  const own = whole(step)
  if (step.failed !== true) return { own, scalar: null }
  const fields = new Map<string, Value>([
    ["kind", { own: none, scalar: "tool_error" }],
    ["message", { own: new Set(["untrusted"]), scalar: "It failed" }],
  ])
  return { own, fields }
}

function union(...all: readonly Labels[]): Labels {
  const filled = all.filter(({ size }) => size > 0)
  if (filled.length <= 1) return filled[0] ?? none
  return new Set(filled.flatMap((one) => [...one]))
}

function joined(value: Value, labels: Labels): Value {
  return labels.size === 0 ? value : { ...value, own: union(value.own, labels) }
}

function whole({ own, items = [], fields = new Map<string, Value>() }: Value): Labels {
  return union(own, ...items.map(whole), ...[...fields.values()].map(whole))
}

function freed(value: Value, without: RegExp): Value {
  const own = new Set([...value.own].filter((label) => !without.test(label)))
  return {
    ...value,
    own,
    ...(value.items !== undefined && { items: value.items.map((one) => freed(one, without)) }),
    ...(value.fields !== undefined && {
      fields: new Map([...value.fields].map(([name, one]) => [name, freed(one, without)])),
    }),
  }
}

function fromJson(json: JsonValue, own: Labels): Value {
  if (Array.isArray(json)) return { own, items: json.map((one) => fromJson(one, none)) }
  if (typeof json !== "object" || json === null) return { own, scalar: json }
  return { own, fields: new Map(Object.entries(json).map(([name, one]) => [name, fromJson(one, none)])) }
}

function toJson({ scalar, items, fields }: Value): JsonValue {
  if (items !== undefined) return items.map(toJson)
  if (fields !== undefined) return Object.fromEntries([...fields].map(([name, one]) => [name, toJson(one)]))
  return scalar ?? null
}

function shown(value: Value): string {
  const json = toJson(value)
  return typeof json === "string" ? json : JSON.stringify(json)
}

function isNull({ scalar, items, fields }: Value): boolean {
  return items === undefined && fields === undefined && (scalar === null || scalar === undefined)
}

function itemsOf({ items = [] }: Value): readonly Value[] {
  return items
}

function hasPrivate(labels: Labels, server = ""): boolean {
  return [...labels].some((label) => label.startsWith("private ") && label !== `private ${server}`)
}

function choiceOf(reads: Labels): Labels {
  if (!reads.has("untrusted")) return reads
  return new Set([...[...reads].filter((label) => label !== "untrusted"), "chosen"])
}

/** The value with the labels of the markers of its type. */
function marked(type: WireType, value: Value, from: string): Value {
  const own = type.mark === undefined ? none : new Set([type.mark === "private" ? `private ${from}` : "untrusted"])
  return joined(inside(type, value, from), own)
}

function inside(type: WireType, value: Value, from: string): Value {
  if (isNull(value)) return value
  switch (type.kind) {
    case "ref":
      return marked(type.to(), value, from)
    case "maybe":
      return marked(type.of, value, from)
    case "any":
      return value
    case "array":
      return { ...value, items: itemsOf(value).map((one) => marked(type.of, one, from)) }
    case "tuple":
      return { ...value, items: itemsOf(value).map((one, index) => marked(type.of[index] ?? type, one, from)) }
    case "map": {
      const fields = [...(value.fields ?? [])].map(([name, one]): [string, Value] => [name, marked(type.of, one, from)])
      return { ...value, fields: new Map(fields) }
    }
    case "record":
    case "variant": {
      const types = new Map(type.kind === "record" ? type.fields : caseOf(type, value))
      const fields = [...(value.fields ?? [])].map(([name, one]): [string, Value] => {
        const part = types.get(name)
        return [name, part === undefined ? one : marked(part, one, from)]
      })
      return { ...value, fields: new Map(fields) }
    }
    default:
      return value
  }
}

function caseOf(type: WireType & { kind: "variant" }, { fields }: Value): readonly (readonly [string, WireType])[] {
  const name = fields?.get(type.tag)?.scalar
  return type.cases.find(([one]) => one === name)?.[1] ?? []
}

/** Markers of a called file at the outside of its input fields add to what it is given. */
function withMarks(tree: Syntax.Tree, sent: ReadonlyMap<string, Value>): Map<string, Value> {
  const input = tree.declarations.find((one) => one.kind === "input")
  const marks = new Map(
    (input?.body.items ?? []).flatMap((item) => {
      if (item.kind !== "type-field") return []
      const { name, type } = item
      return type.kind === "marked"
        ? [[name.text, type.mark === "private" ? "private file" : "untrusted"] as const]
        : []
    }),
  )
  return new Map(
    [...sent].map(([name, value]) => {
      const mark = marks.get(name)
      return [name, mark === undefined ? value : joined(value, new Set([mark]))]
    }),
  )
}

// ---------------------------------------------------------------------------------------------------------------- tree

function after(place: Place, decided: Labels): Place {
  return decided.size === 0 ? place : { ...place, decided: union(place.decided, decided) }
}

function bind(place: Place, { pattern, index }: Syntax.Loop, item: Value, at: Value): ReadonlyMap<string, Value> {
  const variables = new Map(place.variables)
  if (index !== undefined) variables.set(index.text, at)
  if (pattern.kind === "item") return variables.set(pattern.name.text, item)
  for (const { field, variable } of pattern.body.items) {
    variables.set(variable.text, joined(item.fields?.get(field.text) ?? nothing, item.own))
  }
  return variables
}

/** How a branch of a match names a plain value. */
function nameOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null)
}

function isNullWord(node: Syntax.Expression): boolean {
  return node.kind === "word" && node.value === null
}

function propertyIn(block: Syntax.Block<Syntax.Property> | undefined, name: string): Syntax.PropertyValue | undefined {
  return block?.items.find((one) => one.name.text === name)?.value
}

function expressionOf(block: Syntax.Block<Syntax.Property> | undefined, name: string): Syntax.Expression | undefined {
  const value = propertyIn(block, name)
  return value?.kind === "expression" ? value.expression : undefined
}

function blockValues(block: Syntax.Block<Syntax.Property> | undefined, name: string): readonly Syntax.ValueField[] {
  const value = propertyIn(block, name)
  return value?.kind === "values" ? value.block.items : []
}

function rootOf({ base }: Syntax.Chain): string {
  return base.kind === "name" ? base.text : ""
}

function secondOf({ steps: [first] }: Syntax.Chain): string {
  return first?.kind === "field" ? first.name.text : ""
}
