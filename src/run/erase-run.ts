import { replayData } from "../log/replay/replay-scope.ts"
import { Damaged, NoSuchRun, type RunStore } from "../ports/store.ts"

const pageEvents = 500

/** A run, and the shadows and re-runs that were made from it, in the order in which they are erased: those that were made from others first. */
export async function withThoseMadeFrom(store: RunStore, run_id: string): Promise<string[]> {
  const found = new Set([run_id])
  // A set is gone through in the order in which it grows.
  for (const one of found) for (const other of await store.erasure.madeFrom(one)) found.add(other)
  return [...found].reverse()
}

/** Erases one run that has ended, with all that it has left behind. What was done before a crash is done again to no effect. */
export async function eraseRun(store: RunStore, run_id: string): Promise<"erased" | "open" | "gone"> {
  const found = await store.lookup(run_id)
  if (found.found === "run") {
    if (found.run.finished_at === null) return "open"
    try {
      await forgetAnswers(store, run_id, found.run.caller)
    } catch (error) {
      // What cannot be read names nothing.
      if (!(error instanceof Damaged || error instanceof NoSuchRun)) throw error
    }
  }
  const erased = await store.erasure.erase(run_id)
  return erased === "deleted" ? "erased" : erased
}

/** Drops the answers that the run has cached, or was given from the cache: its log names them. */
async function forgetAnswers(store: RunStore, run_id: string, caller: string): Promise<void> {
  const { cache_key } = (await store.request(run_id)).options
  if (cache_key === null) return
  for (let after = 0; ;) {
    const events = await store.read(run_id, after, pageEvents, "kept")
    for (const event of events) {
      if (event.type !== "agent_completed" && event.type !== "step_reused") continue
      const facts = replayData(event)?.facts
      if (facts !== undefined) await store.cache.forget(caller, cache_key, facts)
    }
    const last = events.at(-1)
    if (last === undefined) return
    after = last.id
  }
}
