import { isoTime } from "../../base/iso-time.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { answersIn } from "../../ports/question-store.ts"
import type { WaitOutcome } from "../../ports/waits.ts"
import type { EventLog } from "../log/log.ts"
import type { RunStore } from "../../ports/store.ts"
import type { QuestionReplayState, ReplayState, WaitEnd, WaitReplayState } from "../../log/replay-state.ts"
import type { Redactor } from "../secrets/redact.ts"

/** What the log shows the outcome of. */
export type Awaited = QuestionReplayState | WaitReplayState

/** Takes outcomes that are stored into the run, each with its event and once; gives the ids of those that were new. */
export function takeOutcomes(
  log: EventLog,
  redact: Redactor["redact"],
  stored: readonly WaitOutcome[],
  known: (id: string) => Awaited | undefined,
  now: number,
): string[] {
  const taken: string[] = []
  for (const { kind, id, status, outcome } of stored) {
    const wait = kind === "time" || kind === "event" ? known(id) : undefined
    if (wait === undefined || !("started" in wait) || wait.outcome !== null) continue
    if (kind === "time") endWait(log, wait, "time", isoTime(now))
    else if (status === "settled" && outcome !== null && "data" in outcome) {
      // It enters the run here, like the answer of a model.
      endWait(log, wait, "event", redact(outcome.data))
    } else endWait(log, wait, "expired")
    taken.push(id)
  }
  for (const { id, status, answer = null, answered_by = nobody } of answersIn(stored)) {
    const question = known(id)
    if (question === undefined || !("asked" in question) || question.outcome !== null) continue
    const { name, scope } = question.asked
    const about = { id, name, ...(scope !== undefined && { scope }) }
    if (status === "answered") {
      // It enters the run here, like the answer of a model.
      const clean = redact(answer)
      log.add("question_answered", { ...about, answer: clean, answered_by })
      question.outcome = { kind: "answered", answer: clean }
    } else {
      log.add("question_expired", about)
      question.outcome = { kind: "expired" }
    }
    taken.push(id)
  }
  return taken
}

/** Stores how a wait has ended. */
export function endWait(log: EventLog, wait: WaitReplayState, because: WaitEnd["because"], output?: JsonValue): void {
  const { id, name, iteration, scope } = wait.started
  wait.outcome = { because, ...(output !== undefined && { output }) }
  const about = { id, name, ...(iteration !== undefined && { iteration }), ...(scope !== undefined && { scope }) }
  log.add("wait_ended", { ...about, ...wait.outcome })
}

const nobody = { caller: null, by: null }

/** The first events of a run that has waited: what woke it, and the outcomes of that. */
export async function continueFromWait(
  log: EventLog,
  store: RunStore,
  run_id: string,
  { questions, waits }: ReplayState,
  { redact }: Redactor,
  now: number,
): Promise<void> {
  const outcomes = await store.waits.outcomes(run_id)
  const idsOf = (...kinds: readonly WaitOutcome["kind"][]): string[] =>
    outcomes.flatMap(({ kind, id }) => (kinds.includes(kind) ? [id] : []))
  const [budget] = idsOf("budget")
  log.add("run_continued", {
    questions: idsOf("question"),
    batches: idsOf("batch"),
    waits: idsOf("time", "event"),
    ...(budget !== undefined && { budget }),
  })
  takeOutcomes(log, redact, outcomes, (id) => questions.get(id) ?? waits.get(id), now)
}
