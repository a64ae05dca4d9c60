import { isJsonObject } from "../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isWithin, planAt, scopeAround } from "../../src/plan/call-scope.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { roundBefore } from "./nested.ts"

/** A run, or a call of a workflow in it, which keeps the same promises as a run. */
export interface Inside {
  /** Null for the run itself. */
  readonly scope: string | null
  /** What its `id` has after that of the run: nothing in the run itself, and where a workflow is called once. */
  readonly part: string
  /** Its own events, without those of the calls in it. */
  readonly log: readonly LogEvent[]
  /** The event that it began with, and the one that it ended with. */
  readonly began: LogEvent | null
  readonly ended: LogEvent | null
  /** Null where it did not complete. */
  readonly output: JsonObject | null
}

const callEvents = new Set(["workflow_call_started", "workflow_call_completed", "workflow_call_failed"])

/** The run with that `id`, and all calls of workflows that its log tells of. */
export function insidesOf(log: readonly LogEvent[], id: string): Inside[] {
  const own = new Map<string | null, LogEvent[]>([[null, []]])
  const began = new Map<string, LogEvent>()
  const ended = new Map<string, LogEvent>()
  for (const event of log) {
    const { scope } = event.data
    if (scope === undefined || !callEvents.has(event.type)) {
      const list = own.get(scope ?? null)
      if (list === undefined) own.set(scope ?? null, [event])
      else list.push(event)
    } else if (event.type !== "workflow_call_started") ended.set(scope, event)
    else if (!began.has(scope)) {
      began.set(scope, event)
      if (!own.has(scope)) own.set(scope, [])
    }
  }
  return [...own].map(([scope, events]) => {
    if (scope !== null) {
      const [start, end] = [began.get(scope) ?? null, ended.get(scope) ?? null]
      const part = start === null ? "" : idOf(start).slice(id.length)
      const output = end?.type === "workflow_call_completed" && isJsonObject(end.data.output) ? end.data.output : null
      return { scope, part, log: events, began: start, ended: end, output }
    }
    const last = log.at(-1)
    const output = last?.type === "workflow_completed" ? (last.data.output.result as JsonObject) : null
    return { scope, part: "", log: events, began: log[0] ?? null, ended: null, output }
  })
}

function idOf({ type, data }: LogEvent): string {
  const input = type === "workflow_call_started" ? data.input : null
  return isJsonObject(input) && typeof input["id"] === "string" ? input["id"] : ""
}

/** Whether what is called with a part happens inside of a call, at whatever depth. */
export function isPartOf(part: string, { part: outer }: Inside): boolean {
  return part === outer || part.startsWith(`${outer}@`)
}

/** What becomes of a question is told also when the call that asked it is over. */
const outcomes = new Set(["question_answered", "question_expired"])

/**
 * Each call begins once, ends once (at the latest with the call around it), and all of its events are between; rounds follow each other.
 */
export function callEventProblems(source: string, id: string, log: readonly LogEvent[]): string[] {
  const found: string[] = []
  const open = new Set<string>()
  const ended = new Set<string>()
  const scopeOf = new Map<string, string>()
  for (const event of log) {
    const { scope } = event.data
    if (scope === undefined) continue
    if (event.type === "workflow_call_started") {
      if (open.has(scope) || ended.has(scope)) found.push(`the call ${scope} began twice`)
      const input = idOf(event)
      if (input !== id && scopeOf.has(input)) found.push(`${scope} does what ${scopeOf.get(input) ?? ""} does`)
      scopeOf.set(input, scope)
      const before = roundBefore(source, scope)
      if (before !== null && !ended.has(before))
        found.push(`the round ${scope} began before the round before had ended`)
      const outer = scopeAround(scope)
      if (outer !== null && !open.has(outer)) found.push(`${scope} was called outside of ${outer}`)
      open.add(scope)
    } else if (outcomes.has(event.type)) continue
    else if (!open.has(scope)) found.push(`the event ${event.id} is outside of the call ${scope}`)
    else if (callEvents.has(event.type)) {
      for (const inner of open) if (isWithin(inner, scope)) open.delete(inner)
      ended.add(scope)
    }
  }
  if (log.at(-1)?.type === "workflow_completed")
    found.push(...[...open].map((scope) => `the call ${scope} never ended`))
  return found
}

/** A workflow that is repeated has as many rounds as its value says. */
export function roundProblems({ scope, output }: Inside, all: readonly Inside[], source: string): string[] {
  const result = output?.["r"]
  if (!isJsonObject(result) || !("rounds" in result)) return []
  const rounds = all.filter((one) => one.scope !== null && scopeAround(one.scope) === scope)
  const { length } = rounds.filter((one) => one.scope !== null && roundBefore(source, one.scope) !== null)
  return result["rounds"] === length + 1
    ? []
    : [`${JSON.stringify(result["rounds"])} rounds, and ${length + 1} in the log`]
}

/** A value that a person gives goes to the step that has asked for it, in the call where it asked. */
export function answerProblems({ part, output }: Inside, id: string): string[] {
  return Object.entries(output ?? {}).flatMap(([name, value]) => {
    if (!/^q\d+$/.test(name)) return []
    const notes = (Array.isArray(value) ? value : [value]).map(noteOf)
    const own = `${id}${part} ask.${name}`
    const strange = notes.find(
      (note) => note !== null && note !== "expired" && note !== own && !note.startsWith(`${own}.`),
    )
    return strange === undefined || strange === null
      ? []
      : [`ask.${name} of "${id}${part}" has the answer to "${strange}"`]
  })
}

function noteOf(value: JsonValue): string | null {
  return isJsonObject(value) && typeof value["note"] === "string" ? value["note"] : null
}

/** Where a model needs approval to call a workflow, nothing happens inside without it. */
export function workflowApprovalProblems(log: readonly LogEvent[], inside: readonly Inside[], plan: Plan): string[] {
  const asked = new Map<string, JsonValue>()
  const approved = new Set<JsonValue>()
  for (const { type, data } of log) {
    if (type === "question_asked" && data.workflow !== undefined && isJsonObject(data.arguments)) {
      asked.set(data.id, data.arguments["id"] ?? null)
    }
    if (type !== "question_answered" || !isJsonObject(data.answer) || data.answer["approve"] !== true) continue
    const id = asked.get(data.id)
    if (id !== undefined) approved.add(id)
  }
  return inside.flatMap(({ scope, began, log: own }) => {
    if (scope === null || began === null || own.length === 0 || approved.has(idOf(began))) return []
    const nodes = planAt(plan, scopeAround(scope))?.nodes ?? []
    const isAsked = nodes.some(
      (node) => node.kind === "agent" && node.workflows?.some(({ approval }) => approval !== null),
    )
    return isAsked ? [`${scope} was called without approval`] : []
  })
}
