import { countDescriptors, isEnough, isShort, type Descriptors } from "./descriptors.ts"
import type { Health } from "../../run/health.ts"

const lookEveryMs = 500
/** The process itself: store, listener, logs, probes. */
const own = 64
/** A client's connection, a model's, and one of a tool. */
const perRun = 3
/** What the store, the threads and the listener take, and some that are left for the first requests. */
const toStart = 32

export interface DescriptorWatch {
  /** Looks at once. Whether there are nearly none left. */
  isShort(): boolean
  /** There was none left when one was needed: it may have been short for a moment only. */
  met(): void
  stop(): void
}

/** Reports a shortage while there is one. Only the timer says that it is over, so that a log does not flicker. */
export function watchDescriptors(health: Health): DescriptorWatch {
  const look = (): { readonly short: boolean; readonly enough: boolean } => {
    const count = countDescriptors()
    const short = count !== null && isShort(count)
    if (short) health.failed("descriptors", sentenceOf(count))
    return { short, enough: count === null || isEnough(count) }
  }
  const timer = setInterval(() => {
    if (look().enough) health.worked("descriptors")
  }, lookEveryMs).unref()
  return {
    isShort: () => look().short,
    met() {
      if (look().short) return
      health.failed("descriptors", "A connection could not be opened: no file descriptor was left")
    },
    stop: () => clearInterval(timer),
  }
}

/** A sentence for the operator where too few are left for the service to start. */
export function tooFewToStart(): string | null {
  const count = countDescriptors()
  if (count === null || count.most - count.open >= toStart) return null
  return `${sentenceOf(count)}: the service needs ${toStart} more to start. Raise the limit.`
}

function sentenceOf({ open, most }: Descriptors): string {
  return `Only ${most} file descriptors are allowed (ulimit -n), and ${open} are open`
}

/** A sentence for the operator where the limit is too low for the settings. */
export function tooFewDescriptors(maxRuns: number): string | null {
  const count = countDescriptors()
  const needed = own + perRun * maxRuns
  if (count === null || count.most >= needed) return null
  return (
    `Only ${count.most} file descriptors are allowed: with WIRE_MAX_RUNS=${maxRuns} about ${needed} are needed. ` +
    "Raise the limit (ulimit -n), or lower WIRE_MAX_RUNS."
  )
}
