import type { ServerResponse } from "node:http"
import { Tally } from "../base/tally.ts"
import { refuse } from "./http-error.ts"

/** Counts the requests of each caller that are not answered yet, streams included: one caller must not have all connections. */
export class OpenRequests {
  readonly #most: number
  readonly #counts = new Tally()

  constructor(most: number) {
    this.#most = most
  }

  /** Counts a request until its answer ends. Throws where the caller has its share already. */
  take(caller: string, answer: ServerResponse): void {
    if (this.#most === Infinity) return
    if (this.#counts.of(caller) >= this.#most) {
      const message = `You have ${Math.ceil(this.#most)} requests or streams open, which is your share of the connections: end some of them`
      throw refuse("rate_limited", message, [], { "retry-after": "5" })
    }
    this.#counts.add(caller)
    answer.once("close", () => this.#counts.remove(caller))
  }
}
