import { signal } from "@preact/signals"

/** A name that is about to be changed everywhere. */
export interface Renaming {
  readonly name: string
  /** Changes it; a sentence when that cannot be. */
  readonly rename: (to: string) => string | undefined
}

export const renaming = signal<Renaming | null>(null)
