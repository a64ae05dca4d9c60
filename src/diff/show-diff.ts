import type { Growth, WorkflowDiff } from "./diff-shape.ts"

/** A line of a diff: the area, with what there is to say of it. */
export interface DiffLine {
  readonly area: string
  readonly text: string
}

/** The areas that can be asked to be without breaking changes or growth. */
export const diffAreas = ["contract", "reach", "cost", "trust"] as const
export type DiffArea = (typeof diffAreas)[number]

/** The areas among these that break something, or that grew. */
export function failingAreas(diff: WorkflowDiff, areas: readonly DiffArea[]): DiffArea[] {
  return areas.filter((area) => {
    return area === "contract" ? diff.contract.some(({ breaking }) => breaking) : diff[area].grew.length > 0
  })
}

/** Whether the two do the same, under the same contract. */
export function isUnchanged({ contract, steps, reach, cost, trust, questions }: WorkflowDiff): boolean {
  const differing = [steps.changed, steps.after, steps.new, steps.gone, contract, questions]
  const growths = [reach, cost, trust].flatMap(({ grew, shrank }) => [grew, shrank])
  return [...differing, ...growths].every(({ length }) => length === 0)
}

/** The lines of a diff, for people; none where nothing differs. */
export function diffLines(diff: WorkflowDiff): DiffLine[] {
  if (isUnchanged(diff)) return []
  const { contract, steps, reach, cost, trust, questions } = diff
  const changes = (breaking: boolean): string =>
    contract
      .filter((one) => one.breaking === breaking)
      .map(({ path, change }) => `${path} ${change}`)
      .join("; ")
  const lines: DiffLine[] = []
  const add = (area: string, label: string, text: string): void => {
    if (text !== "") lines.push({ area, text: label === "" ? text : `${label}: ${text}` })
  }
  add("contract", "breaking", changes(true))
  add("contract", "compatible", changes(false))
  const changed = steps.changed.map(({ step, properties }) => `${step} (${properties.join(", ")})`)
  const groups = [
    ["changed", changed],
    ["new", steps.new],
    ["gone", steps.gone],
    ["after a change", steps.after],
  ] as const
  for (const [label, names] of groups) add("steps", label, names.join(", "))
  if (lines.some(({ area }) => area === "steps")) add("steps", "same", String(steps.same.length))
  addGrowth(add, "reach", reach)
  addGrowth(add, "cost", cost)
  addGrowth(add, "trust", trust)
  for (const { question, change } of questions) add("questions", question, change)
  return lines
}

function addGrowth(
  add: (area: string, label: string, text: string) => void,
  area: string,
  { grew, shrank }: Growth,
): void {
  add(area, "grew", grew.join("; "))
  add(area, "shrank", shrank.join("; "))
}

/** For a terminal: areas in a column. */
export function showDiff(head: string, diff: WorkflowDiff): string {
  const lines = diffLines(diff)
  if (lines.length === 0) return "No difference."
  return [
    head,
    ...lines.map(({ area, text }, at) => `  ${(lines[at - 1]?.area === area ? "" : area).padEnd(11)}${text}`),
  ].join("\n")
}

/** For a pull request: a table. */
export function diffAsMarkdown(head: string, diff: WorkflowDiff): string {
  const lines = diffLines(diff)
  const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")
  if (lines.length === 0) return `**${cell(head)}**: no difference.`
  const rows = lines.map(({ area, text }, at) => `| ${lines[at - 1]?.area === area ? "" : area} | ${cell(text)} |`)
  return [`**${cell(head)}**`, "", "| | |", "|---|---|", ...rows].join("\n")
}
