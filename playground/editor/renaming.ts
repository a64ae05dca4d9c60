import { signal } from "@preact/signals"

/** A name that is about to be changed. */
export interface Renaming {
  readonly name: string
  /** Changes it; a sentence when that cannot be. */
  readonly rename: (to: string) => string | undefined | Promise<string | undefined>
  /** What else changes with it. */
  readonly note: string
  /** `Rename` and the name, unless given. */
  readonly title?: string
  readonly onClose?: () => void
}

export const renaming = signal<Renaming | null>(null)
