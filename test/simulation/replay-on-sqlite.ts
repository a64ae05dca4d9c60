import { copyFileSync, existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { memoryFolder } from "../support/memory-folder.ts"
import { Random } from "../support/random.ts"
import { filesOf, putFiles, tornWrite } from "./crashed-files.ts"
import { replay, SetClock, type Replica } from "./replay.ts"
import type { Replays } from "./replays.ts"
import { WriterInPlace } from "./writer-in-place.ts"

export function replaysOnSqlite(): Replays {
  const folder = memoryFolder("wireworks-simulation-")
  const masterKey = createMasterKey(Buffer.alloc(32, 7))
  let made = 0
  const openAt = (path: string, clock: SetClock): Promise<RunStore> =>
    openSqliteStore({ path, masterKey, clock, openWriter: async (data) => new WriterInPlace(data) })
  /** To make the tables takes longer than to copy them. */
  const empty = join(folder, "empty.sqlite")
  const newDatabase = async (): Promise<string> => {
    if (!existsSync(empty)) await (await openAt(empty, new SetClock())).close()
    const path = join(folder, `${made++}.sqlite`)
    copyFileSync(empty, path)
    return path
  }
  return {
    beside: 1,
    problems: async ({ seed, trace, store, end }) => {
      const clock = new SetClock()
      const random = new Random(seed)
      const undo: (() => void | Promise<void>)[] = []
      const open = (path: string): Promise<RunStore> => {
        const opened = openAt(path, clock)
        undo.push(async () => {
          await (await opened).close()
          for (const file of ["", "-wal", "-shm"]) rmSync(path + file, { force: true })
        })
        return opened
      }
      try {
        let path = await newDatabase()
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
