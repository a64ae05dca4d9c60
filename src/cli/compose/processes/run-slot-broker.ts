import { Tally } from "../../../base/tally.ts"
import { OwnRunSlots, type RunSlotLimits } from "../../../run/run-slots.ts"
import type { RunSlotAnswer, RunSlotMessage } from "./messages.ts"

/** The places of all processes, in the parent: one set of limits, and one line of those that wait. */
export class RunSlotBroker {
  readonly #slots: OwnRunSlots
  #accounts = 0

  constructor(limits: RunSlotLimits) {
    this.#slots = new OwnRunSlots(limits)
  }

  /** For a process that has started. */
  open(answer: (answers: readonly RunSlotAnswer[]) => void): RunSlotAccount {
    return new RunSlotAccount(this.#slots, ++this.#accounts, answer)
  }
}

/** What one process has. */
export class RunSlotAccount {
  readonly #slots: OwnRunSlots
  readonly #number: number
  readonly #answer: (answers: readonly RunSlotAnswer[]) => void
  readonly #taken = new Tally()
  readonly #running = new Tally()
  readonly #waiting = new Set<string>()
  #answers: RunSlotAnswer[] = []
  #isHearing = false

  constructor(slots: OwnRunSlots, number: number, answer: (answers: readonly RunSlotAnswer[]) => void) {
    this.#slots = slots
    this.#number = number
    this.#answer = answer
  }

  hear(messages: readonly RunSlotMessage[]): void {
    this.#isHearing = true
    for (const message of messages) this.#hear(message)
    this.#fill()
    this.#isHearing = false
    this.#send()
  }

  /** The process is gone: what it had is free. */
  close(): void {
    for (const id of this.#waiting) this.#slots.unwait(id)
    for (const [tenant, count] of this.#running.entries()) for (let n = 0; n < count; n++) this.#slots.end(tenant)
    for (const [tenant, count] of this.#taken.entries()) for (let n = 0; n < count; n++) this.#slots.leave(tenant)
    this.#fill()
  }

  #hear(message: RunSlotMessage): void {
    switch (message[0]) {
      case "enter": {
        const [, question, tenant] = message
        const full = this.#slots.enter(tenant)
        if (full === null) this.#taken.add(tenant)
        this.#tell(["entered", question, full, full === null && this.#begin(tenant)])
        return
      }
      case "take up":
        this.#slots.takeUp(message[1])
        return this.#taken.add(message[1])
      case "leave":
        this.#slots.leave(message[1])
        return this.#taken.remove(message[1])
      case "begin":
        this.#slots.beginAnyway(message[1])
        return this.#running.add(message[1])
      case "end":
        this.#slots.end(message[1])
        return this.#running.remove(message[1])
      case "wait": {
        const [, run_id, tenant, woken] = message
        if (this.#begin(tenant)) this.#tell(["begin", run_id, tenant])
        else this.#wait(run_id, tenant, woken)
        return
      }
      case "unwait":
        this.#waiting.delete(this.#idOf(message[1]))
        this.#slots.unwait(this.#idOf(message[1]))
    }
  }

  #begin(tenant: string): boolean {
    const may = this.#slots.begin(tenant)
    if (may) this.#running.add(tenant)
    return may
  }

  #wait(run_id: string, tenant: string, woken: boolean): void {
    const id = this.#idOf(run_id)
    this.#waiting.add(id)
    this.#slots.wait(id, tenant, woken, () => {
      this.#waiting.delete(id)
      this.#running.add(tenant)
      this.#tell(["begin", run_id, tenant])
    })
  }

  /** Two processes may have the same run for a moment: one of them has lost its lease. */
  #idOf(run_id: string): string {
    return `${this.#number} ${run_id}`
  }

  /** Gives free places to waiting runs, in whichever process they are. */
  #fill(): void {
    while (this.#slots.next());
  }

  #tell(answer: RunSlotAnswer): void {
    this.#answers.push(answer)
    if (!this.#isHearing) this.#send()
  }

  #send(): void {
    if (this.#answers.length === 0) return
    const answers = this.#answers
    this.#answers = []
    this.#answer(answers)
  }
}
