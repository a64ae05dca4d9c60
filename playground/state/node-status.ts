import type { NodeState, RunState } from "../../src/run/run-state.ts"
import { tokensOf } from "./status.ts"
import { nodeState, retriesOf } from "./step-state.ts"
import type { StateName } from "../ui/state-words.ts"
import { stateWords } from "../ui/state-words.ts"
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
export function nodeStatus(node: NodeState, run: Pick<RunState, "finished_at">, now: number): NodeStatus {
  const { loop } = node
  const state = nodeState(node, run)
  const time =
    node.duration_ms ?? (node.state === "running" && node.started_at !== null ? now - node.started_at : undefined)
  const tokens = tokensOf(node.usage)
  const retries = retriesOf(node)
  const figures = [
    tokens === 0 ? "" : `${showNumber(tokens)} tok`,
    showCost(node.usage.cost),
    retries > 0 ? counted(retries, "retry", "retries") : "",
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

/** Time, tokens and retries in one line. */
export function figuresOf({ time, figures }: NodeStatus): string {
  return [time, figures].filter((figure) => figure !== "").join(" · ")
}
