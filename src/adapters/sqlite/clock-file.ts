import { randomBytes } from "node:crypto"
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { TimeSource } from "../../ports/store-clock.ts"

// The machine's clock is the store's. The kernel tells it with the time of a new file, whatever a process believes. A file beside the database says
// how the monotonic clock stands to it: a process that starts while the wall clock is wrong learns the right time from those before it.

/** Tells one start of the machine from another, with which the monotonic clock begins anew; null where the system does not say. */
function bootId(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
  } catch {
    return null
  }
}

/** `wall` is the clock of this process, for when the disk takes no file. */
export function clockFile(path: string, wall: () => number): TimeSource {
  const file = `${path}-clock`
  const boot = bootId()
  /** The kernel's time. What a process that is killed here leaves, the next one removes when it opens the database. */
  const write = (content: string, use: (written: string) => void): number => {
    const written = `${path}.${randomBytes(8).toString("hex")}`
    try {
      writeFileSync(written, content, { mode: 0o600, flag: "wx" })
      const { mtimeMs } = statSync(written)
      use(written)
      return mtimeMs
    } catch {
      rmSync(written, { force: true })
      return wall()
    }
  }
  return {
    time: async () => write("", rmSync),
    learned: {
      read() {
        try {
          const found: unknown = JSON.parse(readFileSync(file, "utf8"))
          if (boot === null || !isJsonObject(found) || found["boot"] !== boot) return null
          return typeof found["offset"] === "number" ? found["offset"] : null
        } catch {
          return null
        }
      },
      write(offset) {
        write(JSON.stringify({ boot, offset }), (written) => renameSync(written, file))
      },
    },
  }
}
