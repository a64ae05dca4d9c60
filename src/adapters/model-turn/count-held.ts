import type { Arrival } from "../../ports/egress.ts"

/** Counts what a reader of a stream holds. Call it with the bytes of now; a promise where there is no room for more. */
export function countHeld(arrival: Arrival | undefined): (held: number) => Promise<void> | null {
  let counted = 0
  return (held) => {
    const more = held - counted
    counted = held
    if (more > 0) return arrival?.add(more) ?? null
    arrival?.remove(-more)
    return null
  }
}
