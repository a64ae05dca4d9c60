import type { StateName } from "../ui/state-words.ts"
import { capital, counted, showCost, showDuration, showSoon, showTime, showTokens } from "../ui/show.ts"
import type { RunView } from "./run-view.ts"

export interface RunStatus {
  readonly state: StateName
  readonly text: string
}

export function tokensOf(usage: { readonly input_tokens: number; readonly output_tokens: number }): number {
  return usage.input_tokens + usage.output_tokens
}

/** The run in one line: `completed in 2.4 s · 1,204 tokens`. */
export function statusOf(run: RunView): RunStatus {
  const { state } = run
  if (run.moment !== null) {
    const { started_at, duration_ms } = run.whole?.state ?? state
    const after = showDuration(run.moment - (started_at ?? run.moment))
    return { state: "waiting", text: `looking back: after ${after} of ${showDuration(duration_ms ?? 0)}` }
  }
  if (run.refused !== null && state.finished_at === null) {
    if (run.refused.kind === "run_expired") return { state: "unknown", text: "deleted" }
    if (run.isMissing) return { state: "unknown", text: "not found" }
    if (run.events.length > 0) return { state: "unknown", text: "lost" }
    return run.isUnanswered ? { state: "unknown", text: "no answer" } : { state: "failed", text: "not started" }
  }
  const took = state.duration_ms === null ? "" : showDuration(state.duration_ms)
  const tokens = tokensOf(state.usage)
  const skipped = state.nodes.filter((node) => node.state === "skipped").length
  const cost = showCost(state.usage.cost)
  const spent = [
    showTokens(tokens, state.cut_off),
    cost === "" || state.cut_off === undefined ? cost : `at least ${cost}`,
    skipped === 0 ? "" : `${counted(skipped, "step", "steps")} skipped`,
  ]
    .filter((part) => part !== "")
    .map((part) => ` · ${part}`)
    .join("")
  switch (state.status) {
    case "completed":
      return { state: "completed", text: `completed in ${took}${spent}` }
    case "failed":
      return { state: "failed", text: `failed after ${took}${spent}` }
    case "cancelled":
      return { state: "cancelled", text: `cancelled after ${took}${spent}` }
    default:
      break
  }
  if (run.connection === "lost") return { state: "unknown", text: "not connected" }
  if (run.connection === "reconnecting")
    return { state: "retried", text: `${reconnectingText(run)}, try ${run.attempt}` }
  if (run.cancelling) return { state: "running", text: "cancelling" }
  if (state.status === "waiting") return { state: "asking", text: `${waitingText(run)}${spent}` }
  if (state.started_at === null) return { state: "running", text: "starting" }
  return { state: "running", text: `running${spent}` }
}

/** What the run waits for, and since when. */
export function waitingText({ state }: RunView): string {
  const open = state.questions.filter(({ status }) => status === "open")
  const since = Math.min(...open.map(({ asked_at }) => Date.parse(asked_at)))
  const approvals = open.filter(({ kind }) => kind === "approval").length
  const what =
    approvals === 0 ? "waiting for an answer" : approvals === open.length ? "needs approval" : "waiting for people"
  if (Number.isFinite(since)) return `${what} since ${showTime(since)}`
  const { budget } = state.waiting_for ?? {}
  if (budget !== undefined) {
    return `waiting for the budget ${budget.path}, which begins anew at ${showTime(Date.parse(budget.resets_at))}`
  }
  const { waits: [wait] = [], batches = [] } = state.waiting_for ?? {}
  if (wait === undefined) return batches.length > 0 ? "waiting for a batch of model calls" : "waiting"
  return wait.until === undefined
    ? `waiting for ${wait.event ?? "an event"}`
    : `waiting until ${showSoon(Date.parse(wait.until))}`
}

/** Why the run is not followed at this moment. */
export function reconnectingText({ isBusy, hasConnected }: RunView): string {
  if (isBusy) return "the service is busy, waiting"
  return hasConnected ? "connection lost, reconnecting" : "not connected"
}

/** What a screen reader announces when a run is over. */
export function endSentence(run: RunView): string {
  if (run.refused !== null) return `${capital(statusOf(run).text)}: ${run.refused.message}`
  if (run.connection === "lost") return "Not connected. The run may go on without this page."
  const { text } = statusOf(run)
  return run.state.error === null ? `Run ${text}.` : `Run ${text}: ${run.state.error.message}`
}
