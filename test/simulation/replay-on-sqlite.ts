import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import type { History } from "./history.ts"
import { replay, SetClock } from "./replay.ts"

export interface Replays {
  /** Where SQLite answers otherwise than the memory store did in a traced history, or holds something else in the end. */
  problems(history: History): Promise<string[]>
  close(): void
}

export function openReplays(): Replays {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-simulation-"))
  const vault = createVault(Buffer.alloc(32, 7))
  return {
    problems: async ({ seed, trace, store }) => {
      const clock = new SetClock()
      const path = join(folder, `${seed}.sqlite`)
      const sqlite = await openSqliteStore({ path, vault, clock })
      try {
        return (await replay(trace, store, sqlite, clock)).map((problem) => `on SQLite: ${problem}`)
      } finally {
        await sqlite.close()
        for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true })
      }
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
