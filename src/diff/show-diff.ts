import type { StepChanges } from "../plan/compare-plans.ts"
import type { ContractChange, WorkflowDiff } from "./diff-shape.ts"

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
  const lines: DiffLine[] = []
  const add = (area: string, label: string, parts: readonly string[]): void => {
    const text = parts.filter((part) => part !== "").join("; ")
    if (text !== "") lines.push({ area, text: label === "" ? text : `${label}: ${text}` })
  }
  const changes = (breaking: boolean): string[] => contract.filter((one) => one.breaking === breaking).map(showChange)
  add("contract", "breaking", changes(true))
  add("contract", "compatible", changes(false))
  add("steps", "", showSteps(steps))
  add("reach", "grew", reach.grew)
  add("reach", "shrank", reach.shrank)
  add("cost", "", [...cost.grew, ...cost.shrank])
  add("trust", counted(trust.grew.length, "new exception"), trust.grew)
  add("trust", counted(trust.shrank.length, "exception is", "exceptions are") + " gone", trust.shrank)
  for (const { question, change } of questions) add("questions", question, [change])
  return lines
}

/** `input gained `region` (required)`, and what is said of it where it neither came nor went. */
function showChange({ path, change }: ContractChange): string {
  const [, owner, name] = /^(.+)\.(\w+)$/.exec(path) ?? []
  const gained = { "is new": "", "is new and required": " (required)" }[change]
  if (owner === undefined) return `${path} ${change}`
  if (gained !== undefined) return `${owner} gained \`${name}\`${gained}`
  return change === "was removed" ? `${owner} lost \`${name}\`` : `${path} ${change}`
}

function showSteps({ changed, after, new: added, gone, same }: StepChanges): string[] {
  const groups = {
    changed: changed.map(({ step, properties }) => `${step} (${properties.join(", ")})`),
    new: added,
    gone,
    after,
  }
  const shown = Object.entries(groups).flatMap(([word, names]) =>
    names.length === 0 ? [] : [`${word} ${names.join(", ")}`],
  )
  return shown.length === 0 ? [] : [...shown, `same: ${same.length}`]
}

function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`
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
