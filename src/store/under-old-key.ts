import type { Vault } from "../ports/vault.ts"
import type { RewrapOperation } from "./operations.ts"
import { aboutError, aboutUrl } from "./outbox-reader.ts"
import { rewrapRunKey } from "./run-key.ts"
import type { Row } from "./sql.ts"

/** One operation for each part of a row that is not under the key that writes. */
export function rewrapsOf(vault: Vault, row: Row): RewrapOperation[] {
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
