/** The time axis: how long it is, and where its marks are. */
export interface Scale {
  readonly total: number
  readonly marks: readonly number[]
}

/** An axis over this many milliseconds; with `roomy` it ends at a round figure, so that bars grow instead of shrinking. */
export function scaleFor(elapsed: number, roomy: boolean): Scale {
  const wanted = Math.max(1, elapsed)
  const step = roundStep(wanted / 4)
  const total = roomy ? Math.ceil((wanted * 1.05) / step) * step : wanted
  const marks: number[] = []
  for (let at = 0; at <= total * 0.92; at += step) marks.push(at)
  return { total, marks }
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)))
  const factor = [1, 2, 5, 10].find((one) => one * power >= least) ?? 10
  return factor * power
}
