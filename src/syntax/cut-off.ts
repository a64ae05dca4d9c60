import type { Chain } from "./tree.ts"

/** Whether a chain ends in a step that could not be read: `input.`, `list.*`. */
export function isCutOff({ base, steps, end }: Chain): boolean {
  return end > (steps.at(-1) ?? base).end
}
