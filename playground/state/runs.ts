import { signal } from "@preact/signals"
import type { RunView } from "../run/run-view.ts"

/** The run that graph, timeline, output and events show: the live one, or one of the history. */
export const shownRun = signal<RunView | null>(null)
/** The run that this page follows; null when none is under way. */
export const liveRun = signal<RunView | null>(null)
/** Counts what has changed in any run: at most one step a frame, however many events came. */
export const runVersion = signal(0)
/** The service's time for what grows while a run goes on; moves with every frame. */
export const runClock = signal(0)

/** The shown run, for a reader that has to be told when anything about it changes. */
export function watchShown(): RunView | null {
  return runVersion.value < 0 ? null : shownRun.value
}

/** The live run, likewise. */
export function watchLive(): RunView | null {
  return runVersion.value < 0 ? null : liveRun.value
}

let scheduled = false

/** Tells that a run has changed. */
export function touchRuns(): void {
  if (scheduled) return
  scheduled = true
  const flush = (): void => {
    scheduled = false
    runVersion.value++
  }
  // A page in the background gets no frames, and must come to know the end nevertheless.
  if (document.hidden) setTimeout(flush, 100)
  else requestAnimationFrame(flush)
}

let ticking = false

/** Moves the clock until no run is live. */
export function startClock(): void {
  if (ticking) return
  ticking = true
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches
  const tick = (): void => {
    const run = liveRun.value
    runClock.value = (shownRun.value ?? run)?.now() ?? 0
    ticking = run !== null
    if (!ticking) return
    if (calm) setTimeout(tick, 500)
    else requestAnimationFrame(tick)
  }
  tick()
}
