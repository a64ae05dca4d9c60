import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Expression } from "../plan/expression.ts"
import type { AskNode } from "../plan/plan-shape.ts"
import type { Scope } from "./values/scope.ts"
import { evaluateEffects, writeText, type Effects } from "./values/evaluate-effects.ts"
import { RunFailure, failure, wireError } from "../ports/run-failure.ts"
import { effectFacts, questionFacts } from "../log/earlier-run.ts"
import type { RequirementsReplayData } from "../log/replay-data.ts"
import { shown } from "./log/log.ts"
import { placeKey, type QuestionReplayState } from "../log/replay-state.ts"
import type { RunContext } from "./context/run-context.ts"
import { inScope, outcomeOf, whileBusy } from "./context/run-context.ts"
import { runEach } from "./context/scheduler.ts"
import { capture, issuesOf, rejectionsOf, requirementFacts } from "./values/requirements.ts"
import { bytesOver } from "./values/value-size.ts"
import type { NewQuestion } from "./questions/ask-and-wait.ts"
import { openPlace, receiveValue, reusedValue } from "./step-places.ts"
import { longestExpirySeconds } from "../syntax/property-table.ts"
import { runApproverLength, runQuestionLength, runShownBytes } from "../base/limits.ts"

/** One question of a step: not yet asked, open, answered, or ruled out by its condition (null). */
type Place<Asked = NewQuestion | QuestionReplayState> =
  | {
      readonly scope: Scope
      readonly effects: Effects
      readonly question: Asked
      /** Requirements of a question that is not yet asked. */
      readonly requirements?: RequirementsReplayData
    }
  /** Known without asking: an earlier run's answer, or what a test gives. */
  | { readonly answer: JsonValue }
  | null

type AskedPlace = Place<QuestionReplayState>

/** Asks the questions of a step and waits for all answers; the answers in order, null for what was skipped. */
export function askPeople(
  running: RunContext,
  node: AskNode,
  items: readonly JsonValue[] | null,
): Promise<JsonValue[]> {
  const schema = toJsonSchema(node.output, running.plan.types, "answer")
  return items === null || node.concurrency === null
    ? askAll(running, node, schema, items)
    : askInTurn(running, node, schema, items, node.concurrency)
}

/** At most `width` of the questions are open at a time: an answer makes room for the next. */
async function askInTurn(
  running: RunContext,
  node: AskNode,
  schema: JsonObject,
  items: readonly JsonValue[],
  width: number,
): Promise<JsonValue[]> {
  const answers: JsonValue[] = items.map(() => null)
  const askOne = async (index: number): Promise<AskedPlace> => {
    const place = await prepare(running, node, schema, index, items[index] ?? null)
    await checkRoom(running, node, [place])
    return ask(running, node, place, index)
  }
  await runEach(
    items.length,
    width,
    async (index) => {
      running.signal.throwIfAborted()
      // While one is being prepared the run does not only wait for people.
      const place = await whileBusy(running, askOne(index))
      answers[index] = await answerOf(running, node, place)
    },
    (error) => running.fail(error),
  )
  return answers
}

/** Asks all questions at once. */
async function askAll(
  running: RunContext,
  node: AskNode,
  schema: JsonObject,
  items: readonly JsonValue[] | null,
): Promise<JsonValue[]> {
  const iterations = items === null ? [null] : items.map((_, index) => index)
  const places: Place[] = []
  for (const iteration of iterations) {
    running.signal.throwIfAborted()
    const item = iteration === null || items === null ? null : (items[iteration] ?? null)
    places.push(await prepare(running, node, schema, iteration, item))
  }
  await checkRoom(running, node, places)
  // All in one turn of the event loop, so that they are stored together.
  const asked = places.map((place, index) => ask(running, node, place, iterations[index] ?? null))
  return Promise.all(asked.map((place) => answerOf(running, node, place)))
}

/** Refuses questions that there is no room for before any of them is asked. */
async function checkRoom(running: RunContext, node: AskNode, places: readonly Place[]): Promise<void> {
  const fresh = places.filter(isNew)
  const captured = fresh.map(({ requirements }) => requirements?.captured ?? [])
  await running.questions.checkSize(
    fresh.map(({ question }) => question),
    captured,
  )
  running.questions.checkRoom(fresh.length, node.id)
}

/** Whether it is not yet asked. */
function isNew(place: Place): place is Extract<Place<NewQuestion>, { readonly scope: Scope }> {
  return place !== null && "question" in place && "name" in place.question
}

/** Asks what has not been asked yet. */
function ask(running: RunContext, node: AskNode, place: Place, iteration: number | null): AskedPlace {
  if (place === null || "answer" in place) return place
  const { question, scope, effects, requirements } = place
  if (!("name" in question)) return { question, scope, effects }
  const own = { place: placeKey(node.id, iteration) }
  const kept = requirements === undefined ? own : { ...own, requirements }
  return { question: running.questions.ask(question, kept), scope, effects }
}

async function answerOf(running: RunContext, node: AskNode, place: AskedPlace): Promise<JsonValue> {
  if (place === null) return null
  return receiveValue(running, node.id, "answer" in place ? place.answer : await outcomeOrDefault(running, node, place))
}

