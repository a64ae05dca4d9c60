import type { Screen } from "./screen.ts"
import { stripVTControlCharacters } from "node:util"
import { count } from "./count.ts"
import { totalTokens } from "../../log/usage.ts"
import type { LogEvent, Usage } from "../../log/events.ts"
import type { NodeState, RunState } from "../../log/run-state.ts"
import { answerProgress } from "../../log/reduce/answer-progress.ts"
import type { Palette } from "./terminal.ts"
import { cellWidth } from "./cell-width.ts"
import { visibleText } from "../../base/visible-text.ts"

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** A line for each agent that has begun, for a screen of that size; those that are done give way to those under way. */
export function progressLines(
  state: RunState,
  now: number,
  screen: { readonly columns: number; readonly rows: number },
  palette: Palette,
): string[] {
  const begun = allNodes(state).filter(
    (node) => (node.kind === "agent" && node.state !== "waiting") || node.awaits !== undefined,
  )
  const most = Math.max(1, screen.rows - 2)
  const isUnder = (node: NodeState): boolean => node.state === "running" || node.awaits !== undefined
  const under = begun.filter(isUnder)
  const shown =
    begun.length <= most ? begun : [...begun.filter((node) => !isUnder(node)).slice(-2), ...under].slice(0, most)
  const width = Math.max(...shown.map((node) => cellWidth(node.name)), 0)
  return shown.map((node) => {
    const line = node.awaits === undefined ? agentLine(node, now, width, palette) : waitLine(node, now, width, palette)
    return cut(line, screen.columns)
  })
}

/** The steps of the run and, with their scope before the name, those of the workflows that it calls. */
function allNodes({ nodes, inside = {} }: RunState): NodeState[] {
  const called = Object.entries(inside).flatMap(([scope, inner]) =>
    inner.nodes.map((node) => ({ ...node, name: `${scope}/${node.name}` })),
  )
  return [...nodes, ...called]
}

/** A countdown, or the event that is waited for. */
function waitLine({ name, awaits = [] }: NodeState, now: number, width: number, palette: Palette): string {
  const padded = visibleText(name) + " ".repeat(Math.max(0, width - cellWidth(name)))
  const [first, ...others] = awaits
  const what =
    first?.until === undefined
      ? `waits for ${visibleText(first?.event ?? "")}`
      : `${seconds(Math.max(0, Date.parse(first.until) - now))} to wait`
  const more = others.length === 0 ? "" : `, and ${others.length} more`
  return `${palette.warning("…")} ${padded}  ${palette.faint(what + more)}`
}

function agentLine(node: NodeState, now: number, width: number, palette: Palette): string {
  const { name, loop } = node
  const padded = visibleText(name) + " ".repeat(Math.max(0, width - cellWidth(name)))
  const elapsed = node.duration_ms ?? now - (node.started_at ?? now)
  const facts = [seconds(elapsed)]
  if (node.state === "skipped") facts.push("skipped")
  if (loop !== null) facts.push(`${loop.completed} of ${loop.total}`)
  if (loop !== null && loop.skipped > 0) facts.push(`${loop.skipped} skipped`)
  if (totalTokens(node.usage) > 0) facts.push(tokensText(node.usage))
  const retries = node.attempts - Math.max(1, loop?.started ?? 1)
  if (node.fallbacks > 0) facts.push(`${node.fallbacks} ${node.fallbacks === 1 ? "fallback" : "fallbacks"}`)
  if (retries > 0) facts.push(`${retries} ${retries === 1 ? "retry" : "retries"}`)
  if (node.cached) facts.push("cached")
  return `${mark(node, now, palette)} ${padded}  ${palette.faint(facts.join(", "))}`
}

function mark(node: NodeState, now: number, palette: Palette): string {
  switch (node.state) {
    case "completed":
      return palette.hint("✓")
    case "failed":
      return palette.error("✗")
    case "cancelled":
      return palette.warning("–")
    case "skipped":
      return palette.faint("–")
    case "running":
      return frames[Math.floor(now / 80) % frames.length] ?? ""
    case "asking":
      return palette.warning("?")
    case "waiting":
      return " "
  }
}

/** What an event is worth saying where lines are only ever added; null for most. */
export function eventLine(event: LogEvent, state: RunState): string | null {
  const { scope } = event.data
  if (scope === undefined) return ownLine(event, state)
  const line = ownLine(event, state.inside?.[scope] ?? state)
  return line === null ? null : `${scope}/${line}`
}

