import type { SourceText } from "../../src/source/source-files.ts"
import { digest } from "./simulated-model.ts"

/**
 * How many calls of workflows stand around a workflow when its run is asked for: its text decides, without the instructions, which an edit
 * changes. What is promised of its steps is the same at each level.
 */
function levelsAround(source: string): number {
  const number = digest(source.replace(/instruction: .*/g, "")) % 16
  return number === 0 ? 2 : number <= 2 ? 1 : 0
}

function caller(source: string, file: string): string {
  const secret = source.includes("secrets {")
  return [
    "input { id: string  items: [string] }",
    ...(secret ? ["secrets { token: string }"] : []),
    `workflow inner from "./${file}" {${secret ? " secrets { token: secrets.token } " : ""}}`,
    "dynamic { r: call workflow.inner { input { id: input.id  items: input.items } } }",
    "output { r: dynamic.r }",
  ].join("\n")
}

/** What a client sends: the workflow, or one that calls it. */
export function sentSource(source: string): SourceText {
  const levels = levelsAround(source)
  if (levels === 0) return { source }
  const modules: Record<string, string> = { "level0.wire": source }
  for (let level = 1; level < levels; level++) modules[`level${level}.wire`] = caller(source, `level${level - 1}.wire`)
  return { source: caller(source, `level${levels - 1}.wire`), modules }
}

/** A step of the workflow, as the run knows it. */
export function sentStep(source: string, step: string): string {
  return `${"inner@dynamic.r/".repeat(levelsAround(source))}${step}`
}
