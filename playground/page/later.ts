import type { ReadonlySignal } from "@preact/signals"
import { signal } from "@preact/signals"

/** A part of the page that is not needed at first. It comes once the page stands, or sooner if it is needed. */
export interface Later<T> {
  /** Null while it is not there: who reads it in an effect or a component hears when it comes. */
  readonly part: ReadonlySignal<T | null>
  readonly load: () => Promise<T>
}

/** A browser remembers that a script did not come. */
export const notLoaded = "A part of the page could not be loaded. Reload the page."

const parts: Later<unknown>[] = []

export function later<T>(fetchPart: () => Promise<T>): Later<T> {
  const part = signal<T | null>(null)
  let loading: Promise<T> | null = null
  const load = async (): Promise<T> => (part.value = await (loading ??= fetchPart()))
  const made = { part, load }
  parts.push(made)
  return made
}

/** Loads what is missing, one part after the other, while the page has nothing else to do. */
export function loadRest(): void {
  const next = parts.shift()
  if (next === undefined) return
  whenIdle(() => void next.load().then(loadRest, loadRest))
}

export function whenIdle(work: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(work)
  else setTimeout(work, 200)
}
