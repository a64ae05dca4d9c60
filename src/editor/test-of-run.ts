import { comparePlaces } from "../base/compare-places.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Question, WireError } from "../log/events.ts"
import type { NodeState, RunState, Span } from "../log/run-state.ts"
import { isByModel, stepPath } from "../plan/call-scope.ts"
import { safeFileName } from "../base/file-name.ts"
import { isFileValue, type FileValue } from "../types/file-value.ts"
import { quoteText } from "../source/quote-text.ts"

/** A run that becomes a test. */
export interface RunToTest {
  readonly title: string
  readonly input: JsonObject
  readonly state: RunState
}

/** What a test of this run is called. */
export function titleOfTest(run_id: string, status: RunState["status"]): string {
  const end = status === "completed" ? "gives the same" : status === "failed" ? "fails in the same way" : "completes"
  return `run ${run_id.slice(0, 8)} ${end}`
}

/**
 * A `test` that plays a run again: with its input, and with what each step, tool and person gave. It expects the output of the run, or the
 * kind and the place of its error.
 */
export function testOfRun({ title, input, state }: RunToTest): string {
  const lines = [...(Object.keys(input).length === 0 ? [] : [inputLines(input), ""]), ...givenOf(state)]
  const end =
    state.status === "completed"
      ? Object.entries(isJsonObject(state.output) ? state.output : {}).map(([name, value]) =>
          expected(`output${member(name)}`, value),
        )
      : state.error === null || state.error === undefined
        ? ["// The run was cancelled: say here what is expected of it.", "expect duration_ms >= 0"]
        : failureLines(state.error)
  const body = [...lines, ...(lines.length === 0 ? [] : [""]), ...end].join("\n")
  return `test ${quoteText(title)} {\n${indent(body)}\n}\n`
}

function failureLines({ kind, message, issues }: WireError): string[] {
  // A step whose failure is given has no items and requirements.
  const step = issues[0]?.path.split("[")[0]?.replace(/\.require$/, "")
  return [
    `// The run failed: ${message.replaceAll(/\s+/g, " ")}`,
    "// Once the workflow is repaired, this test fails: expect its output then.",
    `expect error.kind == ${quoteText(kind)}`,
    ...(step === undefined ? [] : [`expect error.issues[0].path contains ${quoteText(step)}`]),
  ]
}

/** A file is compared by what can be read of it: its id differs from run to run. */
function expected(path: string, value: JsonValue): string {
  if (isFileValue(value)) {
    return `expect ${path}.name == ${quoteText(value.name)} && ${path}.bytes == ${value.bytes}`
  }
  if (filesIn(value).length > 0) return `// ${path} has files in it: say here what is expected of them.`
  return `expect ${path} == ${literal(value)}`
}

/** The files that the text of a test names, each once. Their contents belong to `fixturePath`, from the test file. */
export function filesOfTest({ input, state }: Pick<RunToTest, "input" | "state">): FileValue[] {
  const nodes = [state, ...Object.values(state.inside ?? {})].flatMap(({ spans }) => spans)
  const found = filesIn([input, ...nodes.map(({ output = null, result = null }) => [output, result])])
  return [...new Map(found.map((file) => [fixturePath(file), file])).values()]
}

/** It stays in its folder, whatever a service says of the file. */
export function fixturePath({ name, sha256 }: FileValue): string {
  return `fixtures/${sha256.replaceAll(/[^0-9a-f]/g, "").slice(0, 8) || "0"}/${safeFileName(name)}`
}

function filesIn(value: JsonValue): FileValue[] {
  if (isFileValue(value)) return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(filesIn) : []
}

/** A line of a test, with the step that it is about. What is not known of a step is said in a comment. */
interface Line {
  readonly step: string
  readonly text: string
  /** What one call of a tool gave, as an item of a list. */
  readonly call?: {
    readonly item: string
    readonly isList: boolean
    readonly site: string
    readonly places: readonly number[]
  }
}

/** What the steps gave, those of called files included. A step of a file that is called several times gets one result in all calls. */
function givenOf(state: RunState): string[] {
  const inside = Object.entries(state.inside ?? {}).filter(([scope]) => !isByModel(scope))
  const lines = [
    ...linesOf(state, null, ""),
    ...inside.flatMap(([scope, inner]) => linesOf(inner, scope, stepPath(scope))),
  ]
  const given = new Map<string, Line[]>()
  for (const line of lines) given.set(line.step, [...(given.get(line.step) ?? []), line])
  return [...given].map(([step, ones]) => {
    const texts = new Set(ones.map(({ text }) => text))
    const [first = ""] = texts
    const calls = ones.flatMap(({ call }) => call ?? [])
    const isEach = calls.length === ones.length && (texts.size > 1 || calls.some(({ isList }) => isList))
    if (isEach) return `given ${step}: [${inOrder(calls).join(", ")}]`
    return texts.size === 1 ? first : `// ${step} gave ${texts.size} different results: give one of them here.`
  })
}

/** One for each call: in the order of the items, where one place makes several calls. */
function inOrder(calls: readonly NonNullable<Line["call"]>[]): string[] {
  const sites = [...new Set(calls.map(({ site }) => site))]
  const keyOf = ({ site, places }: NonNullable<Line["call"]>): number[] => [sites.indexOf(site), ...places]
  return calls.toSorted((a, b) => comparePlaces(keyOf(a), keyOf(b))).map(({ item }) => item)
}

