import { remembered } from "../base/remembered.ts"
import { numberIn } from "../check/constants.ts"
import { hostedIn } from "../check/hosted-tools.ts"
import type { Program, WorkflowSymbol } from "../check/program.ts"
import { plan } from "../plan/plan.ts"
import { cacheableShare } from "../plan/stable-part.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { ClosedTypes } from "./closed-type.ts"
import { usesTrust, type Requires } from "./declared.ts"
import type { Place } from "./flow.ts"
import type { Marks, Source } from "./marks.ts"
import { maxOf } from "./reach-bounds.ts"
import { choicesIn } from "./reach-choices.ts"
import { ReachedHosts } from "./reach-hosts.ts"
import { readersOf, shortText, sorted } from "./reach-places.ts"
import type {
  Decision,
  Exception,
  Pattern,
  Reach,
  ReachedAgent,
  ReachedCode,
  ReachedTool,
  ReachedWay,
} from "./reach-shape.ts"
import { unboundOf, type Call } from "./rules.ts"
import { RunNames } from "./run-names.ts"
import { watchTrust } from "./trust.ts"
import { stepOf, type Watcher } from "./watcher.ts"

const fromLeast: readonly Pattern[] = ["plain", "privileged", "quarantined", "guarded", "open"]

/** Thousands of values that thousands of steps read would be millions of names. */
const maxReaders = 100

/** For a program without errors. `hash` makes SHA-256 of the texts of code. */
export function reachOf(program: Program, hash: (text: string) => string = () => ""): Reach {
  return new ReachReader(program).read(hash)
}

/** The agents of the pattern *open*. */
export function openAgents(program: Program): string[] {
  // A file without words of trust never said which tools act.
  if (!usesTrust(program)) return []
  const agents = new ReachReader(program).read(() => "").agents
  return agents.flatMap(({ agent, pattern }) => (pattern === "open" ? [agent] : []))
}

const fileEnd = ".wire#"

class ReachReader implements Watcher {
  readonly #program: Program
  readonly #names: RunNames
  readonly #hosts: ReachedHosts
  /** A called file is described once, whoever calls it. */
  readonly #files: Map<string, ReachReader>
  readonly #plan: Plan
  readonly #closed: ClosedTypes
  /** Each tool, and what guards each of its callers. */
  readonly #tools = new Map<string, { readonly requires: Requires; readonly callers: Map<string, Set<string>> }>()
  /** The steps of other files that call this one. */
  readonly #callers = new Map<string, { readonly reader: ReachReader; readonly step: string }>()
  /** The file that makes the call which is looked at. */
  #caller: ReachReader | undefined
  #after: readonly string[] | undefined
  #readers: ReadonlyMap<string, ReadonlySet<string>> | undefined
  /** A called file may be looked at several times: what one of them sees counts. */
  readonly #agents = new Map<string, { pattern: Pattern; readonly reads: Set<string> }>()
  readonly #exceptions = new Map<string, Exception>()
  readonly #ways = new Map<string, ReachedWay>()

  constructor(program: Program, prefix = "", files = new Map<string, ReachReader>()) {
    this.#program = program
    this.#files = files
    this.#plan = plan(program)
    this.#closed = new ClosedTypes(program.types)
    this.#names = new RunNames(program, this.#plan, prefix)
    this.#hosts = new ReachedHosts(program, this.#names)
  }