async function outcomeOrDefault(
  running: RunContext,
  node: AskNode,
  {
    question,
    scope,
    effects,
  }: { readonly question: QuestionReplayState; readonly scope: Scope; readonly effects: Effects },
): Promise<JsonValue> {
  const outcome = await outcomeOf(running, question)
  return outcome.kind === "answered" ? outcome.answer : expired(node, question, scope, effects)
}

/** The facts of a question: the answer to it is taken over where they and its type are the same. */
function factsOf(
  { redactor }: RunContext,
  asked: NewQuestion,
  requirements: RequirementsReplayData | undefined,
): string {
  const { question, schema, prefill } = asked
  const words = { question, ...(prefill === undefined ? {} : { prefill }) }
  return questionFacts({ ...redactor.redact(words), schema }, requirements?.facts)
}

const longest = { question: runQuestionLength, to: runApproverLength }

async function prepare(
  running: RunContext,
  node: AskNode,
  schema: JsonObject,
  iteration: number | null,
  item: JsonValue,
): Promise<Place> {
  const { past } = running
  const place = await openPlace(running, node, iteration, item, (key) => past.asks.has(key))
  if ("value" in place) return place.value === null ? null : { answer: place.value }
  const { key, scope, effects, at } = place
  const known = past.asks.get(key)
  if (known !== undefined) return { scope, effects, question: known }
  const text = async (part: "question" | "to", expression: AskNode["question"]): Promise<string> => {
    const found = await writeText(await evaluateEffects(expression, at(part), effects), at(part))
    if (found.length <= longest[part]) return found
    throw failure("limit_exceeded", `${node.id}.${part}`, `\`${part}\` has more than ${longest[part]} characters`)
  }
  const question: NewQuestion = {
    kind: "ask",
    ...inScope(running),
    name: node.name,
    ...(iteration === null ? {} : { iteration }),
    question: await text("question", node.question),
    show: node.show === null ? null : shown(await evaluateEffects(node.show, at("show"), effects)),
    to: node.to === null ? null : await text("to", node.to),
    ...(await prefilled(node, schema, at("prefill"), effects)),
    expires_seconds: await expiryAt(node.expires_seconds, at("expires_seconds"), effects),
  }
  const { requires } = node
  const captured = await capture(requires, { ...scope, path: node.id })
  const given = running.ports.given?.(node.id, iteration)
  if (given !== undefined) {
    if ("error" in given) throw new RunFailure(given.error)
    const judging = { requires, captured, path: node.id, iteration, work: running.work, functions: running.plan }
    const [first, ...others] = issuesOf(node.id, await rejectionsOf(judging, given.output))
    if (first !== undefined) throw new RunFailure(wireError("input_error", [first, ...others]))
    return { answer: given.output }
  }
  const requirements =
    requires.length === 0 ? undefined : { facts: effectFacts(requirementFacts({ requires, captured })), captured }
  const reused = reusedValue(running, node.id, iteration, factsOf(running, question, requirements))
  if (reused !== null) return { answer: reused.value }
  return { scope, effects, question, ...(requirements !== undefined && { requirements }) }
}

/** What forms begin with, and the schema of the answer, which need not repeat it. */
async function prefilled(
  { prefill }: AskNode,
  schema: JsonObject,
  scope: Scope,
  effects: Effects,
): Promise<Pick<NewQuestion, "schema" | "prefill">> {
  if (prefill === null) return { schema }
  const value = await evaluateEffects(prefill, scope, effects)
  if (!isJsonObject(value)) throw new Error(`${scope.path} is not an object`)
  if (bytesOver(value, runShownBytes) !== null) {
    const message = `\`prefill\` has more than ${runShownBytes} bytes of JSON, which no setting raises`
    throw failure("payload_too_large", scope.path, message)
  }
  return { schema: withoutRequired(schema, value), prefill: value }
}

function withoutRequired(schema: JsonObject, prefill: JsonObject): JsonObject {
  const { required: all, ...rest } = schema
  const required = Array.isArray(all)
    ? all.filter((name) => typeof name !== "string" || !Object.hasOwn(prefill, name))
    : []
  return required.length === 0 ? rest : { ...rest, required }
}

export async function expiryAt(expires: Expression, scope: Scope, effects: Effects): Promise<number> {
  const seconds = await evaluateEffects(expires, scope, effects)
  if (typeof seconds === "number" && seconds >= 1 && seconds <= longestExpirySeconds) return seconds
  const message = `\`expires_seconds\` must be from 1 to ${longestExpirySeconds} (90 days), and is ${JSON.stringify(seconds)}`
  throw failure("evaluation_error", scope.path, message)
}

async function expired(
  node: AskNode,
  { asked }: QuestionReplayState,
  scope: Scope,
  effects: Effects,
): Promise<JsonValue> {
  if (node.on_expiry !== null) {
    return evaluateEffects(node.on_expiry, { ...scope, path: `${node.id}.on_expiry` }, effects)
  }
  const seconds = (Date.parse(asked.expires_at) - Date.parse(asked.asked_at)) / 1000
  throw failure(
    "timeout",
    node.id,
    `Nobody answered ${node.id} within ${seconds === 1 ? "a second" : `${seconds} seconds`}`,
  )
}
