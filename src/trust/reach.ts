import { remembered } from "../base/remembered.ts"
import { boundSecrets } from "../check/bound-secrets.ts"
import { constantOf, numberIn } from "../check/constants.ts"
import { textAt } from "../check/file-space.ts"
import type { Program, WorkflowSymbol } from "../check/program.ts"
import { providerKinds } from "../check/provider-kinds.ts"
import { plan } from "../plan/plan.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { firstFrom } from "../source/first-from.ts"
import type { Span } from "../source/span.ts"
import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { showType } from "../types/show-type.ts"
import type { Type } from "../types/types.ts"
import { ClosedTypes } from "./closed-type.ts"
import type { Requires } from "./declared.ts"
import { usesTrust } from "./declared.ts"
import type { Bound as BoundValue, Place } from "./flow.ts"
import type { Marks } from "./marks.ts"
import type { Bound, Bounded } from "./reach-bounds.ts"
import { mostOf } from "./reach-bounds.ts"
import type { Call } from "./rules.ts"
import { unboundOf } from "./rules.ts"
import { watchTrust } from "./trust.ts"
import type { Watcher } from "./watcher.ts"
import { stepOf } from "./watcher.ts"

/** What a workflow can do at most, from its plan alone. Lists are sorted, so that two can be compared. */
export interface Reach {
  readonly hosts: readonly ReachedHost[]
  readonly tools: readonly ReachedTool[]
  readonly agents: readonly ReachedAgent[]
  readonly decisions: readonly Decision[]
  readonly ways: readonly ReachedWay[]
  readonly most: Readonly<Record<Bounded, Bound>>
  readonly exceptions: readonly Exception[]
}

export interface ReachedHost {
  /** `api.example.com`; `demo`; the expression where the request decides it. */
  readonly host: string
  /** `provider.eu`, `mcp.shop`, `api.crm` */
  readonly backend: string
  readonly inputs: readonly string[]
  readonly secrets: readonly string[]
  /** Whether private data may be sent there. */
  readonly private: boolean
}

export interface ReachedTool {
  readonly tool: string
  readonly requires: "trusted" | "none" | "undeclared" | readonly string[]
  /** The agents that may call it, and the steps that do. */
  readonly callers: readonly string[]
  /** `approval`, `max_calls: 3`, `bound: to`, `trust` */
  readonly guards: readonly string[]
}

export type Pattern = "quarantined" | "privileged" | "guarded" | "open" | "plain"

export interface ReachedAgent {
  readonly agent: string
  readonly pattern: Pattern
  /** The sources of strangers' words that it reads. */
  readonly reads: readonly string[]
}

/** A closed value that a model makes from strangers' words: they choose it. */
export interface Decision {
  readonly value: string
  readonly type: string
  readonly sources: readonly string[]
  /** The steps that use it. */
  readonly leads_to: readonly string[]
}

/** Something labelled that a step reads, from the input, from another step, or from what it calls or uses. */
export interface ReachedWay {
  readonly from: string
  readonly to: string
  readonly untrusted: boolean
  readonly private: boolean
}

export interface Exception {
  readonly place: string
  readonly word: "trust" | "release"
  readonly value: string
  readonly because: string
}

const fromLeast: readonly Pattern[] = ["plain", "privileged", "quarantined", "guarded", "open"]

/** Thousands of values that thousands of steps read would be millions of names. */
const mostReaders = 100
/** Values deeper in an output are part of the ones above. */
const deepestDecision = 4

/** For a program without errors. */
export function reachOf(program: Program): Reach {
  return new ReachReader(program).read()
}

/** The agents of the pattern *open*. */
export function openAgents(program: Program): string[] {
  // A file without words of trust never said which tools act.
  if (!usesTrust(program)) return []
  const agents = new ReachReader(program).read().agents
  return agents.flatMap(({ agent, pattern }) => (pattern === "open" ? [agent] : []))
}

type Backend = Syntax.ProviderDeclaration | Syntax.McpDeclaration | Syntax.ApiDeclaration

function defaultEndpoint(backend: Backend): string {
  const kind = backend.kind === "provider" ? backend.providerKind?.text : undefined
  return providerKinds.get(kind ?? "")?.endpoint ?? ""
}

/** A step that calls a file, and the names there of the secrets that the file is given. */
interface Caller {
  readonly reader: ReachReader
  readonly step: string
  readonly secrets: ReadonlyMap<string, string>
}

