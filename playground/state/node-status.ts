import type { NodeState } from "../../src/run/reduce.ts"
import { tokensOf } from "./status.ts"
import { stateWords, type StateName } from "../ui/state-mark.tsx"
import { counted, showCost, showDuration, showNumber } from "../ui/show.ts"

export interface NodeStatus {
  readonly state: StateName
  /** The state's word, and how far a loop is. */
  readonly word: string
  /** How long it has taken. */
  readonly time: string
  /** Tokens, cost, retries and fallbacks. */
  readonly figures: string
  /** Of a loop, from 0 to 1. */
  readonly progress: number | undefined
}

/** A node of a run as the graph shows it. */
export function nodeStatus(node: NodeState, now: number): NodeStatus {
  const { loop } = node
  const state = stateOf(node)
  const time =
    node.duration_ms ?? (node.state === "running" && node.started_at !== null ? now - node.started_at : undefined)
  const tokens = tokensOf(node.usage)
  const tries = node.attempts - (loop === null ? 1 : loop.started)
  const figures = [
    tokens === 0 ? "" : `${showNumber(tokens)} tok`,
    showCost(node.usage.cost),
    tries > 0 ? counted(tries, "retry", "retries") : "",
    node.fallbacks > 0 ? counted(node.fallbacks, "fallback") : "",
  ]
  return {
    state,
    word: loop === null ? stateWords[state] : `${stateWords[state]} ${loopWord(loop)}`,
    time: time === undefined || node.kind === "output" ? "" : showDuration(time),
    figures: figures.filter((figure) => figure !== "").join(" · "),
    progress: loop === null ? undefined : loop.total === 0 ? 1 : (loop.completed + loop.skipped) / loop.total,
  }
}

/** `3/5, 2 skipped` */
function loopWord({ completed, total, skipped }: NonNullable<NodeState["loop"]>): string {
  const done = `${showNumber(completed)}/${showNumber(total)}`
  return skipped === 0 ? done : `${done}, ${showNumber(skipped)} skipped`
}

function stateOf(node: NodeState): StateName {
  if (node.state === "completed" && node.cached) return "cached"
  if (node.state === "running" && isRetrying(node)) return "retried"
  return node.state
}

function isRetrying({ attempts, loop }: NodeState): boolean {
  return loop === null && attempts > 1
}

/** Time, tokens and retries in one line. */
export function figuresOf({ time, figures }: NodeStatus): string {
  return [time, figures].filter((figure) => figure !== "").join(" · ")
}
