import { watch } from "node:fs"
import { dirname, resolve } from "node:path"

/** Editors save in several steps: a change counts once nothing more has happened for a moment. */
const settleMs = 100

/** Settles when a file beside one of these has changed, or with the signal. */
export function changeOf(files: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    let timer: NodeJS.Timeout | undefined
    // Folders, for many editors replace a file instead of writing it.
    const watchers = [...new Set(files.map((file) => dirname(resolve(file))))].map((folder) =>
      watch(folder, (_, name) => {
        if (name !== null && !/\.(?:wire|jsonl?)$/.test(name)) return
        if (name !== null && name.endsWith(".recording.json")) return
        clearTimeout(timer)
        timer = setTimeout(end, settleMs)
      }),
    )
    const end = (): void => {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
      signal.removeEventListener("abort", end)
      done()
    }
    signal.addEventListener("abort", end, { once: true })
  })
}
