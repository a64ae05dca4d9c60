import type { AgentNode } from "../../plan/plan-shape.ts"
import type { ReplayState } from "../../log/replay-state.ts"

// When a vendor is asked, and when a batch is late.

const firstPollMs = 10_000
export const longestPollMs = 300_000
/** So long before the end of `within_hours` what is left is called directly. */
const spareMs = 30 * 60_000
/** So long a batch that is cancelled may take to end. */
export const cancelMs = 15 * 60_000

/** When a batch that was sent at a time is asked about next: at growing intervals. */
export function nextPoll(sentAt: number, now: number): number {
  return Math.round(now + Math.min(longestPollMs, Math.max(firstPollMs, (now - sentAt) / 2)))
}

/** When the batches of an agent are late: its time begins with the first of them. */
export function lateAt({ batch }: AgentNode, firstAt: number): number {
  return Math.round(firstAt + (batch?.within_hours ?? 0) * 3_600_000 - spareMs)
}

/** When the first batch of an agent was sent; null where none was. */
export function firstBatchAt({ batches }: ReplayState, agent: string): number | null {
  let first: number | null = null
  for (const one of batches.values()) {
    if (one.agent === agent && (first === null || one.preparedAt < first)) first = one.preparedAt
  }
  return first
}
