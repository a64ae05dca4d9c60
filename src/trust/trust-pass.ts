import { isForeign } from "../check/file-space.ts"
import type { AgentSymbol, AskSymbol, Program, StepSymbol } from "../check/program.ts"
import { topologicalOrder } from "../plan/topological-order.ts"
import type { Span } from "../source/span.ts"
import { expressionIn, propertyOf, secondName } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { AgentReadings } from "./agent-readings.ts"
import { outermost, type Around } from "./around.ts"
import { CalledFiles, type Follow } from "./called-files.ts"
import { ClosedTypes } from "./closed-type.ts"
import { asksOthers, wordsOf } from "./declared.ts"
import { withDeliveries } from "./deliveries.ts"
import { Flow, placeAt, withVariables, type Bound, type Place, type Steps } from "./flow.ts"
import { either, joined, list, passed, plain, record, type Labelled } from "./labelled.ts"
import { made } from "./made-labels.ts"
import { join, none, via, type Marks } from "./marks.ts"
import { RemoteCalls, wholesOf } from "./remote-calls.ts"
import { Rules, marksOf, type Call, type Reading } from "./rules.ts"
import { TypedLabels } from "./typed-labels.ts"
import type { Watcher } from "./watcher.ts"

/** An agent, for those that come after it. */
interface AgentLabels {
  readonly value: Labelled
  /** What another agent reads that continues its conversation. */
  readonly conversation: Marks
}

/** What the steps of a workflow read and give. The rules look at each of them. */
export class TrustPass implements Steps {
  readonly rules: Rules
  /** The exceptions that changed nothing, wherever they were evaluated. */
  readonly needless = new Map<Syntax.ExceptionNode, Place>()
  readonly #needed = new Set<Syntax.ExceptionNode>()
  readonly #program: Program
  readonly #flow: Flow
  readonly #calls: RemoteCalls
  readonly #files: CalledFiles
  readonly #readings: AgentReadings
  readonly #typed: TypedLabels
  readonly #closed: ClosedTypes
  readonly #agents = new Map<string, AgentLabels>()
  readonly #values = new Map<string, Labelled>()
  readonly #watcher: Watcher | undefined
  readonly #around: Around
  /** What the file gives to its caller. */
  output: Labelled = plain
  #input: Labelled | undefined

  /** `around`: what a caller of the file knows. */
  constructor(program: Program, watcher?: Watcher, input?: Labelled, around: Around = outermost()) {
    this.#program = program
    this.#watcher = watcher
    this.#around = around
    this.rules = new Rules(
      (span) => placeHere(program, span),
      around.base,
      around.depth > 0 ? program.files.file : undefined,
    )
    this.#input = input
    this.#flow = new Flow(program, this)
    this.#typed = new TypedLabels(program.schemas)
    this.#closed = new ClosedTypes(program.types)
    const { rules } = this
    const flow = this.#flow
    const calls = new RemoteCalls(program, flow, rules, this.#typed)
    this.#calls = calls
    this.#files = new CalledFiles({ program, flow, rules, calls, around, watcher, follow })
    this.#readings = new AgentReadings(
      program,
      flow,
      rules,
      (...read) => this.read(...read),
      (agent) => this.#agents.get(agent)?.conversation ?? none,
    )
  }

