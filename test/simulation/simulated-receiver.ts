import { EgressFailure, type Egress } from "../../src/ports/egress.ts"
import type { Notify } from "../../src/ports/notices.ts"
import type { Machine, World } from "./world.ts"

export interface ReceiverFaults {
  /** Chances that a message never arrives, that the receiver refuses it for now, that its answer never arrives, and that it takes long. */
  readonly failed: number
  readonly refused: number
  readonly unanswered: number
  readonly slow: number
}

export const noReceiverFaults: ReceiverFaults = { failed: 0, refused: 0, unanswered: 0, slow: 0 }

export const receiverOrigin = "https://receiver.test"

interface ReceivedNotice {
  readonly at: number
  readonly run_id: string
  readonly event_id: number
  readonly event: string
}

/** The receiver of notices about runs: one for all of a history. */
export class SimulatedReceiver {
  readonly #world: World
  /** What the runs of the history ask for. */
  readonly notify: Notify
  readonly received: ReceivedNotice[] = []
  /** By run and event: what has to arrive, and has not. */
  readonly awaited = new Set<string>()

  constructor(world: World, notify: Notify) {
    this.#world = world
    this.notify = notify
  }

  /** The way from one machine to the receiver. */
  egress(machine: Machine, faults: () => ReceiverFaults): Egress {
    const unused = (): never => {
      throw new Error("Notices are sent with fetch")
    }
    return {
      request: unused,
      close: async () => undefined,
      fetch: (_, init, options) => this.#deliver(machine, faults(), init ?? {}, options?.totalMs ?? 0),
    }
  }

  #deliver(machine: Machine, faults: ReceiverFaults, init: RequestInit, patience: number): Promise<Response> {
    const { random } = this.#world
    const { failed, refused, unanswered, slow } = faults
    const fate = random.next()
    const latency = (): number => (random.chance(slow) ? random.next() * 8_000 : random.next() * 50)
    const back = latency()
    if (fate < failed) this.#world.count("receiver: out of reach")
    else if (fate < failed + refused) this.#world.count("receiver: refuses")
    else if (fate < failed + refused + unanswered) this.#world.count("receiver: its answer gets lost")
    return new Promise((resolve, reject) => {
      const { signal } = init
      const forget = this.#world.after(patience, machine, () =>
        reject(new EgressFailure("total_timeout", "The receiver did not answer")),
      )
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true })
      if (fate < failed) return
      this.#world.after(latency(), null, () => {
        const takes = fate >= failed + refused
        if (takes) this.#take(typeof init.body === "string" ? init.body : "")
        if (takes && fate < failed + refused + unanswered) return
        this.#world.after(back, machine, () => {
          forget()
          resolve(new Response(null, { status: takes ? 204 : 503 }))
        })
      })
    })
  }

  #take(body: string): void {
    const { data } = JSON.parse(body) as {
      data: { readonly run_id: string; readonly last_event_id: number; readonly status: string }
    }
    const { run_id, last_event_id: event_id, status: event } = data
    this.#world.note(`notice of ${run_id} ${event_id} ${event}`)
    this.received.push({ at: this.#world.now, run_id, event_id, event })
    this.awaited.delete(`${run_id}/${event_id}`)
  }
}
