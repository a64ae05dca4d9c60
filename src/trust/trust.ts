import { remembered } from "../base/remembered.ts"
import { modelEntries } from "../check/check-model-reference.ts"
import { isForeign } from "../check/file-space.ts"
import type { AgentSymbol, AskSymbol, ImportSymbol, Program, StepSymbol, WorkflowSymbol } from "../check/program.ts"
import { topologicalOrder } from "../plan/topological-order.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { expressionIn, propertyOf, valuesOf } from "../syntax/property-of.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import { ClosedTypes } from "./closed-type.ts"
import { Crossing } from "./crossing.ts"
import type { Remote } from "./declared.ts"
import { approvalBlock, approves, asksOthers, blockIn, isCleared, remoteOf, usesTrust, wordsOf } from "./declared.ts"
import type { Bound, Place, Steps } from "./flow.ts"
import { withDeliveries } from "./deliveries.ts"
import { Flow, withVariables } from "./flow.ts"
import type { Labelled } from "./labelled.ts"
import { either, flat, joined, list, passed, plain, record } from "./labelled.ts"
import { made } from "./made-labels.ts"
import type { Marks } from "./marks.ts"
import { isNone, join, marked, none, via } from "./marks.ts"
import type { Call, Reading } from "./rules.ts"
import { Rules } from "./rules.ts"
import { TypedLabels } from "./typed-labels.ts"

/**
 * What strangers' words and private data can reach in a checked workflow, and where they must not. One pass over the steps, each
 * after all that it depends on. A file without words of trust has nothing to look at.
 */
export function checkTrust(program: Program): readonly Diagnostic[] {
  if (!usesTrust(program)) return []
  const pass = new TrustPass(program)
  pass.run()
  const { rules, needless } = pass
  if (needless.size > 0) {
    // A caller may have more to say about its values than the types of `input` do: what could help one of them stays.
    const assumed = new TrustPass(program, undefined, assumedInput(program))
    assumed.run()
    for (const [node, place] of needless) if (assumed.needless.has(node)) rules.needless(node, place.path)
  }
  return rules.found
}

/** Shows what each step reads and reaches to somebody who describes it, also where the file has no words of trust. */
export function watchTrust(program: Program, watcher: Watcher): void {
  new TrustPass(program, watcher).run()
}

/** Somebody who wants to know what the pass sees. */
export interface Watcher {
  /** `models`: also those that compact what it continues. */
  agent(id: string, reads: Marks, uses: readonly Call[], models: readonly string[]): void
  /** A `call`, `read` or `render` of the workflow itself, with the labels of its arguments. */
  call(call: Call, sent: Marks): void
  exception(node: Syntax.ExceptionNode, place: Place): void
  /** A step calls a file: the result sees what the pass sees in it. */
  file(symbol: WorkflowSymbol, step: string): Watcher
  /** A step reads a part of the input, another step, or what something gave that it called or uses. */
  way(from: string, place: Place, marks: Marks): void
}

/** The step that a place belongs to: `agent.a` of `agent.a.instruction`. */
export function stepOf(path: string): string {
  return path.startsWith("output") ? "output" : path.split(".").slice(0, 2).join(".")
}

/** An input of which nothing is known. */
function assumedInput({ input }: Program): Labelled {
  const source = { name: "input", span: input?.declaration ?? { start: 0, end: 0 } }
  return flat(join(marked("untrusted", source), marked("private", source)))
}

/** An agent, for those that come after it. */
interface AgentLabels {
  readonly value: Labelled
  /** What another agent reads that continues its conversation. */
  readonly conversation: Marks
}

