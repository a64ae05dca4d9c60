import type { Random } from "../../support/random.ts"

/** Something that reads what strangers write. */
export interface Target {
  readonly name: string
  /** Makes an input of at most this many characters. */
  readonly make: (random: Random, most: number) => string
  /** Pieces to change inputs with. */
  readonly tokens: readonly string[]
  /** Reads an input. Whatever it throws is a defect. */
  readonly read: (input: string) => unknown
}
