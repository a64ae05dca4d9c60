import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import { loopTurns } from "../../event-loop/loop-turns.ts"

/** The longest wait for a cancellation to be delivered. */
export const cancelMs = 1000

/** What it takes to send a cancellation, in bytes of large work. The calls of a run are cancelled together, and may be hundreds. */
const sendingBytes = 32 * 1024

/** Tells a server which requests are cancelled. */
export class Cancellations {
  readonly #underWay = new Set<Promise<void>>()

  async deliver(message: JSONRPCMessage, to: Pick<Transport, "send">): Promise<void> {
    const sent = loopTurns
      .spend(sendingBytes)
      .then(() => to.send(message, { requestSignal: AbortSignal.timeout(cancelMs) }))
      .catch(() => {
        // A server that is gone, or hangs, has nothing left to cancel.
      })
    this.#underWay.add(sent)
    await sent.finally(() => this.#underWay.delete(sent))
  }

  /** Resolves when the cancellations under way are delivered, or have been given up. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}

export function isCancellation(message: JSONRPCMessage): boolean {
  return "method" in message && message.method === "notifications/cancelled"
}

/** The request that a cancellation is about. */
export function cancelledId(message: JSONRPCMessage): string | number | undefined {
  const params: unknown = "params" in message ? message.params : undefined
  if (typeof params !== "object" || params === null || !("requestId" in params)) return undefined
  const { requestId: id } = params
  return typeof id === "string" || typeof id === "number" ? id : undefined
}
