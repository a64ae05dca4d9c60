import { showDuration } from "../ui/show.ts"

/** The time axis: how long it is, and where its marks are. */
export interface Scale {
  /** Where it begins, in milliseconds since the start of the run. */
  readonly from: number
  readonly total: number
  readonly marks: readonly number[]
}

/** A letter of a label, and the space around a label, in pixels. */
const letterWidth = 7
const around = 10
const maxMarks = 8

/**
 * An axis over this many milliseconds, drawn this many pixels wide: its labels neither overlap nor reach beyond its end.
 * With `roomy` it ends at a round figure, so that bars grow instead of shrinking. It begins `from` milliseconds after the start.
 */
export function scaleFor(elapsed: number, roomy: boolean, width: number, from = 0): Scale {
  const wanted = Math.max(1, elapsed)
  for (let step = roundStep(wanted / maxMarks); ; step = roundStep(step * 1.5)) {
    const total = roomy ? Math.ceil((wanted * 1.05) / step) * step : wanted
    const first = Math.ceil(from / step) * step
    const marks = Array.from({ length: Math.floor((from + total - first) / step) + 1 }, (_, at) => first + at * step)
    const room = (step / total) * width
    // A step as long as the axis leaves one label, which is always there.
    if (step < total && marks.some((at) => labelWidth(at) > room)) continue
    const hasRoom = (at: number): boolean => at === 0 || ((at - from) / total) * width + labelWidth(at) <= width
    return { from, total, marks: marks.filter(hasRoom) }
  }
}

function labelWidth(at: number): number {
  return markLabel(at).length * letterWidth + around
}

/** `0`, `200 ms`, `1.5 s`, `2 s`. */
export function markLabel(at: number): string {
  return at === 0
    ? "0"
    : showDuration(at)
        .replace(/(\.\d*?)0+ /, "$1 ")
        .replace(". ", " ")
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)))
  const factor = [1, 2, 5, 10].find((one) => one * power >= least) ?? 10
  return factor * power
}
