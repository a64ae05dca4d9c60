import type { RunSlotLimits, RunSlots } from "../../../run/run-slots.ts"
import type { Listening, Spent, ToChild, ToParent } from "./messages.ts"
import { SharedRunSlots } from "./shared-run-slots.ts"

/** The variable that numbers the processes of a service, from 0. */
export const numberVariable = "WIREWORKS_PROCESS"

/** A process tells the others this often how many requests it has counted. */
const spendingMs = 100

/** What one of several processes of a service has from the others. */
export class ProcessLink {
  /** From 0. The first one says what need not be said by each. */
  readonly number: number
  readonly processes: number
  /** Resolves to the reason when all processes are to stop. */
  readonly stopAsked: Promise<string>
  readonly #stop = Promise.withResolvers<string>()
  #places: SharedRunSlots | null = null
  #ownMetrics: (() => Promise<string>) | null = null
  #otherDied: (() => void) | null = null
  #spentElsewhere: ((spent: Spent) => void) | null = null
  #spent = new Map<string, number>()
  readonly #answers = new Map<number, (text: string) => void>()
  #asked = 0
  #up = 1

  constructor(processes: number) {
    this.number = Number(process.env[numberVariable] ?? 0)
    this.processes = processes
    this.stopAsked = this.#stop.promise
    process.on("message", (message: ToChild) => this.#hear(message))
  }

  /** How many processes serve now. */
  get up(): number {
    return this.#up
  }

  places({ maxRuns }: RunSlotLimits): RunSlots {
    this.#places = new SharedRunSlots((places) => this.#send({ places }), maxRuns, this.processes)
    return this.#places
  }

  /** The metrics of all processes. */
  metrics(own: () => Promise<string>): () => Promise<string> {
    this.#ownMetrics = own
    return () => {
      const { promise, resolve } = Promise.withResolvers<string>()
      this.#answers.set(++this.#asked, resolve)
      this.#send({ ask: this.#asked })
      return promise
    }
  }

  audit(fields: object): void {
    this.#send({ audit: fields })
  }

  /** A request was counted for a caller; the others hear of it soon. */
  spent(caller: string): void {
    if (this.#spent.size === 0) setTimeout(() => this.#tellSpent(), spendingMs).unref()
    this.#spent.set(caller, (this.#spent.get(caller) ?? 0) + 1)
  }

  onSpent(listener: (spent: Spent) => void): void {
    this.#spentElsewhere = listener
  }

  onDeath(listener: () => void): void {
    this.#otherDied = listener
  }

  listening(listening: Listening): void {
    this.#send({ listening })
  }

  /** The link alone keeps the process no longer. */
  leave(): void {
    process.channel?.unref()
  }

  #tellSpent(): void {
    const spent = [...this.#spent]
    this.#spent.clear()
    this.#send({ spent })
  }

  #hear(message: ToChild): void {
    if ("places" in message) this.#places?.hear(message.places)
    else if ("spent" in message) this.#spentElsewhere?.(message.spent)
    else if ("stop" in message) this.#stop.resolve(message.stop)
    else if ("up" in message) {
      this.#up = message.up
      if (message.died) this.#otherDied?.()
    } else if ("answer" in message) {
      this.#answers.get(message.answer)?.(message.text)
      this.#answers.delete(message.answer)
    } else void this.#ownMetrics?.().then((metrics) => this.#send({ metrics }))
  }

  #send(message: ToParent): void {
    // Without the parent this process ends at once.
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined)
  }
}
