import { batch, signal } from "@preact/signals"
import type { RunView } from "./run-view.ts"

/** The run that graph, timeline, output and events show: the live one, or one of the history. */
export const shownRun = signal<RunView | null>(null)
/** The run that this page follows; null when none is under way. */
export const liveRun = signal<RunView | null>(null)
/** Counts what has changed in any run: one step at a time, however many events came. */
const runVersion = signal(0)
/** The service's time for what grows while a run goes on. */
export const runClock = signal(0)

/** The shown run as it was at an earlier moment, while a person looks back; null else. */
const lookedBack = signal<RunView | null>(null)

/** The shown run, for a reader that must be notified of every change: as it was at the moment that a person looks back to. */
export function watchShown(): RunView | null {
  const whole = watchWhole()
  const { value } = lookedBack
  return value !== null && value.whole === whole ? value : whole
}

/** The shown run with all that is known of it, likewise. */
export function watchWhole(): RunView | null {
  return runVersion.value < 0 ? null : shownRun.value
}

/** Shows a run that has ended as it was at a moment; null: as it ended. */
export function lookBack(run: RunView, moment: number | null): void {
  batch(() => {
    lookedBack.value = moment === null ? null : run.upTo(moment)
    runClock.value = moment ?? run.now()
  })
}

/** The live run, likewise. */
export function watchLive(): RunView | null {
  return runVersion.value < 0 ? null : liveRun.value
}

/** Thirty steps a second: enough for the eye, and half the work of sixty. */
const step = matchMedia("(prefers-reduced-motion: reduce)").matches ? 500 : 32
let changed = false
let ticking = false
let lastStep = 0

/** Reports that a run has changed. */
export function touchRuns(): void {
  changed = true
  startClock()
}

/** Moves version and clock together, so that what reads both is drawn once; stops when no run is live. */
export function startClock(): void {
  if (ticking) return
  ticking = true
  next()
}

function next(): void {
  // A page in the background gets no frames, but must notice the end.
  if (document.hidden) setTimeout(() => tick(performance.now()), 200)
  else requestAnimationFrame(tick)
}

function tick(time: number): void {
  const isLive = liveRun.peek() !== null
  if (isLive && time - lastStep < step) {
    next()
    return
  }
  lastStep = time
  batch(() => {
    if (changed) runVersion.value++
    changed = false
    runClock.value = watchShown()?.now() ?? 0
  })
  // A run that waits for people may do so for days, and nothing moves until its next event.
  ticking = isLive && liveRun.peek()?.state.status !== "waiting"
  if (ticking) next()
}

/**
 * What the graph shows: the shown run; the author's text, edited since that run, with its states where they still apply;
 * or another workflow altogether.
 */
export const graphOf = signal<"run" | "edited" | "other">("other")
