import { EarlierRun } from "../../log/earlier-run.ts"
import { LogFold } from "../../log/fold.ts"
import { LedgerFold } from "../../log/ledger-fold.ts"
import { noReplayState, type ReplayState } from "../../log/replay-state.ts"
import type { PriceOf } from "../../log/usage.ts"
import { NoSuchRun, type RerunOf, type RunStore } from "../../ports/store.ts"

/** Reads a run's log to its end. The prices are those of the run's models. */
export async function readReplayState(store: RunStore, runId: string, priceOf: PriceOf): Promise<ReplayState> {
  const reader = new LogFold(priceOf)
  const ledger = new LedgerFold()
  for (;;) {
    const page = await store.read(runId, reader.past.lastId, 500, "kept")
    if (page.length === 0) {
      // The entries of what was read are stored.
      ledger.changed()
      return Object.assign(reader.finished(), { ledger })
    }
    for (const event of page) {
      reader.take(event)
      ledger.take(event)
    }
  }
}

/** What an ended run leaves to a re-run. One that retention has deleted leaves nothing. */
export async function readEarlier(store: RunStore, { run_id, from, given }: RerunOf): Promise<EarlierRun> {
  try {
    return new EarlierRun(run_id, from, await readReplayState(store, run_id, () => null), null, given)
  } catch (error) {
    if (!(error instanceof NoSuchRun)) throw error
    return new EarlierRun(run_id, from, noReplayState, null, given)
  }
}
