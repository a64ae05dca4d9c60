import { showCost } from "../ui/show.ts"

/** What a step cost, and which part of what the run has cost. */
export interface CostShare {
  readonly text: string
  /** From 0 to 100. */
  readonly percent: number
}

/** Null where a cost is not known, or nothing was spent. */
export function costShare(cost: number | null | undefined, whole: number | null): CostShare | null {
  if (cost === null || cost === undefined || cost <= 0 || whole === null || whole <= 0) return null
  return { text: showCost(cost), percent: Math.min(100, (cost / whole) * 100) }
}

/** `cost 0.0031, 42 % of the run` */
export function showShare({ text, percent }: CostShare): string {
  const part = percent > 0 && percent < 1 ? "less than 1 %" : `${Math.round(percent)} %`
  return `${text}, ${part} of the run`
}
