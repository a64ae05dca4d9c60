import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { AskNode } from "../../plan/plan-shape.ts"
import { decide } from "../condition.ts"
import { toBoundedText, type Scope } from "../evaluate.ts"
import { evaluateEffects, type Effects } from "../evaluate-effects.ts"
import { RunFailure, failure } from "../../ports/run-failure.ts"
import { questionFacts } from "../../log/earlier-run.ts"
import { shown } from "../log/log.ts"
import { placeKey, type QuestionPast } from "../../log/past.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { loopVariables } from "../loop-items.ts"
import type { RunContext } from "../run-context.ts"
import { outerScope } from "../run-context.ts"
import { workflowEffects } from "../tools/workflow-effects.ts"
import type { NewQuestion } from "./questions.ts"
import { runApproverLength, runQuestionLength } from "../../base/limits.ts"

/** One question of a step: not yet asked, open, answered, or ruled out by its condition (null). */
type Place =
  | { readonly scope: Scope; readonly effects: Effects; readonly question: NewQuestion | QuestionPast }
  /** Known without asking: an earlier run's answer, or what a test gives. */
  | { readonly answer: JsonValue }
  | null

/** Asks all questions of a step at once and waits for all answers; the answers in order, null for what was skipped. */
export async function askPeople(
  running: RunContext,
  node: AskNode,
  items: readonly JsonValue[] | null,
): Promise<JsonValue[]> {
  const schema = toJsonSchema(node.output, running.plan.types)
  const iterations = items === null ? [null] : items.map((_, index) => index)
  const places: Place[] = []
  for (const iteration of iterations) {
    running.signal.throwIfAborted()
    const item = iteration === null || items === null ? null : (items[iteration] ?? null)
    places.push(await prepare(running, node, schema, iteration, item))
  }
  const added = places.flatMap((place) =>
    place !== null && "question" in place && "name" in place.question ? [place.question] : [],
  )
  await running.questions.checkSize(added)
  running.questions.checkRoom(added.length, node.id)
  // All in one turn of the event loop, so that they are stored together.
  const asked = places.map((place, index) => {
    if (place === null || "answer" in place) return place
    const { question, scope, effects } = place
    if (!("name" in question)) return { question, scope, effects }
    const kept = { place: placeKey(node.id, iterations[index]) }
    return { question: running.questions.ask(question, kept), scope, effects }
  })
  return Promise.all(
    asked.map(async (place) => {
      if (place === null) return null
      const answer = "answer" in place ? place.answer : await answerOf(running, node, place)
      const bytes = memoryOf(answer)
      running.work.received(bytes)
      running.work.keep(bytes, node.id)
      return answer
    }),
  )
}

async function answerOf(
  running: RunContext,
  node: AskNode,
  { question, scope, effects }: { readonly question: QuestionPast; readonly scope: Scope; readonly effects: Effects },
): Promise<JsonValue> {
  const outcome = await running.questions.outcome(question)
  return outcome.kind === "answered" ? outcome.answer : expired(node, scope, effects)
}

/** The answer of a person in an earlier run, to the same question of the same type. */
function reusedAnswer(running: RunContext, step: string, question: NewQuestion): JsonValue | undefined {
  const { earlier, log, redactor } = running
  if (earlier === null) return undefined
  const { iteration } = question
  const facts = questionFacts(redactor.redact(question.question), question.schema)
  const found = earlier.takeStep(step, iteration ?? null, facts, false)
  if (found === undefined) return undefined
  const { output } = found
  const asShown = shown(output)
  log.add(
    "step_reused",
    { step, ...(iteration === undefined ? {} : { iteration }), output: asShown, run_id: earlier.run_id },
    asShown === output ? { facts } : { facts, output },
  )
  return output
}

const longest = { question: runQuestionLength, to: runApproverLength }

async function prepare(
  running: RunContext,
  node: AskNode,
  schema: JsonObject,
  iteration: number | null,
  item: JsonValue,
): Promise<Place> {
  const { past, log } = running
  const key = placeKey(node.id, iteration)
  if (past.skipped.has(key)) return null
  const variables =
    node.loop === null || iteration === null
      ? new Map<string, JsonValue>()
      : loopVariables(running, node, node.loop, item, iteration)
  const scope: Scope = { ...outerScope(running, node.id), variables, iteration }
  const about = iteration === null ? { dynamic: node.id } : { dynamic: node.id, iteration }
  const effects = workflowEffects(running, node.id, about)
  const taken = past.reusedAnswers.get(key)
  if (taken !== undefined) return { answer: taken.output }
  const known = past.asks.get(key)
  if (known !== undefined) return { scope, effects, question: known }
  const at = (part: string): Scope => ({ ...scope, path: `${node.id}.${part}` })
  if (
    node.when !== null &&
    !(await decide(node.when, at("when"), workflowEffects(running, `${node.id}.when`, about)))
  ) {
    log.add("step_skipped", { step: node.id, ...(iteration === null ? {} : { iteration }) })
    return null
  }
  const text = async (part: "question" | "to", expression: AskNode["question"]): Promise<string> => {
    const found = toBoundedText(await evaluateEffects(expression, at(part), effects), at(part))
    if (found.length <= longest[part]) return found
    throw failure("limit_exceeded", `${node.id}.${part}`, `\`${part}\` has more than ${longest[part]} characters`)
  }
  const question: NewQuestion = {
    kind: "ask",
    name: node.name,
    ...(iteration === null ? {} : { iteration }),
    question: await text("question", node.question),
    show: node.show === null ? null : shown(await evaluateEffects(node.show, at("show"), effects)),
    to: node.to === null ? null : await text("to", node.to),
    schema,
    expires_seconds: node.expires_seconds,
  }
  const given = running.ports.given?.(node.id, iteration)
  if (given !== undefined) {
    if ("error" in given) throw new RunFailure(given.error)
    return { answer: given.output }
  }
  const reused = reusedAnswer(running, node.id, question)
  return reused === undefined ? { scope, effects, question } : { answer: reused }
}

async function expired(node: AskNode, scope: Scope, effects: Effects): Promise<JsonValue> {
  if (node.on_expiry !== null) {
    return evaluateEffects(node.on_expiry, { ...scope, path: `${node.id}.on_expiry` }, effects)
  }
  throw failure("timeout", node.id, `Nobody answered ${node.id} within ${node.expires_seconds} seconds`)
}
