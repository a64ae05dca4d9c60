import type { ListedRunAnswer } from "../../src/client/client.ts"

type Score = ListedRunAnswer["scores"][number]

/** The value of a score: of a judged one its first field, which the counts have as well. */
export function valueOfScore({ value, output }: Pick<Score, "value" | "output">): string {
  const shown = value ?? Object.values(output ?? {})[0] ?? "–"
  if (typeof shown === "number") return String(Math.round(shown * 1000) / 1000)
  return typeof shown === "string" ? shown : JSON.stringify(shown)
}

/** `helpful good, cites 0.5` */
export function showScores(scores: readonly Score[]): string {
  return scores.map((score) => `${score.name} ${valueOfScore(score)}`).join(", ")
}