  /** All that may make the file fail: its input, and the results of all that it calls. */
  get touched(): Marks {
    return join(this.input().whole, this.#calls.touched)
  }

  run(): void {
    const { output } = this.#program
    this.#calls.start()
    for (const id of this.#order()) this.#step(id)
    const fields = (output?.declaration.body.items ?? []).map(({ name, value }) => {
      return [name.text, this.#flow.of(value, this.#placeAt(`output.${name.text}`, name))] as const
    })
    this.output = record(new Map(fields))
  }

  #placeAt(path: string, span: Span): Place {
    return { ...placeAt(path, span), decided: this.#around.decided }
  }

  #order(): string[] {
    const { agents, asks, dynamics, dependencies } = this.#program
    const ids = [
      ...[...dynamics.keys()].map((name) => `dynamic.${name}`),
      ...[...agents.keys()].map((name) => `agent.${name}`),
      ...[...asks.keys()].map((name) => `ask.${name}`),
    ]
    return topologicalOrder(ids, (id) => dependencies.get(id) ?? new Set())
  }

  #step(id: string): void {
    const name = id.slice(id.indexOf(".") + 1)
    const agent = id.startsWith("agent.") ? this.#program.agents.get(name) : undefined
    const ask = id.startsWith("ask.") ? this.#program.asks.get(name) : undefined
    const dynamic = id.startsWith("dynamic.") ? this.#program.dynamics.get(name) : undefined
    if (agent !== undefined) this.#agent(id, name, agent)
    if (ask !== undefined) this.#ask(id, ask)
    if (dynamic !== undefined) {
      const value = this.#flow.of(dynamic.field.value, this.#placeAt(id, dynamic.field.name))
      this.#values.set(id, passed(value, id, dynamic.field.name))
    }
  }

  // -------------------------------------------------------------------------------------------- what expressions read

  input(): Labelled {
    const { input } = this.#program
    if (this.#input !== undefined) return this.#input
    const { given } = this.#around
    const items = input?.declaration.body.items ?? []
    const typed = this.#typed.ofFields("input", items)
    // Markers of a called file add to the labels of what it is given.
    this.#input =
      given === undefined
        ? withDeliveries(this.#program, typed)
        : record(new Map(items.map(({ name }) => [name.text, either([typed.field(name.text), given(name.text)])])))
    return this.#input
  }

  step(kind: "agent" | "ask" | "dynamic", name: string): Labelled {
    if (kind === "agent") return this.#agents.get(name)?.value ?? plain
    return this.#values.get(`${kind}.${name}`) ?? plain
  }

  invoked(node: Syntax.InvokeNode, bound: readonly Bound[], place: Place): Labelled {
    const remote = this.#calls.named(node.target)
    if (remote === undefined) return this.#files.called(node, bound, place)
    const call = this.#calls.call(remote, node.block, bound, { start: node.start, end: node.target.end }, place)
    this.rules.call(call)
    const sent = wholesOf(call.bound)
    this.#calls.approval(call, sent, place)
    this.#watcher?.call(call, sent)
    const result = this.#calls.resultOf(call)
    this.read(remote.id, place, result.whole)
    return result
  }

  asset({ value }: Syntax.AssetNode, source: Labelled, result: Labelled, { path }: Place): void {
    this.rules.asset(path, value, source.whole)
    this.#calls.touch(result.whole)
  }

  read(from: string, place: Place, marks: Marks): void {
    this.#watcher?.way(from, place, marks)
  }

  exception(node: Syntax.ExceptionNode, place: Place, isNeedless: boolean): void {
    if (!this.#needed.has(node) && !this.needless.has(node)) this.#watcher?.exception(node, place)
    if (isNeedless && !this.#needed.has(node)) this.needless.set(node, place)
    if (isNeedless) return
    this.#needed.add(node)
    this.needless.delete(node)
  }

  // ------------------------------------------------------------------------------------------------------- agents

  #agent(id: string, name: string, symbol: AgentSymbol): void {
    const { body } = symbol.declaration
    const { place, decided, items } = this.#head(id, symbol)
    const inner = { ...place, decided, locals: this.#locals(name, symbol, { ...place, decided }) }
    const models = this.#readings.modelsIn(propertyOf(body, "model"))
    const own = this.#readings.own(id, body, inner)
    const uses = this.#uses(id, body, inner)
    const files = this.#files.used(id, body, inner)
    const system = this.#readings.system(id, body, inner, models)
    const ofTools = uses.map(({ reading }) => reading)
    const used = [...ofTools, ...this.#files.readings(files, marksOf([...own, ...system, ...ofTools]), inner)]
    const readings = [...own, ...system, ...used]
    const reads = marksOf(readings)

    this.#readings.models(id, models, readings)
    const compaction = this.#readings.compaction(id, body, own)
    this.#readings.decision([...models, ...compaction], decided, symbol)
    for (const { call } of uses) {
      // A model fills the arguments of a tool; a resource or prompt gets what its bindings and its template say.
      const filled = call.remote.symbol?.kind === "tool" || opensTemplate(call) ? reads : none
      this.rules.use(id, call, reads, filled)
      this.#calls.approval(call, join(wholesOf(call.bound), filled), { ...inner, path: call.path })
    }
    for (const { call } of files) {
      this.rules.use(id, call, reads, none)
      this.#calls.approval(call, join(wholesOf(call.bound), reads), { ...inner, path: call.path })
    }
    const calls = [...uses, ...files].map(({ call }) => call)
    this.#watcher?.agent(id, reads, calls, [...models, ...compaction])

    const output = made(symbol.output, reads, this.#closed)
    const skips = wordsOf(body, "on_failure")?.includes("skip") === true ? reads : none
    const conversation = join(marksOf(own), marksOf(used), used.length > 0 ? reads : none, output.whole)
    this.#agents.set(name, { value: stepValue(output, items, join(decided, skips), reads), conversation })
  }

  /** The variables of a step's loop, and what decides whether it is done. */
  #head(id: string, { declaration }: StepSymbol): { place: Place; decided: Marks; items: Labelled | undefined } {
    const { loop, when } = declaration
    const start = this.#placeAt(id, declaration.name)
    const items = loop && this.#flow.of(loop.items, { ...start, path: `${id}.for` })
    const variables = loop && items ? withVariables(start.variables, loop, items) : start.variables
    const place = { ...start, variables, isRepeated: loop !== undefined }
    const listed = items === undefined || loop === undefined ? none : via(items.own, `${id}.for`, loop.items)
    const often = join(start.decided, listed)
    if (when === undefined) return { place, decided: often, items }
    const condition = this.#flow.of(when.condition, { ...place, path: `${id}.when`, decided: often })
    return { place, decided: join(often, via(condition.whole, `${id}.when`, when.condition)), items }
  }

  #locals(agent: string, symbol: AgentSymbol, place: Place): ReadonlyMap<string, Labelled> {
    const locals = new Map<string, Labelled>()
    const edges = this.#program.localDependencies.get(agent)
    for (const name of topologicalOrder([...symbol.locals.keys()], (one) => edges?.get(one) ?? new Set())) {
      const field = symbol.locals.get(name)?.field
      if (field === undefined) continue
      const path = `agent.${agent}.dynamic.${name}`
      locals.set(name, passed(this.#flow.of(field.value, { ...place, path, locals }), path, field.name))
    }
    return locals
  }

  #uses(id: string, body: Syntax.Block<Syntax.Property>, place: Place): { call: Call; reading: Reading }[] {
    const uses = propertyOf(body, "uses")
    if (uses?.value.kind !== "uses") return []
    return uses.value.entries.flatMap((entry) => {
      const remote = this.#calls.named(entry.reference)
      if (remote === undefined) return []
      const at = { ...place, path: `${id}.uses.${secondName(entry.reference)}` }
      const call = this.#calls.call(remote, entry.block, this.#flow.bound(entry, at), entry.reference, at)
      const marks = via(this.#calls.resultOf(call).whole, `${id}.uses`, entry.reference)
      this.read(remote.id, at, marks)
      return [{ call, reading: { path: at.path, span: entry.reference, marks } }]
    })
  }

  // ---------------------------------------------------------------------------------------------------- questions

  #ask(id: string, symbol: AskSymbol): void {
    const { body, when, loop } = symbol.declaration
    const { place, decided, items } = this.#head(id, symbol)
    const inner = { ...place, decided }
    const to = expressionIn(body, "to")
    if (to !== undefined) this.#calls.plain(`${id}.to`, to, "who is asked", { ...inner, path: `${id}.to` })
    const isOpen = asksOthers(body)
    const required = body.items.flatMap(({ value }) =>
      value.kind === "requirement" ? [value.condition, value.otherwise] : [],
    )
    const seen = [
      [`${id}.question`, expressionIn(body, "question")],
      [`${id}.show`, expressionIn(body, "show")],
      ...required.map((value) => [`${id}.require`, value] as const),
    ] as const
    for (const [path, value] of seen) {
      if (value === undefined) continue
      const { whole } = this.#flow.of(value, { ...inner, path })
      if (isOpen) this.rules.asked(id, path, value, whole)
    }
    const span = when?.condition ?? loop?.items ?? place.span
    if (isOpen) this.rules.asked(id, undefined, span, decided)
    const fallback = expressionIn(body, "on_expiry")
    const expired = fallback === undefined ? plain : this.#flow.of(fallback, { ...inner, path: `${id}.on_expiry` })
    const answer = passed(expired, `${id}.on_expiry`, fallback ?? place.span)
    this.#values.set(id, stepValue(answer, items, decided, none))
  }
}

/** A called file, seen by its caller. */
function follow(...[program, watcher, around, input]: Parameters<Follow>): ReturnType<Follow> {
  const pass = new TrustPass(program, watcher, input, around)
  pass.run()
  return { output: pass.output, touched: pass.touched, found: pass.rules.found }
}

/** Where a place of another file is in this one: the import that brought it; undefined where nothing here names it. */
function placeHere({ files, grafts }: Program, span: Span): Span | undefined {
  if (!isForeign(span)) return span
  const file = files.space.locate(span)?.file
  return [...grafts.values()].find((one) => one.file === file && one.item !== undefined)?.item
}

/** The value of a step: of one in a loop, an array as long as the list of the loop. */
function stepValue(output: Labelled, items: Labelled | undefined, mayMiss: Marks, reads: Marks): Labelled {
  const one = joined(output, mayMiss)
  if (items === undefined) return one
  return list(join(items.own, mayMiss), one, join(reads, items.together ?? none))
}

/** Whether the address of a resource has a variable that nothing binds: the model fills it. */
function opensTemplate({ remote: { symbol }, bound }: Call): boolean {
  if (symbol?.kind !== "resource") return false
  const set = new Set(bound.map(({ field }) => field.name.text))
  return [...symbol.remote.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)].some(([, names = ""]) => {
    return names.split(",").some((name) => !set.has(name.split(/[*:]/)[0] ?? ""))
  })
}
