import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { Random } from "../support/random.ts"
import { filesOf, putFiles, tornWrite } from "./crashed-files.ts"
import type { History } from "./history.ts"
import { replay, SetClock, type Replica } from "./replay.ts"

export interface Replays {
  /** Where SQLite answers otherwise than the memory store did in a traced history, or holds something else in the end. */
  problems(history: History): Promise<string[]>
  close(): void
}

export function openReplays(): Replays {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-simulation-"))
  const masterKey = createMasterKey(Buffer.alloc(32, 7))
  let made = 0
  return {
    problems: async ({ seed, trace, store, end }) => {
      const clock = new SetClock()
      const random = new Random(seed)
      const undo: (() => void | Promise<void>)[] = []
      const open = async (path: string): Promise<Replica> => {
        const sqlite = await openSqliteStore({ path, masterKey, clock })
        undo.push(() => sqlite.close())
        return {
          store: sqlite,
          crash: async (write) => {
            const before = filesOf(path)
            await write()
            const left = tornWrite(before, filesOf(path), random)
            const copy = join(folder, `${made++}.sqlite`)
            undo.push(putFiles(left, copy, path))
            return open(copy)
          },
        }
      }
      try {
        const replica = await open(join(folder, `${made++}.sqlite`))
        const crashAt = random.chance(0.5) ? random.below(trace.length) : null
        return (await replay(trace, store, replica, clock, end, crashAt)).map((problem) => `on SQLite: ${problem}`)
      } finally {
        for (const act of undo.toReversed()) await act()
      }
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}
