import type { StartedWait } from "../../src/log/events.ts"
import type { NodeState } from "../../src/log/run-state.ts"
import { tokensOf } from "./run-status.ts"
import type { Known } from "./step-state.ts"
import { isDone, nodeState, retriesOf } from "./step-state.ts"
import type { StateName } from "../ui/state-words.ts"
import { stateWords } from "../ui/state-words.ts"
import { counted, shortNumber, showCost, showDuration, showNumber, showSoon, showTime } from "../ui/show.ts"

export interface NodeStatus {
  readonly state: StateName
  /** The state's word, and how far a loop is. */
  readonly word: string
  /** How long it has taken. */
  readonly time: string
  /** Tokens, cost, retries and fallbacks. */
  readonly figures: string
  /** Progress of a loop, from 0 to 1. */
  readonly progress: number | undefined
}

/** A node of a run as the graph shows it. */
export function nodeStatus(node: NodeState, run: Known, now: number): NodeStatus {
  const { loop } = node
  const state = nodeState(node, run)
  const time =
    node.duration_ms ?? (node.state === "running" && node.started_at !== null ? now - node.started_at : undefined)
  const stateWord = state === "asking" && node.asking?.kind === "approval" ? "needs approval" : stateWords[state]
  return {
    state,
    word: loop === null ? stateWord : `${stateWord} ${loopWord(loop)}`,
    time:
      state === "asking" && node.asking !== undefined
        ? `since ${showTime(node.asking.since)}`
        : node.awaits !== undefined || time === undefined || node.kind === "output" || state === "reused"
          ? ""
          : showDuration(time),
    figures: node.awaits === undefined ? figuresText([node]) : awaitsText(node.awaits),
    progress: loop === null ? undefined : loop.total === 0 ? 1 : (loop.completed + loop.skipped) / loop.total,
  }
}

/** The clocks of waits, or their events. */
function awaitsText([first, ...others]: NonNullable<NodeState["awaits"]>): string {
  if (first === undefined) return ""
  const what = awaitedText(first)
  return others.length === 0 ? what : `${what} and ${others.length} more`
}

/** The clock of a wait, or its event. */
export function awaitedText({ until, event = "", key = "" }: StartedWait): string {
  if (until !== undefined) return `until ${showSoon(Date.parse(until))}`
  return [event, key].filter((part) => part !== "").join(" · ")
}

function figuresText(nodes: readonly NodeState[]): string {
  const tokens = sumOf(nodes, ({ usage }) => tokensOf(usage))
  const isPriced = nodes.every(({ usage }) => typeof usage.cost === "number")
  const retries = sumOf(nodes, retriesOf)
  // In a loop whose other items ran.
  const reused = sumOf(nodes, ({ loop, reused: taken = 0 }) => (loop === null || taken === loop.total ? 0 : taken))
  const fallbacks = sumOf(nodes, (node) => node.fallbacks)
  const figures = [
    tokens === 0 ? "" : `${shortNumber(tokens)} tok`,
    isPriced ? showCost(sumOf(nodes, ({ usage }) => usage.cost ?? 0)) : "",
    retries > 0 ? counted(retries, "retry", "retries") : "",
    fallbacks > 0 ? counted(fallbacks, "fallback") : "",
    reused > 0 ? `${showNumber(reused)} reused` : "",
  ]
  return figures.filter((figure) => figure !== "").join(" · ")
}

/** A closed group of nodes as the graph shows it: what is inside, in one state. */
export function groupStatus(nodes: readonly NodeState[], run: Known, now: number): NodeStatus {
  const states = nodes.map((node) => nodeState(node, run))
  const state = stateOfAll(states)
  const ended = states.filter(isDone).length
  const skipped = states.filter((one) => one === "skipped").length
  const started = nodes.flatMap(({ started_at }) => started_at ?? [])
  const ends = nodes.flatMap(({ finished_at }) => finished_at ?? [])
  const isMoving = state === "running" || state === "asking" || state === "unknown"
  const time = (isMoving ? now : Math.max(...ends)) - Math.min(...started)
  return {
    state,
    word: `${stateWords[state]} ${loopWord({ completed: ended, total: nodes.length, started: 0, skipped })}`,
    time: started.length === 0 || !Number.isFinite(time) ? "" : showDuration(time),
    figures: figuresText(nodes),
    progress: nodes.length === 0 ? undefined : (ended + skipped) / nodes.length,
  }
}

/** What has failed or needs someone comes first, then what moves, then what did not come to its end. */
function stateOfAll(states: readonly StateName[]): StateName {
  const has = (...some: StateName[]): boolean => states.some((state) => some.includes(state))
  if (has("failed")) return "failed"
  if (has("asking")) return "asking"
  if (has("running", "retried") || (states.some(isDone) && has("waiting"))) return "running"
  for (const state of ["unknown", "cancelled", "unreached", "waiting", "completed", "cached", "reused"] as const)
    if (has(state)) return state
  return "skipped"
}

function sumOf(nodes: readonly NodeState[], of: (node: NodeState) => number): number {
  return nodes.reduce((sum, node) => sum + of(node), 0)
}

/** `3/5, 2 skipped` */
function loopWord({ completed, total, skipped }: NonNullable<NodeState["loop"]>): string {
  const done = `${showNumber(completed)}/${showNumber(total)}`
  return skipped === 0 ? done : `${done}, ${showNumber(skipped)} skipped`
}

/** Time, tokens and retries in one line. */
export function figuresOf({ time, figures }: NodeStatus): string {
  return [time, figures].filter((figure) => figure !== "").join(" · ")
}
