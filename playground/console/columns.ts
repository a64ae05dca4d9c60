import { signal } from "@preact/signals"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { keep, readKept } from "../page/keep.ts"
import { showScores } from "./show-scores.ts"
import { costNumber, shortNumber, showDuration, showMoment } from "../ui/show.ts"

/** A column of the list of runs that a person may show or hide. Name, state and preview are always there. */
export interface Column {
  readonly name: string
  readonly label: string
  readonly isNumber?: boolean
  /** Shown unless a person has chosen. */
  readonly isDefault?: boolean
  readonly text: (run: ListedRunAnswer) => string
}

const none = "–"

export const columns: readonly Column[] = [
  {
    name: "started",
    label: "Started",
    isDefault: true,
    text: ({ created_at }) => showMoment(Date.parse(created_at)),
  },
  {
    name: "duration",
    label: "Duration",
    isNumber: true,
    isDefault: true,
    text: ({ duration_ms }) => (duration_ms === null ? none : showDuration(duration_ms)),
  },
  {
    name: "tokens",
    label: "Tokens",
    isNumber: true,
    isDefault: true,
    text: ({ tokens }) => (tokens === null ? none : shortNumber(tokens)),
  },
  {
    name: "cost",
    label: "Cost",
    isNumber: true,
    isDefault: true,
    text: ({ cost }) => (cost === null ? none : costNumber(cost)),
  },
  { name: "by", label: "Started by", text: ({ started_by }) => started_by ?? none },
  { name: "scores", label: "Scores", text: ({ scores }) => (scores.length === 0 ? none : showScores(scores)) },
  { name: "release", label: "Side", text: ({ release }) => release ?? none },
  { name: "version", label: "Version", text: ({ version }) => version ?? none },
  { name: "caller", label: "Caller", text: ({ caller }) => caller ?? none },
  { name: "id", label: "Run", text: ({ run_id }) => run_id },
  { name: "trace", label: "Trace", text: ({ trace_id }) => trace_id ?? none },
]

const kept = readKept("local", "console.columns")

export const shownColumns = signal<readonly string[]>(
  Array.isArray(kept)
    ? columns.map(({ name }) => name).filter((name) => kept.includes(name))
    : columns.filter(({ isDefault }) => isDefault === true).map(({ name }) => name),
)

export function toggleColumn(name: string): void {
  const shown = shownColumns.peek()
  const next = shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name]
  shownColumns.value = columns.map((column) => column.name).filter((one) => next.includes(one))
  keep("local", "console.columns", shownColumns.peek())
}
