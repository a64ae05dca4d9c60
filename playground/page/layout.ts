import { effect, signal } from "@preact/signals"
import { keep, readKept } from "./keep.ts"

export const dividers = ["columns", "left", "right", "details", "names"] as const
export type DividerName = (typeof dividers)[number]

/** Position of each divider, in percent of its container. */
const usual: Readonly<Record<DividerName, number>> = {
  // So that the details have 420 px beside the results on a screen of 1280 px.
  columns: 40,
  left: 62,
  right: 46,
  details: 62,
  // So that `model call, turn 2` fits beside the details on a screen of 1280 px. On a telephone a name needs more.
  names: matchMedia("(max-width: 599px)").matches ? 44 : 40,
}

export const positions = signal<Readonly<Record<DividerName, number>>>(readPositions())

export function moveDivider(name: DividerName, percent: number): void {
  positions.value = { ...positions.value, [name]: Math.max(10, Math.min(90, Math.round(percent * 10) / 10)) }
}

export function resetDivider(name: DividerName): void {
  moveDivider(name, usual[name])
}

/** Whether a divider is where it is for everyone. */
export function isAtUsual(name: DividerName): boolean {
  return positions.value[name] === usual[name]
}

function readPositions(): Record<DividerName, number> {
  const kept = readKept("local", "dividers")
  const read = { ...usual }
  if (typeof kept !== "object" || kept === null) return read
  for (const name of dividers) {
    const value = (kept as Record<string, unknown>)[name]
    if (typeof value === "number" && value >= 10 && value <= 90) read[name] = value
  }
  return read
}

export type Theme = "system" | "light" | "dark"
const keptTheme = readKept("local", "theme")
export const theme = signal<Theme>(keptTheme === "light" || keptTheme === "dark" ? keptTheme : "system")

export type InputTab = "input" | "secrets" | "options"
export const resultTabs = ["chat", "timeline", "questions", "output", "events", "history", "reach"] as const
export type ResultTab = (typeof resultTabs)[number]
/** The panes as tabs, where not all of them fit. */
export type PaneTab = "editor" | "input" | "graph" | "results"

export const inputTab = signal<InputTab>("input")
export const resultTab = signal<ResultTab>("timeline")
export const paneTab = signal<PaneTab>("editor")
export const problemsOpen = signal(false)

const wideQuery = matchMedia("(min-width: 1100px)")
/** Whether all panes are side by side. */
export const wide = signal(wideQuery.matches)
wideQuery.addEventListener("change", () => (wide.value = wideQuery.matches))

const columnQuery = matchMedia("(max-width: 599px)")
/** Whether there is one column, as on a telephone. */
export const narrow = signal(columnQuery.matches)
columnQuery.addEventListener("change", () => (narrow.value = columnQuery.matches))

export function keepLayout(): void {
  effect(() => keep("local", "dividers", positions.value))
  effect(() => {
    const chosen = theme.value
    keep("local", "theme", chosen === "system" ? undefined : chosen)
    if (chosen === "system") delete document.documentElement.dataset["theme"]
    else document.documentElement.dataset["theme"] = chosen
  })
}