function ownLine(event: LogEvent, state: RunState): string | null {
  const { type, data } = event
  switch (type) {
    case "agent_started":
      return data.iteration === undefined ? `${data.agent}: started (${data.model})` : null
    case "agent_loop_started":
      return `${data.agent}: started, ${repeats(state, data.agent) ? "at most " : ""}${iterationsOf(state, data)}`
    case "agent_completed": {
      if (data.iteration === undefined) {
        return `${data.agent}: ${data.cached ? "from the cache" : "done"} in ${seconds(data.duration_ms)}, ${tokensText(data.usage)}`
      }
      const loop = state.nodes.find((node) => node.id === `agent.${data.agent}`)?.loop
      const step = Math.max(1, Math.ceil((loop?.total ?? 1) / 10))
      const done = loop?.completed ?? 0
      return done % step === 0 && done !== loop?.total ? `${data.agent}: ${done} of ${loop?.total ?? 0}` : null
    }
    case "agent_loop_completed":
      return `${data.agent}: ${iterationsOf(state, data)} done in ${seconds(data.duration_ms)}`
    case "batch_submitted":
      return `${data.agent}: ${data.items} items sent as a batch`
    case "batch_repeated":
      return `${data.agent}: a batch is sent again`
    case "batch_left":
      return `${data.agent}: ${data.items} items are called directly (${whyLeft[data.reason]})`
    case "agent_retried":
      return `${stepOf(data)}: trying again (${data.reason})`
    case "agent_fallback":
      return `${stepOf(data)}: model.${data.from} failed, model.${data.to} goes on (${data.error.message})`
    case "agent_failed":
      return `${stepOf(data)}: failed after ${seconds(data.duration_ms)}: ${data.error.message}`
    case "question_answered":
    case "question_expired": {
      const loop = answerProgress(state.questions).find(({ name }) => name === data.name)
      return loop === undefined ? null : `${loop.name}: ${loop.settled} of ${loop.total} answered`
    }
    case "run_moved":
      return `moved from version ${data.from} to ${data.to}`
    case "wait_started":
      return data.until === undefined
        ? `${stepOf({ ...data, agent: data.name })}: waits for the event ${data.event ?? ""}${data.key === undefined || data.key === "" ? "" : ` with the key ${data.key}`}`
        : `${stepOf({ ...data, agent: data.name })}: waits until ${data.until}`
    case "wait_ended":
      return data.because === "expired" ? `${stepOf({ ...data, agent: data.name })}: no event came in time` : null
    case "step_skipped":
      return data.iteration === undefined && data.site === undefined
        ? `${data.step.replace(/^agent\./, "")}: skipped`
        : null
    case "tool_call_failed":
      return `${stepOf(data)}: ${data.tool} failed (${data.error.message})`
    default:
      return null
  }
}

const whyLeft = {
  few: "too few for a batch",
  late: "the time of the batch is over",
  refused: "the backend makes no batches",
} as const

/** `translate[3]`: the step, and which item of its loop, or of the lists around its call. */
function stepOf(data: {
  readonly agent?: string
  readonly dynamic?: string
  readonly iteration?: number
  readonly items?: readonly number[]
}): string {
  const places = [...(data.iteration === undefined ? [] : [data.iteration]), ...(data.items ?? [])]
  return `${data.agent ?? data.dynamic ?? ""}${places.map((place) => `[${place}]`).join("")}`
}

/** Whether an item of a loop has failed: live lines are about whole loops, and do not show it. */
export function isFailedItem({ type, data }: LogEvent): boolean {
  return type === "agent_failed" && data.iteration !== undefined
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/** `812 tokens, cost 0.0012` */
export function tokensText(usage: Usage): string {
  const sum = totalTokens(usage)
  const cost = usage.cost === null || usage.cost === 0 ? "" : `, cost ${Number(usage.cost.toFixed(6))}`
  return `${sum < 10_000 ? sum : `${(sum / 1000).toFixed(1)}k`} tokens${cost}`
}

/** Colours take no room: what is cut is the text, up to the first style that would be cut through. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line)
  if (cellWidth(plain) < columns) return line
  let short = plain
  while (short !== "" && cellWidth(short) >= columns - 1) short = short.slice(0, -1)
  return `${short}…`
}

function repeats({ nodes }: RunState, agent: string): boolean {
  return nodes.find(({ id }) => id === `agent.${agent}`)?.at_most !== undefined
}

/** `3 items`, or `3 rounds` of an agent that repeats. */
function iterationsOf(
  state: RunState,
  { agent, iterations }: { readonly agent: string; readonly iterations: number },
): string {
  return count(iterations, repeats(state, agent) ? "round" : "item")
}

/** Lines at the end of a terminal that are drawn over themselves. */
export class LiveLines {
  readonly #screen: Screen
  #drawn = 0

  constructor(screen: Screen) {
    this.#screen = screen
  }

  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.#screen.columns, rows: this.#screen.rows }
  }

  draw(lines: readonly string[]): void {
    this.#screen.redraw(this.#drawn, lines)
    this.#drawn = lines.length
  }

  clear(): void {
    if (this.#drawn > 0) this.#screen.redraw(this.#drawn, [])
    this.#drawn = 0
  }

  /** Keeps the lines that are drawn now. */
  keep(): void {
    this.#drawn = 0
  }
}