  read(hash: (text: string) => string): Reach {
    watchTrust(this.#program, this)
    const all = [this, ...this.#files.values()]
    return {
      hosts: all.flatMap((one) => one.#hosts.read()).sort(by(({ host, backend }) => `${host} ${backend}`)),
      tools: all.flatMap((one) => one.#reachedTools()).sort(by(({ tool }) => tool)),
      agents: all.flatMap((one) => one.#reachedAgents()).sort(by(({ agent }) => agent)),
      decisions: all.flatMap((one) => one.#decided()).sort(by(({ value }) => value)),
      ways: all.flatMap((one) => [...one.#ways.values()]).sort(by(({ from, to }) => `${from} ${to}`)),
      most: maxOf(this.#plan),
      exceptions: all
        .flatMap((one) => [...one.#exceptions.values()])
        .sort(by(({ place, value }) => `${place} ${value}`)),
      ...codeOf(
        all.map((one) => one.#program),
        hash,
      ),
    }
  }

  #reachedTools(): ReachedTool[] {
    return [...this.#tools].map(([tool, { requires, callers }]) => {
      const each = [...callers].map(([caller, guards]) => ({ caller: this.#names.of(caller), guards: sorted(guards) }))
      const shared = sorted(inAll([...callers.values()]))
      const isShared = each.every(({ guards }) => guards.length === shared.length)
      return {
        tool: this.#names.of(tool),
        requires: requires ?? "undeclared",
        callers: sorted(each.map(({ caller }) => caller)),
        guards: shared,
        ...(isShared ? {} : { per_caller: each.sort(by(({ caller }) => caller)) }),
      }
    })
  }

  #reachedAgents(): ReachedAgent[] {
    const nodes = new Map(this.#plan.nodes.map((node) => [node.id, node]))
    return [...this.#agents].map(([id, { pattern, reads }]) => {
      const node = nodes.get(id)
      const cacheable = node?.kind === "agent" ? cacheableShare(this.#plan, node) : null
      return { agent: this.#names.of(id), pattern, reads: sorted(reads), cacheable }
    })
  }

  // ------------------------------------------------------------------------------------------------ what the pass sees

  agent(id: string, reads: Marks, uses: readonly Call[], models: readonly string[]): void {
    const name = id.slice("agent.".length)
    const isPrivate = reads.private.length > 0
    for (const model of models) {
      const provider = this.#program.models.get(model)?.provider?.text
      if (provider === undefined) continue
      this.#hosts.send(`provider.${provider}`, id, isPrivate, [])
      const agent = this.#program.agents.get(name)?.declaration.body
      const hosted = [...hostedIn(agent), ...hostedIn(this.#program.models.get(model)?.body)]
      if (hosted.length > 0) this.#hosts.sendOn(`provider.${provider}`, id, isPrivate)
    }
    const limits = propertyOf(this.#program.agents.get(name)?.declaration.body, "limits")?.value
    const most = limits?.kind === "properties" ? numberIn(limits.block, "tool_calls") : null
    for (const call of uses) {
      this.#reach(call, id, most === null ? [] : [`limits: ${most} tool calls`])
      this.#hosts.send(call.remote.server, id, isPrivate, call.bound)
    }
    const strangers = reads.untrusted.map(({ source }) => this.#sourceName(source))
    const pattern = patternOf(strangers.length > 0, uses)
    const known = remembered(this.#agents, id, () => ({ pattern, reads: new Set<string>() }))
    if (fromLeast.indexOf(pattern) > fromLeast.indexOf(known.pattern)) known.pattern = pattern
    for (const stranger of strangers) known.reads.add(stranger)
  }

  file({ file, program, declaration }: WorkflowSymbol, step: string): Watcher {
    const inner = remembered(this.#files, file, () => new ReachReader(program, `${file}#`, this.#files))
    inner.#names.calledBy(this.#names, step, declaration)
    inner.#callers.set(this.#names.of(step), { reader: this, step })
    inner.#caller = this
    return inner
  }

  /** A source by the name that it has in the run: it may be one of a caller, or of a file that is called here. */
  #sourceName({ name, level = 0 }: Pick<Source, "name" | "level">): string {
    if (level > 0 && this.#caller !== undefined) return this.#caller.#sourceName({ name, level: level - 1 })
    // `a.wire#b.wire#tool.go` is `b.wire#tool.go`. What stands in quotes is no path.
    const [path = ""] = name.split('"', 1)
    const last = path.lastIndexOf(fileEnd)
    if (last < 0) return this.#names.of(name)
    const before = path.lastIndexOf(fileEnd, last - 1)
    return before < 0 ? name : name.slice(before + fileEnd.length)
  }

  call(call: Call, sent: Marks): void {
    const step = stepOf(call.path)
    this.#reach(call, step, [])
    this.#hosts.send(call.remote.server, step, sent.private.length > 0, call.bound)
  }

  exception({ word, value, reason }: Syntax.ExceptionNode, place: Place): void {
    const found = {
      place: this.#names.of(place.path),
      word,
      value: shortText(this.#program, value),
      because: reason?.texts.join("") ?? "",
    }
    this.#exceptions.set(`${place.path} ${value.start}`, found)
  }

  way(source: string, { path }: Place, { untrusted, private: secret }: Marks): void {
    if (untrusted.length === 0 && secret.length === 0) return
    const from = this.#names.of(source)
    const to = this.#names.of(stepOf(path))
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
    // A person who approves may let strangers' words through.
    else if (remote.requires === "trusted" || remote.requires === "strict") guards.add("trust")
    if (typeof remote.requires === "object") {
      const left = unboundOf(remote.requires, bound)
      for (const name of remote.requires) {
        if (!left.includes(name)) guards.add(`bound: ${name}`)
        else if (!isApproved) guards.add(`trust: ${name}`)
      }
    }
    const known = callers.get(caller)
    callers.set(caller, known === undefined ? guards : inAll([known, guards]))
  }

  #decided(): Decision[] {
    return [...this.#agents].flatMap(([id, { reads }]) => {
      const name = id.slice("agent.".length)
      const fields = reads.size === 0 ? [] : (this.#program.agents.get(name)?.output.fields ?? [])
      return fields.flatMap(({ name: field, type }) =>
        choicesIn(type, field, this.#closed, this.#program.types).map((choice) => ({
          value: this.#names.of(`${id}.${choice.path}`),
          type: choice.type,
          sources: sorted(reads),
          leads_to: this.#stepsThatRead(`agent.${name}`, field),
        })),
      )
    })
  }

  /** The steps that refer to a field of a step's value, or to all of it. */
  #stepsThatRead(step: string, field: string): string[] {
    const all = this.#goingOn([...this.#readersOf(step), ...this.#readersOf(`${step}.${field}`)])
    return all.length <= maxReaders ? all : [...all.slice(0, maxReaders), `${all.length - maxReaders} more`]
  }

  #readersOf(value: string): Iterable<string> {
    this.#readers ??= readersOf(this.#program)
    return this.#readers.get(value) ?? []
  }

  /** The names of these steps; in place of the output of a called file, the steps that get it. */
  #goingOn(steps: readonly string[]): string[] {
    const isCalled = this.#callers.size > 0
    return sorted(
      new Set(steps.flatMap((step) => (step === "output" && isCalled ? this.#afterOutput() : [this.#names.of(step)]))),
    )
  }

  #afterOutput(): readonly string[] {
    this.#after ??= [...this.#callers.values()].flatMap(({ reader, step }) => reader.#afterCall(step))
    return this.#after
  }

  /** A dynamic value that is nothing but the call hands it on to those that read it. */
  #afterCall(step: string): string[] {
    const value = this.#program.dynamics.get(step.slice("dynamic.".length))?.field.value
    const isCall = step.startsWith("dynamic.") && (value?.kind === "call" || value?.kind === "repeat")
    const readers = isCall ? [...this.#readersOf(step)] : []
    return this.#goingOn(readers.length === 0 ? [step] : readers)
  }
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

function by<T>(key: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0)
}

/** All files of the code that programs call; nothing where there is none. */
function codeOf(
  programs: readonly Program[],
  hash: (text: string) => string,
): { readonly code?: readonly ReachedCode[] } {
  const texts = new Map<string, string>()
  for (const { functions } of programs) {
    for (const { code } of functions.values()) {
      for (const [file, text] of Object.entries(code?.files.texts ?? {})) texts.set(file, text)
    }
  }
  if (texts.size === 0) return {}
  return { code: [...texts].map(([file, text]) => ({ file, hash: hash(text) })).sort(by(({ file }) => file)) }
}
