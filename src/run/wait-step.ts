import { isoTime } from "../base/iso-time.ts"
import type { JsonValue } from "../base/json-value.ts"
import { runOpenQuestions } from "../base/limits.ts"
import { parseTime } from "../base/parse-time.ts"
import { effectFacts } from "../log/earlier-run.ts"
import type { StartedWait } from "../log/events.ts"
import type { WaitReplayState } from "../log/replay-state.ts"
import type { WaitNode } from "../plan/plan-shape.ts"
import { mostKeyLength } from "../ports/event-store.ts"
import { failure, RunFailure } from "../ports/run-failure.ts"
import { longestExpirySeconds } from "../syntax/property-table.ts"
import type { RecordType } from "../types/types.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import { inScope, whileBusy, type RunContext } from "./context/run-context.ts"
import { expiryAt } from "./ask-step.ts"
import { evaluateEffects, writeText, type Effects } from "./values/evaluate-effects.ts"
import type { Scope } from "./values/scope.ts"
import { openPlace, receiveValue, reusedValue, type StepPlace } from "./step-places.ts"
import { fitData } from "./waiting/send-event.ts"
import { endWait } from "./waiting/take-outcomes.ts"

/** One wait of a step. */
interface Began {
  readonly scope: Scope
  readonly effects: Effects
  readonly wait: WaitReplayState
}

/** What it waits for, not yet begun. */
interface Planned {
  readonly scope: Scope
  readonly effects: Effects
  readonly awaited: Pick<StartedWait, "until" | "event" | "key" | "expires_at">
  readonly facts: string
}

/** `value`: known without waiting, from an earlier run or a test, or null where the condition rules it out. */
type Place = Planned | Began | { readonly value: JsonValue }

/** Begins the waits of a step, all at once, and waits for all; their values in order, null for what was skipped. */
export async function waitForAll(
  running: RunContext,
  node: WaitNode,
  items: readonly JsonValue[] | null,
): Promise<JsonValue[]> {
  const places: Place[] = []
  for (const iteration of items === null ? [null] : items.keys()) {
    running.signal.throwIfAborted()
    places.push(await prepare(running, node, iteration, iteration === null ? null : (items?.[iteration] ?? null)))
  }
  checkRoom(running, node, places.filter((place) => "awaited" in place).length)
  // All in one turn of the event loop, so that they are stored together.
  const begun = places.map((place, index) => begin(running, node, place, items === null ? null : index))
  return Promise.all(begun.map((place) => valueOf(running, node, place)))
}

function checkRoom({ waits }: RunContext, { id }: WaitNode, more: number): void {
  if (waits.open("started") + more <= runOpenQuestions) return
  throw failure("limit_exceeded", id, `At most ${runOpenQuestions} waits of a run may be open at a time`)
}

function begin(running: RunContext, node: WaitNode, place: Place, iteration: number | null): Exclude<Place, Planned> {
  if (!("awaited" in place)) return place
  const { awaited, facts, scope, effects } = place
  const { log, ports } = running
  const started: StartedWait = {
    id: ports.random.id(),
    name: node.name,
    ...(iteration !== null && { iteration }),
    ...inScope(running),
    ...awaited,
  }
  log.add("wait_started", started, { facts })
  const wait: WaitReplayState = { started, outcome: null, facts }
  const now = ports.clock.now()
  // A time that has come already: nothing parks for it.
  if (awaited.until !== undefined && Date.parse(awaited.until) <= now) endWait(log, wait, "time", isoTime(now))
  return { scope, effects, wait }
}

async function valueOf(running: RunContext, node: WaitNode, place: Exclude<Place, Planned>): Promise<JsonValue> {
  return receiveValue(running, node.id, "value" in place ? place.value : await outcomeOf(running, node, place))
}

async function outcomeOf(running: RunContext, node: WaitNode, { wait, scope, effects }: Began): Promise<JsonValue> {
  // Called workflows that wait leave their places to others.
  if (wait.outcome === null) running.permits.giveUp()
  // The run does not park before it has looked.
  if (wait.outcome === null && node.awaits.kind === "event") {
    await whileBusy(running, lookForKept(running, wait, node.awaits.output))
  }
  await running.waits.settled(wait, running.signal)
  const { output } = wait.outcome ?? {}
  if (output !== undefined) return output
  const { awaits } = node
  if (awaits.kind === "event" && awaits.on_expiry !== null) {
    return evaluateEffects(awaits.on_expiry, { ...scope, path: `${node.id}.on_expiry` }, effects)
  }
  const { event = "", key = "" } = wait.started
  throw failure("timeout", node.id, `No event ${event}${key === "" ? "" : ` with the key ${key}`} came in time`)
}

