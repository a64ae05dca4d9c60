import { untilOf } from "../check/repeat-of.ts"
import { isForeign } from "../check/file-space.ts"
import type { AgentSymbol, AskSymbol, Program, StepSymbol, WaitSymbol } from "../check/program.ts"
import { topologicalOrder } from "../plan/topological-order.ts"
import type { Span } from "../source/span.ts"
import { propertyOf, secondName } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { AgentReadings } from "./agent-readings.ts"
import { callsWait, eventIn, eventsOf } from "./clock.ts"
import { outermost, type CallerContext } from "./caller-context.ts"
import { CalledFiles, maxRounds, type Follow } from "./called-files.ts"
import { ClosedTypes, maxChoices } from "./closed-type.ts"
import { asksOthers, usesTrust, wordsOf } from "./declared.ts"
import { repliesIn, takesDeliveries, withDeliveries } from "./deliveries.ts"
import { Flow, placeAt, withVariables, type Bound, type Place, type Steps } from "./flow.ts"
import { either, flat, list, passed, plain, record, type Labelled } from "./label-tree.ts"
import { made } from "./made-labels.ts"
import { allLabels, isNone, join, marked, minus, none, sameSources, via, without, type Marks } from "./marks.ts"
import { RemoteCalls, sharesCalls, wholesOf } from "./remote-calls.ts"
import { Rules, marksOf, type Call, type Reading } from "./rules.ts"
import { SharedEvents } from "./shared-events.ts"
import { TypedLabels } from "./typed-labels.ts"
import { stepOf, type Watcher } from "./watcher.ts"

/** An agent, for those that come after it. */
interface AgentLabels {
  readonly value: Labelled
  /** Labels of the outputs of all rounds, for an agent that repeats. */
  readonly rounds: Labelled
  /** What another agent reads that continues its conversation. */
  readonly conversation: Marks
}

/** What the rounds of an agent read and give together. */
interface RoundLabels {
  readonly output: Labelled
  readonly reads: Marks
  /** What strangers may write by choosing once in each round, or for each item. */
  readonly words: Marks
  /** What decides how many rounds there are. */
  readonly ended: Marks
  /** What decides whether there is a value. */
  readonly mayMiss: Marks
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
  readonly #earlier: Earlier
  /** What may fail in each step. */
  readonly #touchedBy = new Map<string, Marks>()
  readonly #agents = new Map<string, AgentLabels>()
  readonly #values = new Map<string, Labelled>()
  readonly #watcher: Watcher | undefined
  readonly #caller: CallerContext
  /** What decides that anything of the file is done. */
  #decided: Marks = none
  /** What decides how long the run waits in each step, and in those before it; and before the step that is looked at. */
  readonly #waited = new Map<string, Marks>()
  readonly #events: SharedEvents
  #before: Marks = none
  /** What the file gives to its caller. */
  output: Labelled = plain
  #input: Labelled | undefined

