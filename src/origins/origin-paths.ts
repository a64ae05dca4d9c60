import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { RunState, Span } from "../log/run-state.ts"
import { spanLabel } from "../log/span-names.ts"
import type { Expression, Root } from "../plan/expression.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { ReachedWay } from "../trust/reach-shape.ts"
import { KnownValues, type Place } from "./known-values.ts"
import { originOf, type Origin, type Piece } from "./origin.ts"
import { sharedWords, type TextRange } from "./shared-words.ts"
import { traceExpression, traceTemplate, type TracedProgram } from "./template.ts"
import { keysOf, pathOf, textOfValue, valueAt } from "./value-path.ts"

/** One place that a text has been on its way. */
export interface Hop {
  readonly kind: "output" | "expression" | "step" | "request" | "source" | "input" | "tool" | "answer"
  /** `file:line:column` for what the source says, `calls/ID` for a request, else a path: `output.reply`, `agent.a.text`, `input.mail`. */
  readonly at: string
  readonly text?: string
  /** Where the part that is followed stands in the value, or in the body of the request. */
  readonly range?: TextRange
  readonly labels: readonly ("untrusted" | "private")[]
}

export type OriginPath = readonly Hop[]

/** A run that has an output, and what is known of its file. */
export interface FollowedRun {
  readonly traced: TracedProgram
  /** The path of the main file. */
  readonly file: string
  readonly input: JsonObject
  readonly state: RunState
  readonly ways: readonly ReachedWay[]
}

/** A hop whose labels may be those of the hop after it. */
type Draft = Omit<Hop, "labels"> & { readonly labels?: Hop["labels"] }

interface Found {
  readonly hops: readonly Draft[]
  /** Characters that the chosen text and the end of the path have in common. */
  readonly match: number
}

/** What a model was given, in one piece. */
interface Read extends Piece {
  readonly origin: Origin
}

const maxPaths = 100
const maxDepth = 12
/** Of a step with many items, those that are followed. */
const maxItems = 5
const maxText = 2_000

/** Where a value of a run's output, or a part of its text, came from; null for a path that the output does not have. */
export function originPaths(run: FollowedRun, path: string, part?: Partial<TextRange>): readonly OriginPath[] | null {
  const [root, ...keys] = keysOf(path) ?? []
  const value = root === "output" ? valueAt(run.state.output, keys) : undefined
  if (value === undefined) return null
  const found = new PathFinder(run).ofOutput(value, path, keys, part)
  return found
    .toSorted((a, b) => b.match - a.match)
    .slice(0, maxPaths)
    .map(({ hops }) => withLabels(hops, run.ways))
}

class PathFinder {
  readonly #run: FollowedRun
  readonly #known: KnownValues
  /** Paths are found from step to step: without a bound there could be more than anybody reads. */
  #left = 10 * maxPaths
  /** Characters that may still be searched for shared words. */
  #characters = 5_000_000

  constructor(run: FollowedRun) {
    this.#run = run
    this.#known = new KnownValues(run.traced.plan, run.input, run.state)
  }

