import type { ListedRun } from "../../ports/run-list.ts"
import type { ScoreValue } from "../../ports/scores.ts"

/** Names of the scores that a shadow gets once it has ended. */
export const agreementScore = "agreement"
export const skippedScore = "skipped_effects"

/** What became of a shadow. `inconclusive`: nothing can be said of it. */
export type ShadowOutcome = "agrees" | "disagrees" | "inconclusive"

/** Two outputs that differ. */
export interface Disagreement {
  readonly run_id: string
  readonly shadow_run_id: string
  /** Where they differ: `output.team`. */
  readonly paths: readonly string[]
}

/** What the last shadows of a candidate say. */
export interface Agreement {
  /** The share of those that could be compared whose output equals that of the run that they shadow. Null without any. */
  readonly agreement: number | null
  /** Those that could be compared. */
  readonly shadows: number
  readonly inconclusive: number
  readonly skipped_effects: number
  readonly disagreements: readonly Disagreement[]
}

/** As many disagreements are listed. */
const listed = 50
export const betweenPaths = ", "

export function agreementOf(shadows: readonly ListedRun[]): Agreement {
  const found = shadows.flatMap((shadow) => {
    const score = (name: string): ListedRun["scores"][number] | undefined =>
      shadow.scores.find((one) => one.name === name && one.by === undefined)
    const outcome = score(agreementScore)
    if (outcome === undefined) return []
    return [
      { shadow, outcome: outcome.value, skipped: numberOf(score(skippedScore)?.value), comment: outcome.comment ?? "" },
    ]
  })
  const count = (wanted: ShadowOutcome): number => found.filter(({ outcome }) => outcome === wanted).length
  const [agreed, differed] = [count("agrees"), count("disagrees")]
  const disagreements = found.flatMap(({ shadow, outcome, comment }): Disagreement[] => {
    const run_id = shadow.workflow?.shadow_of
    if (outcome !== "disagrees" || run_id === undefined) return []
    return [{ run_id, shadow_run_id: shadow.run_id, paths: comment.split(betweenPaths) }]
  })
  return {
    agreement: agreed + differed === 0 ? null : agreed / (agreed + differed),
    shadows: agreed + differed,
    inconclusive: count("inconclusive"),
    skipped_effects: found.reduce((sum, { skipped }) => sum + skipped, 0),
    disagreements: disagreements.slice(0, listed),
  }
}

function numberOf(value: ScoreValue | undefined): number {
  return typeof value === "number" ? value : 0
}
