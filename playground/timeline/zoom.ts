/** The part of a run's time that the timeline shows, in milliseconds since its start. */
export interface TimeWindow {
  readonly from: number
  readonly length: number
}

/** The shortest part that is shown. */
const shortest = 10

/** The part after a zoom by a factor, with a moment at its place; null where it is the whole of the time. */
export function zoomed(whole: number, now: TimeWindow | null, factor: number, around: number): TimeWindow | null {
  const { from, length } = now ?? { from: 0, length: whole }
  const next = Math.max(Math.min(shortest, whole), length * factor)
  if (next >= whole) return null
  return within(whole, { from: around - ((around - from) / length) * next, length: next })
}

/** The part, moved by a number of milliseconds. */
export function moved(whole: number, { from, length }: TimeWindow, by: number): TimeWindow {
  return within(whole, { from: from + by, length })
}

function within(whole: number, { from, length }: TimeWindow): TimeWindow {
  return { from: Math.max(0, Math.min(whole - length, from)), length }
}
