import { placeKey } from "../replay-state.ts"
import { replayData, type ReplayHandlers } from "./replay-scope.ts"

/** Batches of model calls, and which items wait for them. An item has left its batch once the log tells what came of it. */
export const batchHandlers: ReplayHandlers = {
  batch_prepared(scope, event, at) {
    const { agent, batch } = event.data
    const more = replayData(event)
    if (more === undefined) return
    const { batches, inBatch } = scope.state
    batches.set(batch, { ...more, batch, agent, preparedAt: at, providerId: null, submittedAt: null })
    for (const { iteration, attempt, reserved } of more.items) {
      inBatch.set(placeKey(agent, iteration), batch)
      if (reserved === undefined) continue
      scope.consumption.modelCallBegan({ agent, iteration, turn: 1, attempt, model: more.model, reserved })
    }
  },
  batch_submitted({ state }, { data: { batch, provider_id } }, at) {
    const known = state.batches.get(batch)
    if (known === undefined) return
    known.providerId = provider_id
    known.submittedAt = at
  },
  batch_left(scope, event) {
    const { agent, reason } = event.data
    const { leftBatches, inBatch } = scope.state
    leftBatches.set(agent, [...(leftBatches.get(agent) ?? []), reason])
    for (const { iteration, attempt } of replayData(event)?.calls ?? []) {
      scope.consumption.modelCallDropped({ agent, iteration, turn: 1, attempt })
      inBatch.delete(placeKey(agent, iteration))
    }
  },
}