  ofOutput(value: JsonValue, path: string, keys: readonly string[], part?: Partial<TextRange>): readonly Found[] {
    const { plan, program } = this.#run.traced
    const output = plan.nodes.find(({ kind }) => kind === "output")
    if (output?.kind !== "output") return []
    const [name, ...rest] = keys
    if (name === undefined) {
      return output.fields.flatMap(({ key }) => this.ofOutput(valueAt(value, [key]) ?? null, `output.${key}`, [key]))
    }
    const planned = output.fields.find(({ key }) => key === name)?.value
    const written = program.output?.declaration.body.items.find((field) => field.name.text === name)?.value
    if (planned === undefined) return []
    const { expression, syntax, left } = into(planned, written, rest)
    const text = textOfValue(value)
    const range = { from: part?.from ?? 0, to: part?.to ?? text.length }
    const hop: Draft = { kind: "output", at: path, ...chosen(text, range) }
    const at = left.length === 0 ? path : `output.${name}`
    return this.#ofExpression({ value: expression, syntax, path: at, consumer: "output", left }, text, range, 0).map(
      ({ hops, match }) => ({ hops: [hop, ...hops], match }),
    )
  }

  #shared(wanted: string, text: string): TextRange | null {
    this.#characters -= text.length
    return this.#characters < 0 ? null : sharedWords(wanted, text)
  }

  /** The paths of a part of the text that an expression became. */
  #ofExpression(
    { value, syntax, path, place, consumer, left = [] }: Followed,
    text: string,
    range: TextRange,
    depth: number,
  ): readonly Found[] {
    const { traced, file } = this.#run
    const written = syntax?.kind === "string" ? syntax : undefined
    const pieces = traceExpression(traced, this.#known, { value, path, written, ...(place && { place }) }, text)
    const hops: readonly Draft[] =
      syntax === undefined
        ? []
        : [
            {
              kind: "expression",
              at: placeIn(file, traced.lines.position(syntax.start)),
              text: cut(traced.program.tree.text.slice(syntax.start, syntax.end)),
            },
          ]
    const found: Found[] = []
    let at = 0
    for (const { text: own, origin } of pieces ?? [{ text, origin: originOf(value, place) }]) {
      const from = Math.max(range.from, at)
      const to = Math.min(range.to, at + own.length)
      at += own.length
      if ((from >= to && range.from < range.to) || origin === null) continue
      const wanted = text.slice(from, to)
      for (const one of this.#ofOrigin(within(origin, left), wanted, own, consumer, depth)) {
        found.push({ hops: [...hops, ...one.hops], match: one.match })
      }
    }
    return found.length === 0 ? [{ hops, match: 0 }] : found
  }

  /** `wanted`: what is followed. `own`: the whole text that has this origin. */
  #ofOrigin(origin: Origin, wanted: string, own: string, consumer: string, depth: number): readonly Found[] {
    if (this.#left-- <= 0 || depth > maxDepth) return []
    const { kind, label, node } = origin
    const end = (hop: Draft): readonly Found[] => [{ hops: [hop], match: wanted.length }]
    const labels = labelsOf(this.#run.ways, label, consumer)
    switch (kind) {
      case "source":
        return end({ kind, at: this.#written(origin), text: cut(own), labels: [] })
      case "input":
        return end({ kind, at: label, ...this.#chosenAt(label, wanted), labels })
      case "tool":
        return end({ kind, at: label, text: cut(wanted), labels })
      case "person":
        return end({ kind: "answer", at: label, ...this.#chosenAt(label, wanted), labels })
      case "computed":
        return this.#ofOperands(origin, wanted, consumer, depth)
      case "step":
        if (node?.startsWith("dynamic.")) return this.#ofDynamic(node, wanted, depth)
        if (node?.startsWith("agent.")) return this.#ofAgent(node, label, wanted, labels, depth)
        return end({ kind, at: label, text: cut(wanted), labels })
    }
  }

  /** What an expression computes comes from all that it takes: what has the same words comes first. */
  #ofOperands({ expression }: Origin, wanted: string, consumer: string, depth: number): readonly Found[] {
    if (expression === undefined) return []
    return takenBy(expression).flatMap((taken) => {
      const value = this.#known.of(taken)
      const text = value === undefined ? "" : textOfValue(value)
      const shared = text.includes(wanted) ? wanted.length : lengthOf(this.#shared(wanted, text))
      const found = this.#ofOrigin(originOf(taken), wanted, text, consumer, depth + 1)
      return found.map(({ hops, match }) => ({ hops, match: Math.min(match, shared) }))
    })
  }

  #written({ line, column, label }: Origin): string {
    return line === undefined ? label : placeIn(this.#run.file, { line, column: column ?? 1 })
  }

  #ofDynamic(node: string, wanted: string, depth: number): readonly Found[] {
    const { plan, program } = this.#run.traced
    const planned = plan.nodes.find(({ id }) => id === node)
    if (planned?.kind !== "dynamic") return []
    const syntax = program.dynamics.get(node.slice("dynamic.".length))?.field.value
    const value = this.#known.of(planned.value)
    const text = value === undefined ? wanted : textOfValue(value)
    const range = rangeOf(wanted, text) ?? { from: 0, to: text.length }
    return this.#ofExpression({ value: planned.value, syntax, path: node, consumer: node }, text, range, depth + 1)
  }

  /** What a model wrote has its call as its origin, and after it what the model read. */
  #ofAgent(node: string, label: string, wanted: string, labels: Hop["labels"], depth: number): readonly Found[] {
    const { traced, state } = this.#run
    const planned = traced.plan.nodes.find(({ id }) => id === node)
    if (planned?.kind !== "agent") return []
    const shared = (text: string): TextRange | null => this.#shared(wanted, text)
    return stepsThatGave(state, planned.name, label, wanted, shared).flatMap(({ span, at, path, text }) => {
      const step: Draft = { kind: "step", at: path, ...chosen(text, rangeOf(wanted, text) ?? whole(text)), labels }
      const call = span.reused === true || span.given === true ? undefined : lastCall(state, at)
      if (call === undefined) return [{ hops: [step], match: wanted.length }]
      const found = this.#readBy({ node: planned, iteration: span.iteration }, span, at).flatMap((read) => {
        const shared = this.#shared(wanted, read.text)
        const next = shared === null ? read.text : read.text.slice(shared.from, shared.to)
        const request: Draft = { kind: "request", at: call, text: read.text }
        const rest = this.#ofOrigin(read.origin, next, read.text, node, depth + 1)
        const match = shared === null ? 0 : next.length
        const after = rest.length === 0 ? [{ hops: [], match }] : rest
        return after.map((one) => ({ hops: [step, request, ...one.hops], match: Math.min(match, one.match) }))
      })
      return found.length === 0 ? [{ hops: [step, { kind: "request" as const, at: call }], match: 0 }] : found
    })
  }

  /** What the model of a step was given: what the author wrote with all that stands in it, files, and what tools gave. */
  #readBy(place: Place, span: Span, at: number): readonly Read[] {
    const { traced, input, state } = this.#run
    const { node } = place
    const system = node.system === null ? undefined : this.#known.of(node.system, place)
    const texts = [
      ["system", typeof system === "string" ? system : undefined],
      ["instruction", span.instruction],
    ] as const
    const written = texts.flatMap(([property, text]) => {
      return text === undefined ? [] : (traceTemplate(traced, input, state, place, property, text) ?? [])
    })
    const values = [
      ...(node.messages === undefined ? [] : [node.messages]),
      ...node.files.map(({ content }) => content),
    ]
    const given = values.flatMap((value): Read[] => {
      const known = this.#known.of(value, place)
      return known === undefined ? [] : [{ text: textOfValue(known), origin: originOf(value, place) }]
    })
    const told = state.spans.flatMap((one): Read[] => {
      if (one.parent !== at || one.result === undefined) return []
      return [{ text: textOfValue(one.result), origin: { kind: "tool", label: spanLabel(one) } }]
    })
    return [...written, ...given, ...told].flatMap(({ text, origin }) => {
      return origin === null || text.trim() === "" ? [] : [{ text, origin }]
    })
  }

  /** The part of a value of the input, or of an answer, where it is known. */
  #chosenAt(label: string, wanted: string): Pick<Hop, "text" | "range"> {
    const [root, name, ...keys] = keysOf(label) ?? []
    if (root === "input" && name !== undefined) {
      const value = valueAt(this.#run.input, [name, ...keys])
      if (value !== undefined) return partOf(wanted, textOfValue(value))
    }
    return { text: cut(wanted) }
  }
}

interface Followed {
  readonly value: Expression
  readonly syntax: Syntax.Expression | undefined
  readonly path: string
  readonly place?: Place
  /** The step that reads it, or `output`. */
  readonly consumer: string
  /** The keys that lead from its value to the field that is followed. */
  readonly left?: readonly string[]
}

/** A part of what a label names: the third of `agent.each.*.text` is `agent.each[2].text`. */
function within(origin: Origin, left: readonly string[]): Origin {
  const [first = "", ...others] = left
  if (left.length === 0 || origin.kind === "source" || origin.kind === "computed") return origin
  const isItem = /^\d+$/.test(first) && origin.label.includes(".*")
  const label = isItem ? origin.label.replace(".*", `[${first}]`) : origin.label
  return { ...origin, label: label + pathOf(isItem ? others : left) }
}

/** What an expression takes from elsewhere. */
function takenBy(value: unknown): readonly Expression[] {
  if (typeof value !== "object" || value === null) return []
  if (Array.isArray(value)) return value.flatMap(takenBy)
  const { op, base } = value as { readonly op?: unknown; readonly base?: unknown }
  if (op === "chain" && takenBy(base).length > 0) return [value as Expression]
  if (op === "reference") return isTaken((value as { readonly root: Root }).root) ? [value as Expression] : []
  if (typeof op === "string" && /^(?:call|call-workflow|read|render)$/.test(op)) return [value as Expression]
  return Object.values(value).flatMap(takenBy)
}

function isTaken({ kind }: Root): boolean {
  return kind === "input" || kind === "agent" || kind === "ask" || kind === "wait" || kind === "dynamic"
}

function lengthOf(range: TextRange | null): number {
  return range === null ? 0 : range.to - range.from
}

/** A field inside of an expression, as far into it as the source writes it out; `left` leads from there to the field. */
function into(expression: Expression, syntax: Syntax.Expression | undefined, keys: readonly string[]) {
  let value = expression
  let written = syntax
  for (const [at, key] of keys.entries()) {
    const inner: Expression | undefined =
      value.op === "object"
        ? value.entries.find((entry) => entry.key === key)?.value
        : value.op === "array"
          ? value.items[Number(key)]
          : undefined
    if (inner === undefined) return { expression: value, syntax: written, left: keys.slice(at) }
    while (written?.kind === "group") written = written.expression
    written =
      written?.kind === "object"
        ? written.body.items.find(({ name }) => name.text === key)?.value
        : written?.kind === "array"
          ? written.items[Number(key)]
          : undefined
    value = inner
  }
  return { expression: value, syntax: written, left: [] }
}

interface GivingStep {
  readonly span: Span
  readonly at: number
  readonly path: string
  readonly text: string
}

/** The steps of an agent whose outputs have the text: the item that is named, or those that share the most words with it. */
function stepsThatGave(
  state: RunState,
  agent: string,
  label: string,
  wanted: string,
  shared: (text: string) => TextRange | null,
): readonly GivingStep[] {
  const [, , ...keys] = keysOf(label) ?? []
  const own = state.spans.flatMap((span, at) => {
    const isStep = (span.kind === "agent" || span.kind === "iteration") && span.name === agent
    return isStep && span.output !== undefined ? [{ span, at }] : []
  })
  const [first] = own
  const isLooped = first?.span.iteration !== undefined
  const item = isLooped && /^\d+$/.test(keys[0] ?? "") ? Number(keys[0]) : null
  const rest = item === null ? keys.filter((key) => key !== "*") : keys.slice(1)
  const start = wanted.slice(0, 10_000)
  const steps = own.map(({ span, at }): GivingStep & { readonly match: number } => {
    const value = valueAt(span.output, rest) ?? span.output ?? null
    const text = textOfValue(value)
    const isPart = valueAt(span.output, rest) !== undefined
    const index = span.iteration === undefined ? "" : `[${span.iteration}]`
    const path = `agent.${agent}${index}${isPart ? pathOf(rest) : ""}`
    const common = text.includes(wanted) || start.includes(text) ? whole(text) : shared(text)
    return { span, at, path, text, match: lengthOf(common) }
  })
  if (item !== null) return steps.filter(({ span }) => span.iteration === item)
  return steps.toSorted((a, b) => b.match - a.match).slice(0, maxItems)
}

/** `calls/ID` of the call that gave a step its output. */
function lastCall({ spans }: RunState, step: number): string | undefined {
  const call = spans.findLast(
    ({ parent, kind, call }) => parent === step && kind === "model_call" && call !== undefined,
  )
  return call?.call === undefined ? undefined : `calls/${call.call.call_id}`
}

function placeIn(file: string, { line, column }: { readonly line: number; readonly column: number }): string {
  return `${file}:${line}:${column}`
}

function cut(text: string): string {
  return text.length <= maxText ? text : text.slice(0, maxText)
}

function whole(text: string): TextRange {
  return { from: 0, to: text.length }
}

/** A part of a value, and where it is. */
function chosen(text: string, range: TextRange): Pick<Hop, "text" | "range"> {
  return { text: cut(text.slice(range.from, range.to)), range }
}

function partOf(wanted: string, text: string): Pick<Hop, "text" | "range"> {
  return chosen(text, rangeOf(wanted, text) ?? whole(text))
}

function rangeOf(wanted: string, text: string): TextRange | null {
  const from = text.indexOf(wanted)
  if (from >= 0 && wanted !== "") return { from, to: from + wanted.length }
  return sharedWords(wanted, text)
}

/** What the checker knows of what a step reads from somewhere: `input.mail.subject` is a part of `input.mail`. */
function labelsOf(ways: readonly ReachedWay[], from: string, to: string): Hop["labels"] {
  const own = ways.filter((way) => way.to === to && isWithin(from, way.from))
  return labelsIn(own)
}

function isWithin(path: string, whole: string): boolean {
  return path === whole || path.startsWith(`${whole}.`) || path.startsWith(`${whole}[`)
}

function labelsIn(ways: readonly ReachedWay[]): Hop["labels"] {
  return [
    ...(ways.some((way) => way.untrusted) ? (["untrusted"] as const) : []),
    ...(ways.some((way) => way.private) ? (["private"] as const) : []),
  ]
}

/** A hop without labels of its own has those of what it was made from; at the end of a path, all that its reader may have read. */
function withLabels(hops: readonly Draft[], ways: readonly ReachedWay[]): OriginPath {
  const path: Hop[] = []
  for (const [index, hop] of [...hops.entries()].toReversed()) {
    const next = path[0]
    const reader = hops.slice(0, index).findLast(({ kind }) => kind === "step")?.at
    const to = hop.kind === "request" && reader !== undefined ? (nodeOf(reader) ?? "output") : "output"
    path.unshift({ ...hop, labels: hop.labels ?? next?.labels ?? labelsIn(ways.filter((way) => way.to === to)) })
  }
  return path
}

function nodeOf(path: string): string | undefined {
  return /^agent\.[^.[\]]+/.exec(path)?.[0]
}
