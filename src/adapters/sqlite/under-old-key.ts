import type { DatabaseSync } from "node:sqlite"
import type { Vault } from "../../ports/vault.ts"
import type { RewrapOperation } from "./operations.ts"
import { aboutError, aboutUrl } from "./outbox-reader.ts"
import { rewrapRunKey } from "./run-key.ts"

/** How many runs and notices need another key than the one that writes. */
export function countUnderOldKey(database: DatabaseSync, vault: Vault): number {
  const runs = database.prepare("SELECT run_id, 0 AS event_id, caller, key, notify FROM runs").iterate()
  const notices = database.prepare("SELECT run_id, event_id, url, last_error FROM outbox").iterate()
  let count = 0
  for (const row of runs) if (rewrapsOf(vault, row).length > 0) count++
  for (const row of notices) if (rewrapsOf(vault, row).length > 0) count++
  return count
}

/** One operation for each part of a row that is not under the key that writes. */
export function rewrapsOf(vault: Vault, row: Readonly<Record<string, unknown>>): RewrapOperation[] {
  const [run_id, event_id] = [row["run_id"] as string, row["event_id"] as number]
  const rewritten = (
    what: RewrapOperation["what"],
    before: unknown,
    again: (before: Uint8Array) => Uint8Array | null,
  ): RewrapOperation[] => {
    const after = before instanceof Uint8Array ? again(before) : null
    return after === null || !(before instanceof Uint8Array)
      ? []
      : [{ kind: "rewrap", what, run_id, event_id, blobs: [before, after] }]
  }
  const url = aboutUrl(run_id)
  return [
    ...rewritten("run key", row["key"], (before) => rewrapRunKey(vault, run_id, row["caller"] as string, before)),
    ...rewritten("run url", row["notify"], (before) => vault.reseal(url, before)),
    ...rewritten("notice url", row["url"], (before) => vault.reseal(url, before)),
    ...rewritten("notice error", row["last_error"], (before) => vault.reseal(aboutError(run_id, event_id), before)),
  ]
}