class ReachReader implements Watcher {
  readonly #program: Program
  /** Before every name of a called file: `flows/triage.wire#`. */
  readonly #prefix: string
  /** A called file is described once, whoever calls it. */
  readonly #files: Map<string, ReachReader>
  readonly #callers: Caller[] = []
  readonly #plan: Plan
  readonly #closed: ClosedTypes
  readonly #inputs: readonly Syntax.Chain[]
  readonly #secrets: readonly Syntax.Chain[]
  /** The inputs that each step reads itself, and the steps that it depends on. */
  readonly #steps = new Map<string, { readonly inputs: readonly string[]; readonly before: readonly string[] }>()
  readonly #sent = new Map<
    string,
    { readonly steps: Set<string>; readonly inputs: Set<string>; readonly secrets: Set<string>; isPrivate: boolean }
  >()
  /** Each tool, and what guards each of its callers. */
  readonly #tools = new Map<string, { readonly requires: Requires; readonly callers: Map<string, Set<string>> }>()
  /** The calls of tools and resources that the steps make themselves. */
  readonly #calls: { readonly step: string; readonly callee: string; readonly isRepeated: boolean }[] = []
  #readers: ReadonlyMap<string, ReadonlySet<string>> | undefined
  /** A called file may be looked at several times: what one of them sees counts. */
  readonly #agents = new Map<string, { pattern: Pattern; readonly reads: Set<string> }>()
  readonly #exceptions = new Map<string, Exception>()
  readonly #ways = new Map<string, ReachedWay>()

  constructor(program: Program, prefix = "", files = new Map<string, ReachReader>()) {
    this.#program = program
    this.#prefix = prefix
    this.#files = files
    this.#plan = plan(program)
    this.#closed = new ClosedTypes(program.types)
    this.#inputs = chainsOf(program, "input")
    this.#secrets = chainsOf(program, "secrets")
  }