  /** `caller`: what a caller of the file knows. */
  constructor(program: Program, watcher?: Watcher, input?: Labelled, caller = outermost(program), earlier = nothing) {
    this.#program = program
    this.#earlier = earlier
    this.#watcher = watcher
    this.#caller = caller
    this.rules = new Rules(
      (span) => placeHere(program, span),
      caller.base,
      usesTrust(program),
      caller.depth > 0 ? program.files.file : undefined,
    )
    this.#input = input
    this.#flow = new Flow(program, this, caller.isCaught, earlier.kept, watcher?.privates)
    this.#typed = new TypedLabels(program.schemas)
    this.#closed = new ClosedTypes(program.types)
    const { rules } = this
    const flow = this.#flow
    const calls = new RemoteCalls(program, flow, rules, this.#typed, earlier.kept)
    this.#calls = calls
    const events = new SharedEvents(earlier.kept, caller.events)
    this.#events = events
    const waited = (): Marks => (callsWait(program) ? join(this.#before, flow.touched) : this.#before)
    this.#files = new CalledFiles({ program, flow, rules, calls, caller, watcher, follow, waited, events })
    this.#readings = new AgentReadings(
      program,
      flow,
      rules,
      (...read) => this.read(...read),
      (agent) => this.#agents.get(agent)?.conversation ?? allLabels(`agent.${agent}`, { start: 0, end: 0 }),
    )
  }

  /** All that may make the file fail. */
  get touched(): Marks {
    return join(this.input().whole, this.failures)
  }

  /** All that may make a step of the file fail. */
  get failures(): Marks {
    return this.#flow.touched
  }

  run(): void {
    this.#decided = join(this.#caller.decided, this.#refused())
    this.#calls.start()
    for (const id of this.#order()) this.#reach(id, () => this.#step(id))
    this.#reach("output", () => {
      const fields = this.#program.output?.declaration.body.items ?? []
      const made = this.#flow.sideBySide(() => fields.map((field) => this.#outputField(field)))
      this.output = record(new Map(made))
    })
    if (this.#caller.given !== undefined) return
    for (const [name, { declaration }] of this.#program.scores) this.#score(`score.${name}`, name, declaration.body)
    for (const { name, property } of repliesIn(this.#program))
      this.rules.replied(name, property.name, this.output.whole)
  }

  /** Without what its `require` asks of the input, nothing of the file is done: whoever calls it may go on, or has sent a webhook. */
  #refused(): Marks {
    const isDelivered = this.#caller.given === undefined && takesDeliveries(this.#program)
    if (!this.#caller.isCaught && !isDelivered) return none
    const conditions = (this.#program.input?.declaration.body.items ?? []).flatMap((item) => {
      return item.kind === "property" && item.value.kind === "requirement" ? [item.value.condition] : []
    })
    const marks = conditions.map((condition) => {
      const place = placeAt("input.require", condition)
      return via(this.#flow.of(condition, place).whole, place.path, condition)
    })
    // Of a webhook, only its sender is a stranger.
    return isDelivered ? without(join(...marks), "private") : join(...marks)
  }

  #outputField({ name, value }: Syntax.ValueField): readonly [string, Labelled] {
    return [name.text, this.#flow.of(value, this.#placeAt(`output.${name.text}`, name))]
  }

  /** A step, and what decides whether the run gets to it. */
  #reach(id: string, run: () => void): void {
    const earlier = [...(this.#program.dependencies.get(id) ?? [])].map((one) => this.#waited.get(one) ?? none)
    this.#before = join(this.#caller.waited, ...earlier)
    const touched = this.#flow.during(run, false, this.#earlier.reached.get(id))
    const own = this.#waited.get(id) ?? none
    this.#waited.set(id, join(this.#before, own, callsWait(this.#program) ? touched : none))
    if (!isNone(touched)) this.#touchedBy.set(id, touched)
  }

  /** What calls keep for others: how many are left of a tool, and what code was given. */
  get kept(): ReadonlyMap<string, Marks> {
    return new Map([...this.#calls.usedUp, ...this.#flow.codeMarks, ...this.#events.kept])
  }

  /** What may fail so that a step is not reached. */
  get reached(): ReadonlyMap<string, Marks> {
    const { agents, asks, waits } = this.#program
    const all = [...this.#order(), "output"]
    const reached = new Map<string, Marks>()
    for (const [failing, marks] of this.#touchedBy) {
      const before = new Set([failing])
      // A set goes on with what is added to it meanwhile.
      for (const id of before) for (const one of this.#program.dependencies.get(id) ?? []) before.add(one)
      const [kind = "", name = ""] = failing.split(".")
      // One item of a step ends the others.
      const isLooped =
        (kind === "ask" ? asks : kind === "wait" ? waits : agents).get(name)?.declaration.loop !== undefined
      if (isLooped && kind !== "dynamic") before.delete(failing)
      for (const id of all) if (!before.has(id)) reached.set(id, join(reached.get(id) ?? none, marks))
    }
    return reached
  }

  /** What a score is made from after the run: nothing that it does comes back to the run. */
  #score(id: string, name: string, body: Syntax.Block<Syntax.Property>): void {
    const declaration = this.#program.scores.get(name)?.declaration
    if (declaration === undefined) return
    const { when } = declaration
    const { touched } = this
    const place: Place = {
      ...placeAt(id, declaration.name),
      variables: new Map([
        ["output", this.output],
        ["usage", flat(touched)],
        ["duration_ms", flat(touched)],
      ]),
    }
    const readings = (["judge", "of", "value"] as const).flatMap((property): Reading[] => {
      const found = propertyOf(body, property)
      if (found?.value.kind !== "expression") return []
      const path = `${id}.${property}`
      return [
        {
          path,
          span: found.name,
          marks: via(this.#flow.of(found.value.expression, { ...place, path }).whole, path, found.name),
        },
      ]
    })
    const condition = when === undefined ? none : this.#flow.of(when.condition, { ...place, path: `${id}.when` }).whole
    const models = this.#readings.modelsIn(propertyOf(body, "model"))
    this.#readings.models(id, models, readings)
    if (when !== undefined)
      this.#readings.decidedBy(models, via(condition, `${id}.when`, when.condition), when.condition)
    const all = join(condition, marksOf(readings))
    if (all.private.length > 0) this.#program.privateScores.add(name)
    if (models.length > 0) this.#watcher?.agent(id, all, [], models)
  }

  #placeAt(path: string, span: Span): Place {
    return { ...placeAt(path, span), decided: this.#decided }
  }

  #order(): string[] {
    const { agents, asks, waits, dynamics, dependencies } = this.#program
    const ids = [
      ...[...dynamics.keys()].map((name) => `dynamic.${name}`),
      ...[...agents.keys()].map((name) => `agent.${name}`),
      ...[...asks.keys()].map((name) => `ask.${name}`),
      ...[...waits.keys()].map((name) => `wait.${name}`),
    ]
    return topologicalOrder(ids, (id) => dependencies.get(id) ?? new Set())
  }

  #step(id: string): void {
    const name = id.slice(id.indexOf(".") + 1)
    const agent = id.startsWith("agent.") ? this.#program.agents.get(name) : undefined
    const ask = id.startsWith("ask.") ? this.#program.asks.get(name) : undefined
    const wait = id.startsWith("wait.") ? this.#program.waits.get(name) : undefined
    const dynamic = id.startsWith("dynamic.") ? this.#program.dynamics.get(name) : undefined
    if (agent !== undefined) this.#agent(id, name, agent)
    if (ask !== undefined) this.#ask(id, ask)
    if (wait !== undefined) this.#wait(id, wait)
    if (dynamic !== undefined) {
      const value = this.#flow.sideBySide(() =>
        this.#flow.of(dynamic.field.value, this.#placeAt(id, dynamic.field.name)),
      )
      this.#values.set(id, passed(value, id, dynamic.field.name))
    }
  }

  // -------------------------------------------------------------------------------------------- what expressions read

  input(): Labelled {
    const { input } = this.#program
    if (this.#input !== undefined) return this.#input
    const { given } = this.#caller
    const written: readonly (Syntax.TypeField | Syntax.Property)[] = input?.declaration.body.items ?? []
    const items = written.filter((item) => item.kind === "type-field")
    const typed = this.#typed.ofFields("input", items)
    // Markers of a called file add to the labels of what it is given.
    this.#input =
      given === undefined
        ? withDeliveries(this.#program, typed)
        : record(new Map(items.map(({ name }) => [name.text, either([typed.field(name.text), given(name.text)])])))
    return this.#input
  }

  rounds(agent: string): Labelled | undefined {
    return this.#agents.get(agent)?.rounds
  }

  step(kind: "agent" | "ask" | "wait" | "dynamic", name: string): Labelled | undefined {
    return kind === "agent" ? this.#agents.get(name)?.value : this.#values.get(`${kind}.${name}`)
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
    this.#watcher?.privates?.call(stepOf(place.path), remote.id, call.bound, result.whole)
    this.read(remote.id, place, result.whole)
    return result
  }

  asset(span: Span, address: Marks, { path }: Place): void {
    this.rules.asset(path, span, address)
  }

  read(from: string, place: Place, marks: Marks): void {
    this.#watcher?.way(from, place, marks)
  }

  exception(node: Syntax.ExceptionNode, place: Place, { untrusted, private: secret, chosen }: Marks): void {
    const strangers = this.#calls.hasStrict ? [...untrusted, ...chosen] : untrusted
    const isNeedless = (node.word === "trust" ? strangers : secret).length === 0
    if (!this.#needed.has(node) && !this.needless.has(node)) this.#watcher?.exception(node, place)
    if (isNeedless && !this.#needed.has(node)) this.needless.set(node, place)
    if (isNeedless) return
    this.#needed.add(node)
    this.needless.delete(node)
  }

  // ------------------------------------------------------------------------------------------------------- agents

  #agent(id: string, name: string, symbol: AgentSymbol): void {
    const { place, decided, items } = this.#head(id, symbol)
    const { output, reads, words, ended, mayMiss } = this.#rounds(id, name, symbol, { ...place, decided })
    const value = this.#stepValue(id, symbol, output, mayMiss, items, join(reads, words))
    const rounds = this.#stepValue(id, symbol, output, mayMiss, plain, join(reads, words))
    this.#watcher?.privates?.agent(
      name,
      join(reads, words),
      this.#continued(symbol),
      output.with(mayMiss),
      symbol.output,
    )
    // Nobody knows that a model says no more than it answers: it may have thought aloud of its system text.
    this.#agents.set(name, { value, rounds, conversation: join(reads, output.whole, ended) })
  }

  /** What it reads of the conversation that it continues. */
  #continued({ declaration: { body } }: AgentSymbol): Marks {
    const context = propertyOf(body, "context")?.value
    if (context?.kind !== "context") return none
    const continued = secondName(context.reference)
    return this.#agents.get(continued)?.conversation ?? allLabels(`agent.${continued}`, { start: 0, end: 0 })
  }

  /** What a round gives is what the next one sees: rounds are looked at until one changes nothing. An agent without `repeat` has one. */
  #rounds(id: string, name: string, symbol: AgentSymbol, place: Place): RoundLabels {
    const until = untilOf(symbol.declaration)
    let previous: Labelled = plain
    let ended: Marks = none
    let words: Marks = none
    for (let round = 0; ; round++) {
      this.#flow.assets.length = 0
      const variables = until === undefined ? place.variables : new Map([...place.variables, ["previous", previous]])
      const here = { ...place, variables, decided: join(place.decided, ended) }
      let [reads, decides] = [none, ended]
      let output: Labelled = plain
      let failed: Marks = none
      const run = (): Marks => {
        reads = this.#reads(id, name, symbol, here)
        // A text grows by a choice in each round.
        output = made(symbol.output, until === undefined ? reads : join(reads, words), this.#closed)
        if (until !== undefined) {
          const path = `${id}.repeat.until`
          const after = { ...here, path, locals: new Map(), result: output, round: ended }
          decides = join(ended, via(this.#flow.of(until, after).whole, path, until))
        }
        const told = join(reads, decides)
        this.#flow.touch(join(told, here.decided))
        return told
      }
      // Each round, and each item of a loop, may call files.
      const chosen = this.#flow.repeatedly(() => (failed = this.#flow.attempt(symbol.declaration.body, id, run)))
      const nowWords = join(words, chosen)
      const mayMiss = join(here.decided, decides, failed)
      if (until === undefined) return { output, reads, words: nowWords, ended, mayMiss }
      const nowEnded = join(decides, failed)
      let next = either([previous, output.with(join(here.decided, nowEnded))]).widened()
      // All labels of all parts everywhere is the most that it can come to.
      if (round >= maxRounds) next = flat(via(join(next.whole, nowEnded), `${id} after ${maxRounds} rounds`, until))
      const isStable = sameSources(ended, nowEnded) && sameSources(words, nowWords)
      if (isStable && next.equals(previous)) return { output, reads, words: nowWords, ended, mayMiss }
      previous = next
      ended = nowEnded
      words = nowWords
    }
  }

  /** What the model of an agent reads. The rules look at it. */
  #reads(id: string, name: string, symbol: AgentSymbol, place: Place): Marks {
    const { body } = symbol.declaration
    const models = this.#readings.modelsIn(propertyOf(body, "model"), symbol.declaration.loop)
    const { prepared, own, system, usedTools, usedFiles } = this.#flow.sideBySide(() =>
      this.#flow.inAnyOrder((part) => {
        const prepared = { ...place, locals: this.#locals(name, symbol, place, part) }
        part(() => this.#readings.choice(id, symbol.declaration, prepared))
        this.#readings.beginning(name, symbol, prepared, models)
        return {
          prepared,
          own: body.items.flatMap((item) => part(() => this.#readings.own(id, item, prepared))),
          system: part(() => this.#readings.system(id, body, prepared, models)),
          usedTools: part(() => this.#uses(id, body, prepared)),
          usedFiles: part(() => this.#files.used(id, body, prepared)),
        }
      }),
    )
    // Where the run goes on after a failure, all that is evaluated before the model is called decides whether it is, and its tools.
    const failed = via(this.#flow.failed, `${id}.on_failure`, symbol.declaration.name)
    // A backend fetches an asset when the model is called.
    for (const { path, span } of this.#flow.assets) this.rules.asset(path, span, failed)
    const results = usedTools.map(({ call, at }): Reading => {
      const marks = via(this.#calls.resultOf(call).whole, `${id}.uses`, call.span)
      this.read(call.remote.id, at, marks)
      return { path: at.path, span: call.span, marks }
    })
    const hosted = this.#readings.hosted(id, body, models)
    for (const { path, marks } of hosted) this.read(path, prepared, marks)
    const before = [...own, ...system, ...hosted, ...results]
    // What the model reads is reported as that.
    const inner = { ...prepared, decided: join(place.decided, minus(failed, marksOf(before))) }
    const uses = usedTools.map(({ call }) => {
      const decided = call.remote.symbol?.kind === "prompt" ? join(place.decided, failed) : inner.decided
      return { call: { ...call, decided: join(decided, this.#calls.left(call.remote)) } }
    })
    const files = usedFiles.map((file) => ({ ...file, call: { ...file.call, decided: inner.decided } }))
    const readings = [...before, ...this.#files.readings(files, marksOf(before), inner)]
    const reads = marksOf(readings)
    this.#readings.models(id, models, readings)
    this.#readings.hostedTools(id, hosted, readings, inner.decided)
    const compaction = this.#readings.compaction(id, body, own)
    this.#readings.decision(models, inner.decided, symbol)
    // A model that compacts a conversation reads nothing else.
    this.#readings.decision(compaction, join(place.decided, failed), symbol)
    for (const { call } of uses) this.#calls.count(call, join(call.decided, reads))
    for (const { call } of [...uses, ...files]) {
      const kind = call.remote.symbol?.kind
      // A model decides what is called or read, and fills what nothing binds: of a resource, only its server knows what that is. A prompt
      // is rendered before the model is asked. A called file was looked at with all of it.
      this.rules.use(id, call, reads, kind === undefined || kind === "prompt" ? none : reads)
      const sent = kind === "prompt" ? none : reads
      this.#calls.approval(call, join(wholesOf(call.bound), sent), { ...inner, path: call.path })
    }
    this.#watcher?.agent(
      id,
      reads,
      [...uses, ...files].map(({ call }) => call),
      [...models, ...compaction],
    )
    return reads
  }

  /** The value of a step: of one in a loop, an array as long as the list of the loop. */
  #stepValue(
    id: string,
    { output, declaration }: StepSymbol,
    one: Labelled,
    mayMiss: Marks,
    items: Labelled | undefined,
    reads: Marks,
  ): Labelled {
    if (items === undefined) return one.with(mayMiss)
    // Few choices stay choices where each is picked by its position. All of them are as good as words.
    const { count } = this.#closed.of(output)
    const picked = Math.min(Math.floor(Math.log(maxChoices) / Math.log(Math.max(count, 2))), 20) - 1
    const all = via(reads, `all items of ${id}`, declaration.name)
    return list(join(items.own, mayMiss), one, join(all, items.together), picked)
  }

  /** The variables of a step's loop, and what decides whether it is done. */
  #head(id: string, { declaration }: StepSymbol): { place: Place; decided: Marks; items: Labelled | undefined } {
    const { loop, when } = declaration
    const start = this.#placeAt(id, declaration.name)
    const items = loop && this.#flow.of(loop.items, { ...start, path: `${id}.for` })
    const variables = loop && items ? withVariables(start.variables, loop, items) : start.variables
    const place = { ...start, variables, isRepeated: loop !== undefined || untilOf(declaration) !== undefined }
    const listed = items === undefined || loop === undefined ? none : via(items.own, `${id}.for`, loop.items)
    const often = join(start.decided, listed)
    if (when === undefined) return { place, decided: often, items }
    let condition = none
    // A step that may be skipped is also skipped where its condition fails.
    const failed = this.#flow.attempt(declaration.body, id, () => {
      return (condition = this.#flow.of(when.condition, { ...place, path: `${id}.when`, decided: often }).whole)
    })
    return { place, decided: join(often, via(join(condition, failed), `${id}.when`, when.condition)), items }
  }

  #locals(
    agent: string,
    symbol: AgentSymbol,
    place: Place,
    part: (make: () => Labelled) => Labelled,
  ): ReadonlyMap<string, Labelled> {
    const locals = new Map<string, Labelled>()
    const edges = this.#program.localDependencies.get(agent)
    for (const name of topologicalOrder([...symbol.locals.keys()], (one) => edges?.get(one) ?? new Set())) {
      const field = symbol.locals.get(name)?.field
      if (field === undefined) continue
      const path = `agent.${agent}.dynamic.${name}`
      const made = part(() => {
        const value = passed(this.#flow.of(field.value, { ...place, path, locals }), path, field.name)
        this.#flow.touch(value.whole)
        return value
      })
      locals.set(name, made)
    }
    return locals
  }

  /** The tools, resources and prompts among what a model may use. A prompt is rendered before the model is called. */
  #uses(id: string, body: Syntax.Block<Syntax.Property>, place: Place): { call: Call; at: Place }[] {
    const uses = propertyOf(body, "uses")
    if (uses?.value.kind !== "uses") return []
    return uses.value.entries.flatMap((entry) => {
      const remote = this.#calls.named(entry.reference)
      if (remote === undefined) return []
      const at = { ...place, path: `${id}.uses.${secondName(entry.reference)}` }
      const call = this.#calls.call(remote, entry.block, this.#flow.bound(entry, at), entry.reference, at)
      if (remote.symbol?.kind === "prompt") this.#calls.resultOf(call)
      return [{ call, at }]
    })
  }

  // ---------------------------------------------------------------------------------------------------- questions

  #ask(id: string, symbol: AskSymbol): void {
    const { body, when, loop } = symbol.declaration
    const { place, decided, items } = this.#head(id, symbol)
    const isOpen = asksOthers(body)
    let answer = plain
    // Each item of its loop may call files.
    const words = this.#flow.repeatedly(
      () => (answer = this.#flow.sideBySide(() => this.#answer(id, body, { ...place, decided }))),
    )
    // Whether anybody answers in time is not known.
    this.#flow.touch(join(decided, answer.own))
    this.#waited.set(id, join(decided, answer.own))
    const reached = join(decided, via(this.#flow.failed, `${id}, which may not be reached`, place.span))
    if (isOpen) this.rules.asked(id, undefined, when?.condition ?? loop?.items ?? place.span, reached)
    this.#values.set(id, this.#stepValue(id, symbol, answer, decided, items, words))
  }

  /** What a question says without a person: what is shown is looked at. */
  #answer(id: string, body: Syntax.Block<Syntax.Property>, inner: Place): Labelled {
    const isOpen = asksOthers(body)
    let late = plain
    let begun = plain
    let expires = none
    for (const { name, value } of expiryLast(body)) {
      // Nobody may have answered by then.
      const ends = name.text === "on_expiry" ? expires : none
      const path = `${id}.${name.text}`
      const at = { ...inner, path, decided: join(inner.decided, ends) }
      const expression = value.kind === "expression" ? value.expression : undefined
      if (name.text === "to" && expression !== undefined) this.#calls.plain(path, expression, "who is asked", at)
      else if (name.text === "on_expiry" && expression !== undefined) {
        late = passed(this.#flow.of(expression, at), path, expression)
      } else {
        const shown = value.kind === "requirement" ? [value.condition, value.otherwise] : [expression ?? value]
        for (const part of shown) {
          let marks = none
          const touched = this.#flow.during(() => {
            if (name.text !== "prefill" || expression === undefined) marks = this.#flow.within([part], at)
            // Whoever leaves a field out takes what it begins with.
            else marks = (begun = passed(this.#flow.of(expression, at), path, expression)).whole
          })
          // An error in a requirement is shown, too.
          if (value.kind === "requirement") marks = join(marks, touched)
          if (name.text === "expires_seconds") expires = via(marks, path, name)
          if (isOpen) this.rules.asked(id, path, part !== undefined && "start" in part ? part : name, marks)
        }
      }
    }
    // When a question ends decides whether anybody has answered it.
    return either([late, begun]).with(expires)
  }

  // -------------------------------------------------------------------------------------------------------- waits

  #wait(id: string, symbol: WaitSymbol): void {
    const { place, decided, items } = this.#head(id, symbol)
    let value = plain
    const words = this.#flow.repeatedly(
      () => (value = this.#flow.sideBySide(() => this.#awaited(id, symbol, { ...place, decided }))),
    )
    // Whether an event comes in time is not known.
    this.#flow.touch(join(value.whole, decided))
    this.#values.set(id, this.#stepValue(id, symbol, value, decided, items, words))
  }

  /** Whoever sends an event writes its data, and chooses among the author's words. What is after `after` is only waited for. */
  #awaited(id: string, { declaration: { name, body } }: WaitSymbol, inner: Place): Labelled {
    const event = eventIn(body)
    const output = propertyOf(body, "output")?.value
    const typed = this.#typed.ofFields(id, output?.kind === "types" ? output.block.items : [])
    const isTrusted = event === undefined || wordsOf(body, "gives")?.includes("trusted") === true
    const said =
      wordsOf(body, "gives")?.includes("private") === true ? marked("private", { name: id, span: name }) : none
    const given = typed.with(join(said, isTrusted ? none : marked("untrusted", { name: id, span: name })))
    let late = plain
    let ends = none
    let asks = inner.decided
    for (const property of expiryLast(body)) {
      const { value } = property
      const path = `${id}.${property.name.text}`
      if (value.kind !== "expression" || !readByWaits.has(property.name.text)) continue
      const isLate = property.name.text === "on_expiry"
      const shared = event === undefined ? none : this.#events.of(event)
      const at = { ...inner, path, decided: isLate ? join(inner.decided, ends, shared) : inner.decided }
      const read = passed(this.#flow.of(value.expression, at), path, value.expression)
      const isKey = property.name.text === "key"
      if (isLate) late = read
      else ends = join(ends, read.whole)
      if (isKey) this.rules.eventKey(path, value.expression, read.whole)
      // Strangers choose no key: that is an error by itself.
      if (!isLate) asks = join(asks, isKey ? without(read.whole, "untrusted") : read.whole)
    }
    this.#waited.set(id, join(inner.decided, this.#waited.get(id) ?? none, ends))
    // There are more times than choices. When it ended also says when it began.
    if (event === undefined) return flat(join(ends, via(this.#before, `${id}.after`, name)))
    this.#events.ask(event, id, asks)
    return either([given, late]).with(join(ends, this.#events.of(event)))
  }
}

/** A value for the case that nobody came is made after all that decides until when. */
function expiryLast({ items }: Syntax.Block<Syntax.Property>): readonly Syntax.Property[] {
  const isLast = ({ name }: Syntax.Property): boolean => name.text === "on_expiry"
  return [...items.filter((one) => !isLast(one)), ...items.filter(isLast)]
}

/** The properties of a wait that are computed. */
const readByWaits: ReadonlySet<string> = new Set(["seconds", "until", "key", "expires_seconds", "on_expiry"])

/** What an earlier pass over the file found: a step may fail after another one has begun. */
interface Earlier {
  /** What may fail so that a step is not reached. */
  readonly reached: ReadonlyMap<string, Marks>
  /** What calls keep for others, by the tool, or by the step whose code keeps it. */
  readonly kept: ReadonlyMap<string, Marks>
}

const nothing: Earlier = { reached: new Map(), kept: new Map() }

/** The pass over a file. Where whoever calls it goes on after a failure, one before it finds what may fail; where calls keep something for others, what that is. */
export function passOf(
  program: Program,
  watcher?: Watcher,
  input?: Labelled,
  caller: CallerContext = outermost(program),
): TrustPass {
  const pass = (by: Earlier, from: Watcher | undefined, isCaught = caller.isCaught): TrustPass => {
    const made = new TrustPass(program, from, input, { ...caller, isCaught }, by)
    made.run()
    return made
  }
  let { kept } = nothing
  for (let round = 0; ; round++) {
    const reached = caller.isCaught ? pass({ ...nothing, kept }, undefined, false).reached : nothing.reached
    const found =
      sharesCalls(program) || hasCode(program) || eventsOf(program).size > 0
        ? pass({ reached, kept }, undefined).kept
        : kept
    const known = kept
    const isStable = [...found].every(([id, marks]) => sameSources(marks, known.get(id) ?? none))
    if (isStable || round > maxRounds) return pass({ reached, kept }, watcher)
    kept = round < maxRounds ? found : new Map([...found.keys()].map((id) => [id, allLabels(id, { start: 0, end: 0 })]))
  }
}

function hasCode({ functions }: Program): boolean {
  return [...functions.values()].some(({ declaration }) => declaration.file !== undefined)
}

/** A called file, seen by its caller. */
function follow(...[program, watcher, caller, input]: Parameters<Follow>): ReturnType<Follow> {
  const pass = passOf(program, watcher, input, caller)
  return { output: pass.output, touched: pass.touched, found: pass.rules.found }
}

/** Where a place of another file is in this one: the import that brought it; undefined where nothing here names it. */
function placeHere({ files, importedDeclarations }: Program, span: Span): Span | undefined {
  if (!isForeign(span)) return span
  const file = files.space.locate(span)?.file
  return [...importedDeclarations.values()].find((one) => one.file === file && one.item !== undefined)?.item
}
