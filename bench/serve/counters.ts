import { PerformanceObserver } from "node:perf_hooks"
import { getHeapStatistics, promiseHooks } from "node:v8"

// Loaded before a server (`node --import`): tells its parent what the server has allocated since the last question. The server's
// young generation must be so large that nothing is collected in between.

export type CountersQuestion = "begin" | "begin with promises" | "end"

export interface Counted {
  readonly bytes: number
  /** 0 unless asked for: to count them costs memory. */
  readonly promises: number
  /** Whether the collector ran: `bytes` then is too small. */
  readonly collected: boolean
}

let promises = 0
let before = 0
let collections = 0
let stopCounting: (() => void) | null = null

const observer = new PerformanceObserver((list) => {
  collections += list.getEntries().length
})

process.on("message", (question: CountersQuestion) => {
  if (question === "end") {
    const bytes = getHeapStatistics().used_heap_size - before
    stopCounting?.()
    stopCounting = null
    // Entries of the observer come a turn later.
    setTimeout(() => {
      observer.disconnect()
      process.send?.({ bytes, promises, collected: collections > 0 } satisfies Counted)
    }, 50)
    return
  }
  globalThis.gc?.()
  setTimeout(() => {
    observer.observe({ entryTypes: ["gc"] })
    collections = 0
    promises = 0
    if (question === "begin with promises") {
      stopCounting = promiseHooks.onInit(() => {
        promises++
      }) as () => void
    }
    before = getHeapStatistics().used_heap_size
    process.send?.("begun")
  }, 200)
})
// The channel alone does not keep the server alive.
process.channel?.unref()