  read(): Reach {
    this.#readSteps()
    watchTrust(this.#program, this)
    const all = [this, ...this.#files.values()]
    return {
      hosts: all.flatMap((one) => one.#hosts()).sort(by(({ host, backend }) => `${host} ${backend}`)),
      tools: all.flatMap((one) => one.#reachedTools()).sort(by(({ tool }) => tool)),
      agents: all.flatMap((one) => one.#reachedAgents()).sort(by(({ agent }) => agent)),
      decisions: all.flatMap((one) => one.#decided()).sort(by(({ value }) => value)),
      ways: all.flatMap((one) => [...one.#ways.values()]).sort(by(({ from, to }) => `${from} ${to}`)),
      most: mostOf(this.#plan, this.#calls),
      exceptions: all
        .flatMap((one) => [...one.#exceptions.values()])
        .sort(by(({ place, value }) => `${place} ${value}`)),
    }
  }

  #readSteps(): void {
    const spans = spansOfSteps(this.#program)
    for (const { id, depends_on } of this.#plan.nodes) {
      const inputs = (spans.get(id) ?? []).flatMap((span) => this.#within(this.#inputs, span).map(fieldOf("input")))
      this.#steps.set(id, { inputs, before: depends_on })
    }
  }

  #reachedTools(): ReachedTool[] {
    return [...this.#tools].map(([tool, { requires, callers }]) => ({
      tool: this.#named(tool),
      requires: requires ?? "undeclared",
      callers: sorted([...callers.keys()].map((caller) => this.#named(caller))),
      guards: sorted(inAll([...callers.values()])),
    }))
  }

  #reachedAgents(): ReachedAgent[] {
    return [...this.#agents].map(([id, { pattern, reads }]) => ({
      agent: this.#named(id),
      pattern,
      reads: sorted(reads),
    }))
  }

  #named(name: string): string {
    return `${this.#prefix}${name}`
  }

  // ------------------------------------------------------------------------------------------------ what the pass sees

  agent(id: string, reads: Marks, uses: readonly Call[], models: readonly string[]): void {
    const name = id.slice("agent.".length)
    const isPrivate = reads.private.length > 0
    for (const model of models) {
      const provider = this.#program.models.get(model)?.provider?.text
      if (provider !== undefined) this.#send(`provider.${provider}`, id, isPrivate, [])
    }
    const limits = propertyOf(this.#program.agents.get(name)?.declaration.body, "limits")?.value
    const most = limits?.kind === "properties" ? numberIn(limits.block, "tool_calls") : null
    for (const call of uses) {
      this.#reach(call, id, most === null ? [] : [`limits: ${most} tool calls`])
      this.#send(call.remote.server, id, isPrivate, call.bound)
    }
    const strangers = reads.untrusted.map(({ source }) => source.name)
    const pattern = patternOf(strangers.length > 0, uses)
    const known = remembered(this.#agents, id, () => ({ pattern, reads: new Set<string>() }))
    if (fromLeast.indexOf(pattern) > fromLeast.indexOf(known.pattern)) known.pattern = pattern
    for (const stranger of strangers) known.reads.add(stranger)
  }

  file({ file, program, declaration }: WorkflowSymbol, step: string): Watcher {
    const inner = remembered(this.#files, file, () => new ReachReader(program, `${file}#`, this.#files))
    if (inner.#steps.size === 0) inner.#readSteps()
    if (!inner.#callers.some((one) => one.reader === this && one.step === step)) {
      inner.#callers.push({ reader: this, step, secrets: secretsGiven(declaration) })
    }
    return inner
  }

  call(call: Call, sent: Marks): void {
    const step = stepOf(call.path)
    this.#reach(call, step, [])
    this.#send(call.remote.server, step, sent.private.length > 0, call.bound)
    const { id, symbol } = call.remote
    if (symbol?.kind !== "prompt") this.#calls.push({ step, callee: id, isRepeated: call.isRepeated })
  }

  exception({ word, value, reason }: Syntax.ExceptionNode, place: Place): void {
    const found = {
      place: this.#named(place.path),
      word,
      value: this.#text(value),
      because: reason?.texts.join("") ?? "",
    }
    this.#exceptions.set(`${place.path} ${value.start}`, found)
  }

  way(source: string, { path }: Place, { untrusted, private: secret }: Marks): void {
    if (untrusted.length === 0 && secret.length === 0) return
    const from = this.#named(source)
    const to = this.#named(stepOf(path))
    const known = this.#ways.get(`${from} ${to}`)
    this.#ways.set(`${from} ${to}`, {
      from,
      to,
      untrusted: known?.untrusted === true || untrusted.length > 0,
      private: known?.private === true || secret.length > 0,
    })
  }

  #reach({ remote, isApproved, bound, block }: Call, caller: string, limits: readonly string[]): void {
    if (remote.symbol?.kind !== "tool") return
    const { callers } = remembered(this.#tools, remote.id, () => ({ requires: remote.requires, callers: new Map() }))
    const guards = new Set(limits)
    const most = [numberIn(remote.symbol.node.body, "max_calls"), numberIn(block, "max_calls")]
    for (const one of most) if (one !== null) guards.add(`max_calls: ${one}`)
    if (isApproved) guards.add("approval")
    if (remote.requires === "trusted") guards.add("trust")
    if (typeof remote.requires === "object") {
      const left = unboundOf(remote.requires, bound)
      for (const name of remote.requires) guards.add(left.includes(name) ? `trust: ${name}` : `bound: ${name}`)
    }
    const known = callers.get(caller)
    callers.set(caller, known === undefined ? guards : inAll([known, guards]))
  }

  #send(backend: string, step: string, isPrivate: boolean, bound: readonly BoundValue[]): void {
    const known = remembered(this.#sent, backend, () => {
      return { steps: new Set(), inputs: new Set(), secrets: new Set(), isPrivate: false }
    })
    known.steps.add(step)
    for (const { field, value } of bound) {
      for (const secret of this.#within(this.#secrets, field)) known.secrets.add(fieldOf("secrets")(secret))
      for (const input of this.#within(this.#inputs, field)) known.inputs.add(fieldOf("input")(input))
      known.isPrivate ||= value.whole.private.length > 0
    }
    known.isPrivate ||= isPrivate
  }

  #decided(): Decision[] {
    return [...this.#agents].flatMap(([id, { reads }]) => {
      const name = id.slice("agent.".length)
      const fields = reads.size === 0 ? [] : (this.#program.agents.get(name)?.output.fields ?? [])
      return fields.flatMap(({ name: field, type }) =>
        this.#closedIn(type, field).map(({ path, closed }) => ({
          value: this.#named(`${id}.${path}`),
          type: showType(closed),
          sources: sorted(reads),
          leads_to: this.#stepsThatRead(name, field).map((step) => this.#named(step)),
        })),
      )
    })
  }

  /** The closed values in a value, the largest ones. */
  #closedIn(type: Type, path: string, depth = 0): { readonly path: string; readonly closed: Type }[] {
    if (this.#closed.isClosed(type)) return [{ path, closed: type }]
    if (type.kind !== "record" || depth >= deepestDecision) return []
    return type.fields.flatMap((field) => this.#closedIn(field.type, `${path}.${field.name}`, depth + 1))
  }

  /** The steps that refer to a field of an agent's output, or to all of it. */
  #stepsThatRead(agent: string, field: string): string[] {
    this.#readers ??= readersOf(this.#program)
    const whole = this.#readers.get(`agent.${agent}`) ?? []
    const all = sorted(new Set([...whole, ...(this.#readers.get(`agent.${agent}.${field}`) ?? [])]))
    return all.length <= mostReaders ? all : [...all.slice(0, mostReaders), `${all.length - mostReaders} more`]
  }

  // ------------------------------------------------------------------------------------------------------------ hosts

  #hosts(): ReachedHost[] {
    const { providers, servers, apis } = this.#program
    const all = [...providers.values(), ...servers.values(), ...apis.values()]
    return all
      .flatMap((one) => this.#hostsOf(one))
      .map((host) => ({
        ...host,
        backend: this.#named(host.backend),
        inputs: this.#callers.length === 0 ? host.inputs : sorted(this.#inputsBehind()),
        secrets: sorted(new Set(host.secrets.flatMap((secret) => this.#ofRun(secret)))),
      }))
  }

  /** The inputs of the run that the calls of a file are made from. */
  #inputsBehind(): Set<string> {
    return new Set(
      this.#callers.flatMap(({ reader, step }) => [
        ...(reader.#callers.length === 0 ? reader.#madeFrom([step]) : reader.#inputsBehind()),
      ]),
    )
  }

  /** The secrets of the run that a secret of this file may be. */
  #ofRun(secret: string): string[] {
    if (this.#callers.length === 0) return [secret]
    return this.#callers.flatMap(({ reader, secrets }) => {
      const given = secrets.get(secret)
      return given === undefined ? [] : reader.#ofRun(given)
    })
  }

  /** Where a backend is, and where it gets its tokens. */
  #hostsOf(declaration: Backend): ReachedHost[] {
    const { kind, name, body } = declaration
    const backend = `${kind}.${name.text}`
    const sent = this.#sent.get(backend)
    const auth = propertyOf(body, "auth")
    const isAuth = ({ start, end }: Span): boolean => auth !== undefined && auth.start <= start && end <= auth.end
    const namesIn = (chains: readonly Syntax.Chain[], root: "input" | "secrets", spans: readonly Span[]): string[] => {
      return spans.flatMap((span) =>
        this.#within(chains, span)
          .filter((one) => span === auth || !isAuth(one))
          .map(fieldOf(root)),
      )
    }
    const spans = [declaration, ...this.#importsOf(declaration)]
    const own: ReachedHost = {
      host: this.#hostAt(expressionIn(body, "endpoint"), defaultEndpoint(declaration)),
      backend,
      inputs: sorted(
        new Set([
          ...namesIn(this.#inputs, "input", spans),
          ...(sent?.inputs ?? []),
          ...this.#madeFrom(sent?.steps ?? []),
        ]),
      ),
      secrets: sorted(new Set([...namesIn(this.#secrets, "secrets", spans), ...(sent?.secrets ?? [])])),
      private: sent?.isPrivate ?? false,
    }
    if (auth?.value.kind !== "properties") return [own]
    const address = expressionIn(auth.value.block, "token_endpoint") ?? expressionIn(auth.value.block, "issuer")
    const tokens: ReachedHost = {
      host: this.#hostAt(address, ""),
      backend: `${backend}.auth`,
      inputs: sorted(new Set(namesIn(this.#inputs, "input", [auth]))),
      secrets: sorted(new Set(namesIn(this.#secrets, "secrets", [auth]))),
      private: false,
    }
    return [own, tokens]
  }

  /** The inputs that steps are made from, those of the steps before them included. */
  #madeFrom(steps: Iterable<string>): Set<string> {
    const inputs = new Set<string>()
    const seen = new Set(steps)
    for (const id of seen) {
      const step = this.#steps.get(id)
      for (const input of step?.inputs ?? []) inputs.add(input)
      // A set goes on with what is added to it meanwhile.
      for (const before of step?.before ?? []) seen.add(before)
    }
    return inputs
  }

  #importsOf({ kind, name }: Backend): Span[] {
    if (kind === "provider") return []
    const { tools, resources, prompts } = this.#program
    return [...tools.values(), ...resources.values(), ...prompts.values()].flatMap(
      ({ origin, server, node, batch }) => {
        return origin === kind && server?.text === name.text ? [node, ...(batch === undefined ? [] : [batch])] : []
      },
    )
  }

  #hostAt(written: Syntax.Expression | undefined, usual: string): string {
    const address = written === undefined ? usual : constantOf(written)
    if (typeof address !== "string") return written === undefined ? "" : this.#text(written)
    // A page that only compiles has no parser of addresses.
    const [, host = address] = /^https?:\/\/(?:[^@/?#]*@)?([^/?#]+)/.exec(address) ?? []
    return host
  }

  // ------------------------------------------------------------------------------------------------------------ places

  #within(chains: readonly Syntax.Chain[], { start, end }: Span): readonly Syntax.Chain[] {
    return chains.slice(firstFrom(chains, start), firstFrom(chains, end))
  }

  #text(span: Span): string {
    const { tree, files } = this.#program
    const text = textAt(tree, files.space, span).replaceAll(/\s+/g, " ")
    return text.length <= 120 ? text : `${text.slice(0, 119)}…`
  }
}

/** By its name there, the secret here that a called file is given. */
function secretsGiven(declaration: Syntax.WorkflowDeclaration): Map<string, string> {
  return new Map([...boundSecrets(declaration)].map(([there, here]) => [`secrets.${there}`, `secrets.${here}`]))
}

function patternOf(readsStrangers: boolean, uses: readonly Call[]): Pattern {
  const tools = uses.filter(({ remote: { symbol } }) => symbol === undefined || symbol.kind === "tool")
  // A file may act on the world.
  const acting = tools.filter(({ remote: { symbol, requires } }) => symbol === undefined || requires !== "none")
  if (!readsStrangers) return tools.length > 0 ? "privileged" : "plain"
  if (acting.length === 0) return "quarantined"
  return acting.every(isGuarded) ? "guarded" : "open"
}

function isGuarded({ remote: { requires }, isApproved, bound }: Call): boolean {
  return isApproved || (typeof requires === "object" && unboundOf(requires, bound).length === 0)
}

/** The items that every set has. */
function inAll(sets: readonly ReadonlySet<string>[]): Set<string> {
  const [first = new Set<string>(), ...others] = sets
  return new Set([...first].filter((one) => others.every((other) => other.has(one))))
}

function chainsOf(program: Program, kind: "input" | "secrets"): Syntax.Chain[] {
  const chains: Syntax.Chain[] = []
  for (const [chain, root] of program.roots) if (root.kind === kind) chains.push(chain)
  return chains.sort((a, b) => a.start - b.start)
}

function fieldOf(root: "input" | "secrets"): (chain: Syntax.Chain) => string {
  return ({ steps: [first] }) => (first?.kind === "field" ? `${root}.${first.name.text}` : root)
}

/** Where each step is written. */
function spansOfSteps({ tree }: Program): Map<string, Span[]> {
  const spans = new Map<string, Span[]>()
  for (const declaration of tree.declarations) {
    if (declaration.kind === "agent" || declaration.kind === "ask") {
      spans.set(`${declaration.kind}.${declaration.name.text}`, [declaration])
    } else if (declaration.kind === "dynamic") {
      for (const field of declaration.body.items) spans.set(`dynamic.${field.name.text}`, [field])
    } else if (declaration.kind === "output") spans.set("output", [...(spans.get("output") ?? []), declaration])
  }
  return spans
}

/** The steps that refer to each agent (`agent.a`) and to each field of one (`agent.a.ok`). */
function readersOf(program: Program): Map<string, Set<string>> {
  const steps = [...spansOfSteps(program)]
    .flatMap(([id, spans]) => spans.map(({ start, end }) => ({ id, start, end })))
    .sort((a, b) => a.start - b.start)
  const readers = new Map<string, Set<string>>()
  for (const [chain, root] of program.roots) {
    if (root.kind !== "agent") continue
    const step = steps[firstFrom(steps, chain.start + 1) - 1]
    if (step === undefined || step.end < chain.end) continue
    const field = chain.steps.slice(1).find((one) => one.kind === "field" || one.kind === "pluck")
    const read = field === undefined ? `agent.${root.name}` : `agent.${root.name}.${field.name.text}`
    remembered(readers, read, () => new Set()).add(step.id)
  }
  return readers
}

function sorted(items: Iterable<string>): string[] {
  return [...items].sort()
}

function by<T>(key: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)
}