/** What the steps of a workflow read and give. The rules look at each of them. */
class TrustPass implements Steps {
  readonly rules: Rules
  /** The exceptions that changed nothing, wherever they were evaluated. */
  readonly needless = new Map<Syntax.ExceptionNode, Place>()
  readonly #needed = new Set<Syntax.ExceptionNode>()
  readonly #program: Program
  readonly #flow: Flow
  readonly #typed: TypedLabels
  readonly #closed: ClosedTypes
  readonly #remotes = new Map<string, Remote>()
  readonly #agents = new Map<string, AgentLabels>()
  readonly #values = new Map<string, Labelled>()
  /** What the imports themselves bind. */
  readonly #imported = new Map<string, readonly Bound[]>()
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
    this.rules = new Rules((span) => placeHere(program, span))
    this.#input = input
    this.#flow = new Flow(program, this)
    this.#typed = new TypedLabels(program.schemas)
    this.#closed = new ClosedTypes(program.types)
  }

  run(): void {
    const { tools, resources, prompts, output } = this.#program
    for (const table of [tools, resources, prompts]) {
      for (const symbol of table.values()) this.#import(symbol)
    }
    this.#backends()
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
    const remote = this.#remoteNamed(node.target)
    if (remote === undefined) return this.#workflowCall(node, bound, place)
    const call = this.#call(remote, node.block, bound, { start: node.start, end: node.target.end }, place)
    this.rules.call(call)
    const sent = wholesOf(call.bound)
    this.#approval(call, sent, place)
    this.#watcher?.call(call, sent)
    const result = this.#resultOf(call)
    this.read(remote.id, place, result.whole)
    return result
  }

  asset({ value }: Syntax.AssetNode, source: Labelled, { path }: Place): void {
    this.rules.asset(path, value, source.whole)
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

  // ----------------------------------------------------------------------------------------------- calls and imports

  /** A call, or an entry of `uses`, with what the import says besides. */
  #call(
    remote: Remote,
    block: Syntax.Block<Syntax.Property> | undefined,
    bound: readonly Bound[],
    span: Span,
    { path, decided, isRepeated = false }: Place,
  ): Call {
    const own = new Set(bound.flatMap(({ field, isBinding }) => (isBinding ? [field.name.text] : [])))
    const inherited = this.#bindingsOf(remote).filter(({ field }) => !own.has(field.name.text))
    const isApproved = remote.isApproved || approves(block)
    return { remote, path, span, decided, isApproved, bound: [...bound, ...inherited], block, isRepeated }
  }

  /** A result has the labels of what the tool gives, of markers in its type, and of all that it was called with. */
  #resultOf({ remote: { id, symbol, server, gives }, bound }: Call): Labelled {
    const types = propertyOf(symbol?.node.body, "output")?.value
    const typed = types?.kind === "types" ? this.#typed.ofFields(id, types.block.items, server) : plain
    return joined(typed, join(gives, wholesOf(bound)))
  }

  #bindingsOf(remote: Remote): readonly Bound[] {
    return remembered(this.#imported, remote.id, () => {
      return remote.bindings.map((field) => {
        const path = `${remote.id}.bindings.${field.name.text}`
        return { field, isBinding: true, value: this.#flow.of(field.value, placeAt(path, field.name)) }
      })
    })
  }

  /** A group that approves sees the arguments. The import names it, or the use where the import does not. */
  #approval(call: Call, sent: Marks, place: Place): void {
    const own = approvalBlock(call.block)
    const to = expressionIn(own, "to")
    if (to !== undefined) this.#plain(`${place.path}.approval.to`, to, "who approves", place)
    const asked = [...call.remote.approvals, ...(own === undefined ? [] : [own])]
    const group = asked.find((one) => expressionIn(one, "to") !== undefined)
    if (asksOthers(group)) this.rules.approver(call, join(sent, call.decided))
    if (call.remote.asksOthers) this.rules.elicited(call, sent)
  }

  #remoteNamed({ base, steps: [first] }: Syntax.Chain): Remote | undefined {
    if (base.kind !== "name" || first?.kind !== "field") return undefined
    return this.#remotes.get(`${base.text}.${first.name.text}`)
  }

  #import(symbol: ImportSymbol): void {
    const remote = remoteOf(this.#program, symbol)
    this.#remotes.set(remote.id, remote)
    for (const approval of remote.approvals) {
      const to = expressionIn(approval, "to")
      if (to !== undefined) this.#plain(`${remote.id}.approval.to`, to, "who approves")
    }
  }

  #backends(): void {
    const { providers, models, servers, apis } = this.#program
    for (const [name, { body }] of providers) this.#address(`provider.${name}`, body)
    for (const [name, { body }] of models) this.#address(`model.${name}`, body)
    for (const { kind, name, body } of [...servers.values(), ...apis.values()]) {
      this.#address(`${kind}.${name.text}`, body)
    }
  }

  /** Nobody but the author and the caller says where calls go, and nothing private stands in an address. */
  #address(id: string, body: Syntax.Block<Syntax.Property>): void {
    for (const name of ["endpoint", "id"]) {
      const value = expressionIn(body, name)
      if (value !== undefined) this.#plain(`${id}.${name}`, value, `the \`${name}\` of ${id}`)
    }
    for (const { name, value } of valuesOf(body, "headers")) {
      this.#plain(`${id}.headers.${name.text}`, value, `a header of ${id}`)
    }
    const to = expressionIn(blockIn(body, "elicitation"), "to")
    if (to !== undefined) this.#plain(`${id}.elicitation.to`, to, `whom ${id} asks`)
    for (const { name, value } of blockIn(body, "auth")?.items ?? []) {
      if (value.kind === "expression") this.#plain(`${id}.auth.${name.text}`, value.expression, `the \`auth\` of ${id}`)
    }
  }

  /** A value that must be neither untrusted nor private. */
  #plain(path: string, value: Syntax.Expression, what: string, place = placeAt(path, value)): void {
    this.rules.plain(path, value, what, this.#flow.of(value, place).whole)
  }

  // ------------------------------------------------------------------------------------------------------- agents

  #agent(id: string, name: string, symbol: AgentSymbol): void {
    const { body } = symbol.declaration
    const { place, decided, items } = this.#head(id, symbol)
    const inner = { ...place, decided, locals: this.#locals(name, symbol, { ...place, decided }) }
    const models = this.#modelsIn(propertyOf(body, "model"))
    const own = this.#readings(id, body, inner)
    const uses = this.#uses(id, body, inner)
    const files = this.#workflowUses(id, body, inner)
    const system = this.#systemReadings(id, body, inner, models)
    const ofTools = uses.map(({ reading }) => reading)
    const used = [...ofTools, ...this.#filesRead(files, marksOf([...own, ...system, ...ofTools]), inner)]
    const readings = [...own, ...system, ...used]
    const reads = marksOf(readings)

    this.#models(id, models, readings)
    const compaction = this.#compaction(id, body, own)
    this.#modelDecision([...models, ...compaction], decided, symbol)
    for (const { call } of uses) {
      // A model fills the arguments of a tool; a resource or prompt gets what its bindings and its template say.
      const filled = call.remote.symbol?.kind === "tool" || opensTemplate(call) ? reads : none
      this.rules.use(id, call, reads, filled)
      this.#approval(call, join(wholesOf(call.bound), filled), { ...inner, path: call.path })
    }
    for (const { call } of files) {
      this.rules.use(id, call, reads, none)
      this.#approval(call, join(wholesOf(call.bound), reads), { ...inner, path: call.path })
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

  /** What a model reads besides its system text and what it uses. */
  #readings(id: string, body: Syntax.Block<Syntax.Property>, place: Place): Reading[] {
    return body.items.flatMap(({ name, value }) => {
      const path = `${id}.${name.text}`
      const read = (before: Marks, values: readonly (Syntax.Expression | undefined)[]): Reading[] => {
        const wholes = values.map((one) => (one === undefined ? none : this.#flow.of(one, { ...place, path }).whole))
        return [{ path, span: name, marks: via(join(before, ...wholes), path, name) }]
      }
      switch (value.kind) {
        case "expression":
          return name.text === "instruction" ? read(none, [value.expression]) : []
        case "file":
          return read(none, [value.content, ...valuesIn(value.block)])
        case "properties":
          return name.text === "file" ? read(none, valuesIn(value.block)) : []
        case "requirement":
          return read(none, [value.condition, value.otherwise])
        case "context": {
          const continued = secondName(value.reference)
          const before = this.#agents.get(continued)?.conversation ?? none
          this.read(`agent.${continued}`, place, before)
          return read(before, [expressionIn(value.block, "instruction")])
        }
        default:
          return []
      }
    })
  }

  /** The models that compact what the agent continues. */
  #compaction(id: string, body: Syntax.Block<Syntax.Property>, readings: readonly Reading[]): string[] {
    const context = propertyOf(body, "context")?.value
    const models = context?.kind === "context" ? this.#modelsIn(propertyOf(context.block, "model")) : []
    this.#models(
      id,
      models,
      readings.filter(({ path }) => path === `${id}.context`),
    )
    return models
  }

  /** The agent's own system text, else those of its models. */
  #systemReadings(id: string, body: Syntax.Block<Syntax.Property>, place: Place, models: readonly string[]): Reading[] {
    const own = propertyOf(body, "system")
    const texts =
      own === undefined
        ? models.map((model) => {
            const path = `model.${model}.system`
            const property = propertyOf(this.#program.models.get(model)?.body, "system")
            return { path, property, at: placeAt(path, place.span) }
          })
        : [{ path: `${id}.system`, property: own, at: { ...place, path: `${id}.system` } }]
    return texts.flatMap(({ path, property, at }) => {
      if (property?.value.kind !== "expression") return []
      const marks = via(this.#flow.of(property.value.expression, at).whole, path, property.name)
      return [{ path, span: property.name, marks }]
    })
  }

  #modelsIn(property: Syntax.Property | undefined): string[] {
    const entries = property === undefined ? undefined : modelEntries(property.value)
    return (entries ?? []).map(({ reference }) => secondName(reference))
  }

  #openModel(models: readonly string[]): string | undefined {
    return models.find((name) => {
      const model = this.#program.models.get(name)
      return !isCleared(model?.body) && !isCleared(this.#program.providers.get(model?.provider?.text ?? "")?.body)
    })
  }

  #models(id: string, models: readonly string[], readings: readonly Reading[]): void {
    const open = this.#openModel(models)
    if (open !== undefined) this.rules.model(id, open, readings)
  }

  #modelDecision(models: readonly string[], decided: Marks, { declaration }: AgentSymbol): void {
    const open = this.#openModel(models)
    const span = declaration.when?.condition ?? declaration.loop?.items ?? declaration.name
    if (open !== undefined) this.rules.modelDecision(open, span, decided)
  }

  #uses(id: string, body: Syntax.Block<Syntax.Property>, place: Place): { call: Call; reading: Reading }[] {
    const uses = propertyOf(body, "uses")
    if (uses?.value.kind !== "uses") return []
    return uses.value.entries.flatMap((entry) => {
      const remote = this.#remoteNamed(entry.reference)
      if (remote === undefined) return []
      const at = { ...place, path: `${id}.uses.${secondName(entry.reference)}` }
      const call = this.#call(remote, entry.block, this.#flow.bound(entry, at), entry.reference, at)
      const marks = via(this.#resultOf(call).whole, `${id}.uses`, entry.reference)
      this.read(remote.id, at, marks)
      return [{ call, reading: { path: at.path, span: entry.reference, marks } }]
    })
  }

  // ------------------------------------------------------------------------------------------------- called files

  /** `call workflow.w`, `repeat workflow.w` */
  #workflowCall(node: Syntax.InvokeNode, bound: readonly Bound[], place: Place): Labelled {
    const symbol = this.#program.workflows.get(secondName(node.target))
    if (symbol === undefined || !isWorkflow(node.target)) return plain
    const span = { start: node.start, end: node.target.end }
    const call = this.#call(workflowRemote(symbol), node.block, bound, span, place)
    this.rules.call(call)
    this.#approval(call, wholesOf(bound), place)
    this.#watcher?.call(call, wholesOf(bound))
    const given = new Map(bound.map(({ field, value }) => [field.name.text, value]))
    const until = expressionIn(node.block, "until")
    const result =
      node.kind !== "repeat" || until === undefined
        ? this.#callFile(symbol, (name) => given.get(name) ?? plain, call)
        : this.#rounds(symbol, node, until, given, call, place)
    const labelled = joined(result, call.remote.gives)
    this.read(call.remote.id, place, labelled.whole)
    return labelled
  }

  /** What a round gives may be what the next one is given. */
  #rounds(
    symbol: WorkflowSymbol,
    node: Syntax.InvokeNode,
    until: Syntax.Expression,
    first: ReadonlyMap<string, Labelled>,
    call: Call,
    place: Place,
  ): Labelled {
    let given = first
    let ended: Marks = none
    let result: Labelled = plain
    for (let round = 0; round < mostRounds; round++) {
      const fields = given
      const decided = join(call.decided, ended)
      const isLast = round === mostRounds - 1
      result = this.#callFile(symbol, (name) => fields.get(name) ?? plain, { ...call, decided }, isLast)
      const after: Place = { ...place, decided, result, round: ended }
      ended = join(ended, this.#flow.of(until, after).whole)
      const next = new Map(fields)
      for (const { name, value } of valuesOf(node.block, "next")) {
        const one = this.#flow.of(value, { ...after, decided: join(decided, ended) })
        next.set(name.text, either([fields.get(name.text) ?? plain, joined(one, ended)]))
      }
      given = next
    }
    const fields = { result: joined(result, ended), rounds: flat(ended), done: flat(ended) }
    return record(new Map(Object.entries(fields)))
  }

  #workflowUses(id: string, body: Syntax.Block<Syntax.Property>, place: Place): UsedFile[] {
    const uses = propertyOf(body, "uses")
    if (uses?.value.kind !== "uses") return []
    return uses.value.entries.flatMap((entry) => {
      const symbol = isWorkflow(entry.reference) ? this.#program.workflows.get(secondName(entry.reference)) : undefined
      if (symbol === undefined) return []
      const at = { ...place, path: `${id}.uses.${symbol.name.text}` }
      const bound = this.#flow.bound(entry, at)
      return [{ symbol, call: this.#call(workflowRemote(symbol), entry.block, bound, entry.reference, at) }]
    })
  }

  /** What the model reads of the files that it calls. It fills their input, and decides that they are called. */
  #filesRead(files: readonly UsedFile[], before: Marks, place: Place): Reading[] {
    let reads = before
    let readings: Reading[] = []
    for (let round = 0; round < (files.length === 0 ? 0 : mostRounds); round++) {
      const seen = reads
      const isLast = round === mostRounds - 1
      readings = files.map(({ symbol, call }) => {
        const bound = new Map(call.bound.map(({ field, value }) => [field.name.text, value]))
        const filled = flat(seen)
        const decided = join(place.decided, seen)
        const result = this.#callFile(symbol, (name) => bound.get(name) ?? filled, { ...call, decided }, isLast)
        const marks = via(joined(result, call.remote.gives).whole, call.path, call.span)
        this.read(call.remote.id, { ...place, path: call.path }, marks)
        return { path: call.path, span: call.span, marks }
      })
      reads = join(before, marksOf(readings))
    }
    return readings
  }

  /** The labels of a file's output, as if it were written in place. Reports what goes wrong inside because of them. */
  #callFile(
    symbol: WorkflowSymbol,
    given: (field: string) => Labelled,
    { path, span, decided }: Call,
    reports = true,
  ): Labelled {
    const { budget, depth } = this.#around
    // Deeper calls are not made.
    if (depth >= deepestCall) return plain
    const crossing = new Crossing(symbol, span)
    const watcher = reports ? this.#watcher?.file(symbol, stepOf(path)) : undefined
    if (budget.left-- <= 0) {
      // Whoever watches is shown the most that may happen in it.
      if (watcher !== undefined && !budget.assumed.has(symbol.program)) {
        budget.assumed.add(symbol.program)
        new TrustPass(symbol.program, watcher, assumedInput(symbol.program), this.#around).run()
      }
      const all = join(decided, ...symbol.input.fields.map(({ name }) => given(name).whole))
      this.rules.unfollowed(symbol.file, path, span, all)
      return flat(all)
    }
    const isPlain = isNone(decided) && symbol.input.fields.every(({ name }) => isNone(given(name).whole))
    const alone = isPlain ? outputsAlone.get(symbol.program) : undefined
    if (alone !== undefined && watcher === undefined) return crossing.leave(alone)
    const inner = new TrustPass(symbol.program, watcher, undefined, {
      given: (name) => crossing.enter(given(name)),
      decided: crossing.entering(decided),
      budget,
      depth: depth + 1,
    })
    inner.run()
    if (isPlain) outputsAlone.set(symbol.program, inner.output)
    if (reports) this.rules.inside(symbol.file, path, span, inner.rules.found)
    return crossing.leave(inner.output)
  }

  // ---------------------------------------------------------------------------------------------------- questions

  #ask(id: string, symbol: AskSymbol): void {
    const { body, when, loop } = symbol.declaration
    const { place, decided, items } = this.#head(id, symbol)
    const inner = { ...place, decided }
    const to = expressionIn(body, "to")
    if (to !== undefined) this.#plain(`${id}.to`, to, "who is asked", { ...inner, path: `${id}.to` })
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

/** What the caller of a file knows of the call. */
interface Around {
  /** The labels of a field of the input; undefined for the file that is checked. */
  readonly given?: (field: string) => Labelled
  /** What decides that the file is called. */
  readonly decided: Marks
  /** Calls that may still be followed. */
  readonly budget: {
    left: number
    /** Files that were looked at as if any of their input could be a stranger's, and private. */
    readonly assumed: Set<Program>
  }
  readonly depth: number
}

/** A file that a model may call. */
interface UsedFile {
  readonly symbol: WorkflowSymbol
  readonly call: Call
}

/** What a file gives that is given nothing labelled, as most are. */
const outputsAlone = new WeakMap<Program, Labelled>()

/** At most so many calls of files within each other are made. */
const deepestCall = 8
/** Files that call many files, which call many: a few hundred lines could keep the checker busy for hours. */
const mostFollowed = 2000
/** There are two labels: what changes with them has changed after so many rounds. */
const mostRounds = 3

function outermost(): Around {
  return { decided: none, budget: { left: mostFollowed, assumed: new Set() }, depth: 0 }
}

/** What the declaration of a file says. Its private input is looked at inside. */
function workflowRemote({ name, declaration: { body } }: WorkflowSymbol): Remote {
  const id = `workflow.${name.text}`
  const said = wordsOf(body, "gives") ?? []
  const labels = (["untrusted", "private"] as const).filter((label) => said.includes(label))
  return {
    id,
    symbol: undefined,
    server: id,
    isCleared: true,
    requires: wordsOf(body, "requires")?.includes("trusted") === true ? "trusted" : "none",
    gives: join(...labels.map((label) => marked(label, { name: id, span: name }))),
    isApproved: false,
    approvals: [],
    asksOthers: false,
    bindings: [],
  }
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

function marksOf(readings: readonly Reading[]): Marks {
  return join(...readings.map(({ marks }) => marks))
}

function wholesOf(bound: readonly Bound[]): Marks {
  return join(...bound.map(({ value }) => value.whole))
}

function placeAt(path: string, span: Span): Place {
  return { path, span, decided: none, variables: new Map(), locals: new Map() }
}

/** The name after the dot: `fast` of `model.fast`. */
function secondName({ steps: [first] }: Syntax.Chain): string {
  return first?.kind === "field" ? first.name.text : ""
}

function valuesIn(block: Syntax.Block<Syntax.Property> | undefined): Syntax.Expression[] {
  return (block?.items ?? []).flatMap(({ value }) => (value.kind === "expression" ? [value.expression] : []))
}

/** Whether the address of a resource has a variable that nothing binds: the model fills it. */
function opensTemplate({ remote: { symbol }, bound }: Call): boolean {
  if (symbol?.kind !== "resource") return false
  const set = new Set(bound.map(({ field }) => field.name.text))
  return [...symbol.remote.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)].some(([, names = ""]) => {
    return names.split(",").some((name) => !set.has(name.split(/[*:]/)[0] ?? ""))
  })
}
