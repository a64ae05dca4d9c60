import type { RunStore } from "../../ports/store.ts"
import { eraseRun, withThoseMadeFrom } from "../../run/erase-run.ts"
import { openFiles } from "./open-files.ts"
import { isRefusal, openStore } from "./open-store.ts"
import type { Settings } from "./settings.ts"

export interface ErasedAgain {
  readonly erased: number
  /** Ids of those that have not ended in the store. */
  readonly open: readonly string[]
}

/** Erases these runs, where the store of the settings has them; a sentence for the operator where it cannot be opened. */
export async function eraseAgain(
  settings: Settings,
  ids: readonly string[],
  tell: (done: number) => void,
): Promise<ErasedAgain | { readonly refused: string }> {
  try {
    const { store, clock } = await openStore(settings)
    try {
      const done = await eraseAll(store, ids, tell)
      const files = await openFiles(settings, store.files, clock)
      await files?.sweepObjects()
      await files?.close()
      return done
    } finally {
      await store.close()
    }
  } catch (error) {
    if (isRefusal(error)) return { refused: error.message }
    throw error
  }
}

async function eraseAll(store: RunStore, ids: readonly string[], tell: (done: number) => void): Promise<ErasedAgain> {
  const open: string[] = []
  let erased = 0
  for (const [at, id] of ids.entries()) {
    for (const run_id of await withThoseMadeFrom(store, id)) {
      const outcome = await eraseRun(store, run_id)
      if (outcome === "open") open.push(run_id)
      else if (outcome === "erased") erased++
    }
    tell(at + 1)
  }
  return { erased, open }
}
