import { showDuration } from "../ui/show.ts"

/** The time axis: how long it is, and where its marks are. */
export interface Scale {
  readonly total: number
  readonly marks: readonly number[]
}

/** Room for a label and the space after it, in pixels. */
const labelRoom = 72
const letterWidth = 7

/**
 * An axis over this many milliseconds, drawn this many pixels wide: its labels neither overlap nor reach beyond its end.
 * With `roomy` it ends at a round figure, so that bars grow instead of shrinking.
 */
export function scaleFor(elapsed: number, roomy: boolean, width: number): Scale {
  const wanted = Math.max(1, elapsed)
  const step = roundStep(wanted / Math.max(1, Math.min(6, Math.floor(width / labelRoom))))
  const total = roomy ? Math.ceil((wanted * 1.05) / step) * step : wanted
  const marks: number[] = []
  for (let at = 0; at <= total; at += step) {
    const end = (at / total) * width + markLabel(at).length * letterWidth + 6
    if (at === 0 || end <= width) marks.push(at)
  }
  return { total, marks }
}

/** `0`, `200 ms`, `2 s`. */
export function markLabel(at: number): string {
  return at === 0 ? "0" : showDuration(at).replace(/\.0+ /, " ")
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)))
  const factor = [1, 2, 5, 10].find((one) => one * power >= least) ?? 10
  return factor * power
}