/** The wait is stored open first, and then looks for events that came before: the oldest one that fits ends it. */
async function lookForKept(running: RunContext, { started }: WaitReplayState, type: RecordType): Promise<void> {
  const { log, caller, runId, plan, redactor } = running
  const { store } = running.ports
  await log.stored()
  const { id, event = "", key = "" } = started
  for (const sent of await store.sentEvents.waiting(caller, event, key)) {
    const fitted = fitData(sent.data, type, plan.types)
    if ("error" in fitted) continue
    if ((await store.sentEvents.deliver(sent.number, runId, id, redactor.redact(fitted.data))) !== "gone") return
  }
}

async function prepare(running: RunContext, node: WaitNode, iteration: number | null, item: JsonValue): Promise<Place> {
  const { past, ports } = running
  const place = await openPlace(running, node, iteration, item, (key) => past.waitSteps.has(key))
  if ("value" in place) return place
  const { key, scope, effects } = place
  const known = past.waitSteps.get(key)
  if (known !== undefined) return { scope, effects, wait: known }
  const planned = await planWait(running, node, place)
  if (ports.givenWait !== undefined) return { value: givenValue(running, node, iteration, planned) }
  return reusedValue(running, node.id, iteration, planned.facts) ?? planned
}

async function planWait(running: RunContext, node: WaitNode, { scope, effects, at }: StepPlace): Promise<Planned> {
  const { awaits, id } = node
  const now = running.ports.givenWait === undefined ? running.ports.clock.now() : startOf(running)
  const mostAt = now + longestExpirySeconds * 1000
  switch (awaits.kind) {
    case "seconds": {
      const seconds = await evaluateEffects(awaits.seconds, at("seconds"), effects)
      if (typeof seconds !== "number" || seconds < 0 || seconds > longestExpirySeconds) {
        const message = `\`seconds\` must be from 0 to ${longestExpirySeconds} (90 days), and is ${JSON.stringify(seconds)}`
        throw failure("evaluation_error", `${id}.seconds`, message)
      }
      const until = isoTime(now + Math.ceil(seconds * 1000))
      return { scope, effects, awaited: { until }, facts: effectFacts(["seconds", seconds]) }
    }
    case "until": {
      const written = await writeText(await evaluateEffects(awaits.until, at("until"), effects), at("until"))
      const time = parseTime(written)
      if (time === undefined || time > mostAt) {
        const wrong = time === undefined ? "is no time of RFC 3339" : "is more than 90 days ahead"
        throw failure("evaluation_error", `${id}.until`, `\`until\` ${wrong}: ${JSON.stringify(written.slice(0, 100))}`)
      }
      return { scope, effects, awaited: { until: isoTime(Math.ceil(time)) }, facts: effectFacts(["until", written]) }
    }
    case "event": {
      const { event, output } = awaits
      const key =
        awaits.key === null ? "" : await writeText(await evaluateEffects(awaits.key, at("key"), effects), at("key"))
      if (key.length > mostKeyLength) {
        throw failure("limit_exceeded", `${id}.key`, `\`key\` has more than ${mostKeyLength} characters`)
      }
      const seconds = await expiryAt(awaits.expires_seconds, at("expires_seconds"), effects)
      const clean = running.redactor.redact(key)
      return {
        scope,
        effects,
        awaited: { event, key: clean, expires_at: isoTime(now + seconds * 1000) },
        facts: effectFacts(["event", event, clean, toJsonSchema(output, running.plan.types, "answer")]),
      }
    }
  }
}

/** In a test a time passes at once, and only what is given ends a wait for an event. */
function givenValue(running: RunContext, node: WaitNode, iteration: number | null, { awaited }: Planned): JsonValue {
  const given = running.ports.givenWait?.(node.id, iteration)
  if (given !== undefined) {
    if ("error" in given) throw new RunFailure(given.error)
    return given.value
  }
  if (awaited.until !== undefined) return isoTime(Math.max(Date.parse(awaited.until), startOf(running)))
  const message = `${node.id} waits for the event ${awaited.event ?? ""}, which the test does not give: \`given ${node.id}: { … }\``
  throw failure("evaluation_error", node.id, message)
}

function startOf({ run }: RunContext): number {
  return Date.parse(run["started_at"] as string)
}
