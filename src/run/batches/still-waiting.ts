import type { Alarm } from "../../log/replay-data.ts"
import { BatchTrouble } from "../../ports/model-batches.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { RunContext } from "../context/run-context.ts"
import { batchContexts } from "./batch-contexts.ts"
import { firstBatchAt, lateAt, nextPoll } from "./batch-times.ts"
import { targetOf } from "./open-batch.ts"

/**
 * A parked run was woken to ask about its batches: asks, and gives the alarms to park with again where none of them needs the run. Null: the run goes on. It makes no
 * events, however often it is asked. The lease of the run sees to it that one process asks at a time.
 */
export async function stillWaiting(running: RunContext): Promise<readonly Alarm[] | null> {
  const { ports, past, runId } = running
  if (ports.batches === undefined) return null
  const outcomes = await ports.store.waits.outcomes(runId)
  if (outcomes.length === 0) return null
  const contexts = batchContexts(running)
  const alarms: Alarm[] = []
  for (const { kind, id, status } of outcomes) {
    const alarm = past.parked?.alarms.find((one) => one.kind === "batch" && one.id === id)
    const context = contexts.find((one) => one.past.batches.has(id))
    if (kind !== "batch" || status !== "due" || alarm === undefined || context === undefined) return null
    const next = await lookAgain(context, alarm)
    if (next === null) return null
    alarms.push(next)
  }
  return alarms
}

async function lookAgain(running: RunContext, alarm: Alarm): Promise<Alarm | null> {
  const { ports, past, plan } = running
  const batch = past.batches.get(alarm.id)
  const node = plan.nodes.find((one) => one.kind === "agent" && one.name === batch?.agent)
  if (batch === undefined || batch.providerId === null || node?.kind !== "agent") return null
  const now = ports.clock.now()
  const late = lateAt(node, firstBatchAt(past, batch.agent) ?? now)
  if (now >= late) return null
  const due_at = Math.min(nextPoll(batch.submittedAt ?? batch.preparedAt, now), late)
  try {
    const look = await ports.batches?.look(targetOf(running, batch.model), batch.providerId)
    if (look === null || look === undefined || look.ended) return null
    const { status, completed, failed } = look
    return { ...alarm, due_at, progress: { status, completed, failed } }
  } catch (error) {
    if (error instanceof RunFailure) return null
    if (!(error instanceof EgressFailure) && !(error instanceof BatchTrouble)) throw error
    return { ...alarm, due_at }
  }
}
