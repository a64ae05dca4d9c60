import { getHeapStatistics, setFlagsFromString } from "node:v8"

/** A heap of fewer bytes may grow as V8 likes: to bound it costs a run more CPU than its memory is worth. */
const largeHeap = 96 * 1024 * 1024
const checkMs = 500

/**
 * Keeps a large heap from growing to more than twice what is alive. V8 lets it grow to four times, of which most are runs that
 * have ended.
 */
export function boundHeap(): void {
  let isLarge = false
  setInterval(() => {
    if (getHeapStatistics().used_heap_size > largeHeap === isLarge) return
    isLarge = !isLarge
    setFlagsFromString(`--heap-growing-percent=${isLarge ? 100 : 0}`)
  }, checkMs).unref()
}
