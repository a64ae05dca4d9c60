import type { JsonObject } from "../base/json-value.ts"
import type { Program } from "../check/program.ts"
import type { Expression } from "../plan/expression.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import type { RunState } from "../log/run-state.ts"
import type { LineMap } from "../source/line-map.ts"
import type { StringNode } from "../syntax/tree.ts"
import type { Place } from "./known-values.ts"
import { KnownValues } from "./known-values.ts"
import { pathSpan, placesOf } from "../check/declared-places.ts"
import type { Origin, Piece } from "./origin.ts"
import { originOf } from "./origin.ts"

// Where each character of a rendered text came from. The expression in the plan says which parts it has, in which order; the input and the
// events say what most of them were. A part that is not known is what stands between its neighbours.

/** The text of a run, compiled. */
export interface TracedProgram {
  readonly program: Program
  readonly plan: Plan
  readonly lines: LineMap
}

interface Part {
  /** Undefined: not known. */
  readonly text: string | undefined
  readonly origin: Origin
}

/** The pieces of an agent's rendered `instruction` or `system`; null where they do not give the text. */
export function traceTemplate(
  traced: TracedProgram,
  input: JsonObject,
  state: RunState,
  place: Place,
  property: "instruction" | "system",
  rendered: string,
): readonly Piece[] | null {
  const value = place.node[property]
  if (value === null) return null
  const path = `${place.node.id}.${property}`
  const written = stringOf(traced.program, place.node.name, property)
  return traceExpression(traced, new KnownValues(traced.plan, input, state), { value, path, written, place }, rendered)
}

/** An expression at its place in the source. */
export interface TracedExpression {
  readonly value: Expression
  /** `agent.a.instruction`, `output.reply` */
  readonly path: string
  /** Undefined where it is no string that the author wrote. */
  readonly written: StringNode | undefined
  /** The agent that it belongs to. */
  readonly place?: Place
}

/** The pieces of the text that an expression became; null where they do not give the text. */
export function traceExpression(
  { program, plan, lines }: TracedProgram,
  known: KnownValues,
  { value: template, path, written, place }: TracedExpression,
  rendered: string,
): readonly Piece[] | null {
  const places = placesOf(program)
  const lineOf = (path: string): number | undefined => {
    const span = pathSpan(places, path)
    return span === undefined ? undefined : lines.position(span.start).line
  }
  const writtenAt = ({ line, column }: Omit<WrittenText, "text">): Origin => ({
    kind: "source",
    label: line === undefined ? "the source" : `line ${line}`,
    ...(line !== undefined && { line, column }),
  })

  const spread = (expression: Expression, written: StringNode | undefined, line: number | undefined): Part[] => {
    if (expression.op === "text") {
      let literal = -1
      return expression.parts.flatMap((part) => {
        if (typeof part !== "string") return spread(part, undefined, line)
        literal = nextLiteral(written, literal, part)
        return linesOf(part, written, literal, lines, line).map((one) => ({
          text: one.text,
          origin: writtenAt(one),
        }))
      })
    }
    if (expression.op === "literal" && typeof expression.value === "string") {
      return linesOf(expression.value, written, 0, lines, line).map((one) => ({
        text: one.text,
        origin: writtenAt(one),
      }))
    }
    const inner = named(expression, plan, place?.node)
    if (inner !== null) return spread(inner.value, undefined, lineOf(inner.path))
    if (expression.op === "default") {
      const left = known.of(expression.left, place)
      if (left !== undefined) return spread(left === null ? expression.right : expression.left, undefined, line)
    }
    const value = known.of(expression, place)
    const text = typeof value === "string" || value === undefined ? value : JSON.stringify(value)
    return [{ text, origin: originOf(expression, place) }]
  }

  const parts = spread(template, written, lineOf(path))
  return align(parts, rendered) ?? align(parts.map(onlyWritten), rendered)
}

/** A dynamic value that is itself a text with parts, or one of an agent: its parts are traced in its place. */
function named(
  expression: Expression,
  plan: Plan,
  node: AgentNode | undefined,
): { readonly value: Expression; readonly path: string } | null {
  if (expression.op !== "reference") return null
  const { root } = expression
  if (root.kind === "local" && node !== undefined) {
    const local = node.locals.find(({ key }) => key === root.name)
    return local === undefined ? null : { value: local.value, path: `${node.id}.dynamic.${root.name}` }
  }
  if (root.kind !== "dynamic") return null
  const found = plan.nodes.find(({ id }) => id === `dynamic.${root.name}`)
  return found?.kind === "dynamic" && found.value.op === "text" ? { value: found.value, path: found.id } : null
}

function onlyWritten(part: Part): Part {
  return part.origin.kind === "source" ? part : { ...part, text: undefined }
}

/** The parts where they stand in the text; null where they do not fit. */
function align(parts: readonly Part[], rendered: string): readonly Piece[] | null {
  const pieces: Piece[] = []
  let at = 0
  let open: Origin[] = []
  const add = (text: string, origin: Origin): void => {
    if (text !== "") pieces.push({ text, origin })
  }
  const close = (to: number): void => {
    const [first] = open
    if (first !== undefined) add(rendered.slice(at, to), open.length === 1 ? first : severalOf(open))
    open = []
    at = to
  }
  for (const { text, origin } of parts) {
    if (text === undefined) {
      open.push(origin)
      continue
    }
    if (text === "") continue
    const found = open.length === 0 ? (rendered.startsWith(text, at) ? at : -1) : rendered.indexOf(text, at)
    if (found < 0) return null
    close(found)
    add(text, origin)
    at += text.length
  }
  if (open.length === 0 && at < rendered.length) return null
  close(rendered.length)
  return pieces
}

/** Neighbours of which no end is known. */
function severalOf(origins: readonly Origin[]): Origin {
  return { kind: "computed", label: origins.map(({ label }) => label).join(", then ") }
}

function stringOf(program: Program, agent: string, property: string): StringNode | undefined {
  const items = program.agents.get(agent)?.declaration.body?.items ?? []
  const value = items.find((item) => item.name.text === property)?.value
  return value?.kind === "expression" && value.expression.kind === "string" ? value.expression : undefined
}

/** The position of a literal piece among the texts of the string. */
function nextLiteral(written: StringNode | undefined, last: number, text: string): number {
  return written?.texts.indexOf(text, last + 1) ?? -1
}

interface WrittenText {
  readonly text: string
  readonly line: number | undefined
  readonly column: number
}

/** A literal piece by the lines of the source that it stands on. `around`: the line of the property, for a text whose own is not known. */
function linesOf(
  text: string,
  written: StringNode | undefined,
  position: number,
  lines: LineMap,
  around: number | undefined,
): WrittenText[] {
  const start = written === undefined || position < 0 ? undefined : startOf(written, position)
  if (written === undefined || start === undefined) return [{ text, line: around, column: 1 }]
  const { line, column } = lines.position(start)
  if (!written.block) return [{ text, line, column: position === 0 ? column + 1 : column }]
  const first = position === 0 ? line + 1 : line
  return text
    .split(/(?<=\n)/)
    .map((one, at) => ({ text: one, line: first + at, column: at > 0 || position === 0 ? 1 : column }))
}

/** Where a literal piece begins: with the string, or behind the interpolation before it. */
function startOf({ start, interpolations }: StringNode, position: number): number | undefined {
  return position === 0 ? start : interpolations[position - 1]?.end
}
