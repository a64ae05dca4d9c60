import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { Random } from "../support/random.ts"
import { filesOf, putFiles, tornWrite } from "./crashed-files.ts"
import { replay, SetClock, type Replica } from "./replay.ts"
import type { Replays } from "./replays.ts"

export function replaysOnSqlite(): Replays {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-simulation-"))
  const masterKey = createMasterKey(Buffer.alloc(32, 7))
  let made = 0
  return {
    problems: async ({ seed, trace, store, end }) => {
      const clock = new SetClock()
      const random = new Random(seed)
      const undo: (() => void | Promise<void>)[] = []
      const open = (path: string): Promise<RunStore> => {
        const opened = openSqliteStore({ path, masterKey, clock })
        undo.push(async () => (await opened).close())
        return opened
      }
      try {
        let path = join(folder, `${made++}.sqlite`)
        let current = await open(path)
        const replica: Replica = {
          storeOf: () => current,
          // A crash during the write, to which nobody has an answer. It is made again on what the crash has left.
          trouble: async (_, write) => {
            const before = filesOf(path)
            await write(current).catch(() => undefined)
            const left = tornWrite(before, filesOf(path), random)
            const copy = join(folder, `${made++}.sqlite`)
            undo.push(putFiles(left, copy, path))
            path = copy
            current = await open(copy)
            return write(current)
          },
        }
        const troubleAt = random.chance(0.5) ? random.below(trace.length) : null
        return (await replay(trace, store, replica, clock, end, troubleAt)).map((problem) => `on SQLite: ${problem}`)
      } finally {
        for (const act of undo.toReversed()) await act()
      }
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}
