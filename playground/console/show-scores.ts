import type { ListedRunAnswer } from "../../src/client/client.ts"

type Score = ListedRunAnswer["scores"][number]

/** The value of a score. Of a judged one it is its first field but the reason, which is the longer text. */
export function valueOfScore({ value, output }: Pick<Score, "value" | "output">): string {
  const shown = value ?? Object.values(output ?? {}).find((one) => one !== reasonIn(output)) ?? "–"
  if (typeof shown === "number") return String(Math.round(shown * 1000) / 1000)
  return typeof shown === "string" ? shown : JSON.stringify(shown)
}

/** What a judge or a person said beside the value. */
export function reasonOf({ comment, output }: Pick<Score, "comment" | "output">): string {
  return comment ?? reasonIn(output) ?? ""
}

/** A judge answers one text at most, and values of enums, which are short. */
function reasonIn(output: Score["output"]): string | undefined {
  const texts = Object.values(output ?? {}).filter((one) => typeof one === "string")
  const longest = texts.toSorted((a, b) => b.length - a.length)[0]
  return Object.keys(output ?? {}).length > 1 ? longest : undefined
}

/** `helpful good, cites 0.5` */
export function showScores(scores: readonly Score[]): string {
  return scores.map((score) => `${score.name} ${valueOfScore(score)}`).join(", ")
}
