import { answersIn } from "../../ports/question-store.ts"
import type { WaitOutcome } from "../../ports/waits.ts"
import type { EventLog } from "../log/log.ts"
import type { RunStore } from "../../ports/store.ts"
import type { QuestionReplayState, ReplayState } from "../../log/replay-state.ts"
import type { Redactor } from "../secrets/redact.ts"

/** Takes outcomes that are stored into the run, each with its event and once; gives those that were new. */
export function takeOutcomes(
  log: EventLog,
  redact: Redactor["redact"],
  stored: readonly WaitOutcome[],
  known: (id: string) => QuestionReplayState | undefined,
): QuestionReplayState[] {
  const taken: QuestionReplayState[] = []
  for (const { id, status, answer = null, answered_by = nobody } of answersIn(stored)) {
    const question = known(id)
    if (question === undefined || question.outcome !== null) continue
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
    taken.push(question)
  }
  return taken
}

const nobody = { caller: null, by: null }

/** The first events of a run that has waited: which outcomes woke it, and what they are. */
export async function continueFromWait(
  log: EventLog,
  store: RunStore,
  run_id: string,
  { questions }: ReplayState,
  { redact }: Redactor,
): Promise<void> {
  const outcomes = await store.waits.outcomes(run_id)
  log.add("run_continued", { questions: answersIn(outcomes).map(({ id }) => id) })
  takeOutcomes(log, redact, outcomes, (id) => questions.get(id))
}
