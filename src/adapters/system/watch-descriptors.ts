import { countDescriptors, isEnough, isShort } from "./descriptors.ts"
import type { Health } from "../../run/health.ts"

const lookEveryMs = 500
/** The process itself: store, listener, logs, probes. */
const own = 64
/** A client's connection, a model's, and one of a tool. */
const perRun = 3

/** Reports a shortage while there is one. The result stops that. */
export function watchDescriptors(health: Health): () => void {
  const look = (): void => {
    const count = countDescriptors()
    if (count === null) return
    if (isShort(count)) {
      health.failed(
        "descriptors",
        `Only ${count.most} file descriptors are allowed (ulimit -n), and ${count.open} are open`,
      )
    } else if (isEnough(count)) health.worked("descriptors")
  }
  const timer = setInterval(look, lookEveryMs).unref()
  return () => clearInterval(timer)
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