/** `path` leads to the steps of a called file. */
function linesOf(state: RunState, scope: string | null, path: string): Line[] {
  return [...state.nodes.flatMap((node) => ofNode(state, node, scope, path)), ...ofEffects(state, path)]
}

/** What a step gave, or why it failed. */
function ofNode(state: RunState, node: NodeState, scope: string | null, path: string): Line[] {
  const step = `${path}${node.kind}.${node.name}`
  const line = (text: string): Line[] => [{ step, text }]
  if (node.kind === "ask") {
    const isOwn = (one: Question): boolean =>
      one.kind === "ask" && one.name === node.name && (one.scope ?? null) === scope
    const [first, ...others] = state.questions.filter(isOwn)
    if (first?.answer === undefined) return []
    return line(others.length > 0 ? `// ${step} has several answers: give them here.` : gives(step, first.answer))
  }
  if (node.kind !== "agent") return []
  const steps = state.spans
    .filter((span) => isStep(span, node.name) && (span.state === "completed" || rejected(span) !== undefined))
    .toSorted((a, b) => (a.iteration ?? 0) - (b.iteration ?? 0))
  const outputs = steps.map((span) => rejected(span) ?? span.output ?? null)
  const failed = state.spans.find((span) => isStep(span, node.name) && span.state === "failed" && span.error)
  // Requirements judge what is given, too: the test turns green once they accept it.
  const isRejected =
    failed !== undefined && rejected(failed) !== undefined && outputs.length === (node.loop?.total ?? 1)
  if (failed?.error !== undefined && !isRejected) return line(`${repairNote}\n${fails(step, failed.error)}`)
  if (node.state !== "completed" && !isRejected) return []
  if (outputs.some(isCut)) return line(`// The output of ${step} is too large for the events of a run: give it here.`)
  if (node.loop === null) return outputs.flatMap((output) => line(gives(step, output)))
  if (outputs.length !== node.loop.total) return line(`// Some items of ${step} were skipped: give the others here.`)
  return line(gives(step, outputs))
}

const repairNote = "// Remove the next line once the step itself is repaired: it runs then."

/** The answer of a step that failed because its requirements rejected it. */
function rejected({ state, error, answer }: Span): JsonValue | undefined {
  const isJudged = error?.issues.some(({ path }) => /\.require\[\d+\]$/.test(path)) === true
  if (state !== "failed" || !isJudged || answer === undefined) return undefined
  try {
    return JSON.parse(answer) as JsonValue
  } catch {
    return undefined
  }
}

function isStep({ kind, name }: Span, agent: string): boolean {
  return (kind === "agent" || kind === "iteration") && name === agent
}

/** What tools and resources gave to the expressions of the workflow; those that models called are part of their steps. */
function ofEffects({ spans }: RunState, path: string): Line[] {
  return spans.flatMap(({ kind, name, site, result, state, error, iteration, items }) => {
    if (site === undefined || (kind !== "tool_call" && kind !== "resource")) return []
    const step = `${path}${kind === "tool_call" ? "tool" : "resource"}.${name}`
    const places = [...(iteration === undefined ? [] : [iteration]), ...(items ?? [])]
    const call = (item: string, isList: boolean): Pick<Line, "call"> =>
      kind === "tool_call" ? { call: { item, isList, site, places } } : {}
    if (state === "failed" && error !== undefined) {
      const message = (error.issues[0]?.message ?? error.message).replace(`${name}: `, "")
      const one = error.kind === "tool_error" ? call(`fail ${quoteText(message)}`, false) : {}
      return [{ step, text: fails(step, error), ...one }]
    }
    if (result === undefined || isCut(result)) {
      return [{ step, text: `// The result of ${step} is not in the events of the run: give it here.` }]
    }
    return [{ step, text: gives(step, result), ...call(literal(result), Array.isArray(result)) }]
  })
}

function gives(step: string, value: JsonValue): string {
  return `given ${step}: ${literal(value)}`
}

function fails(step: string, { kind, message }: WireError): string {
  return `given ${step} fails ${kind} ${quoteText(message)}`
}

/** Events show values over 256 KiB by their size. */
function isCut(value: JsonValue): boolean {
  return isJsonObject(value) && value["truncated"] === true && typeof value["bytes"] === "number"
}

function inputLines(input: JsonObject): string {
  const fields = Object.entries(input).map(([name, value]) => `${key(name)}: ${literal(value)}`)
  return `input {\n${indent(fields.join("\n"))}\n}`
}

/** A value as a workflow writes it. */
function literal(value: JsonValue): string {
  if (typeof value === "string") return quoteText(value)
  if (isFileValue(value)) return `file ${quoteText(fixturePath(value))}`
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, one]) => `${key(name)}: ${literal(one)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

const plainName = /^[A-Za-z_]\w*$/

function key(name: string): string {
  return plainName.test(name) ? name : quoteText(name)
}

function member(name: string): string {
  return plainName.test(name) ? `.${name}` : `[${quoteText(name)}]`
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ")
}
