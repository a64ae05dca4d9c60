import { Tally } from "../../../base/tally.ts"
import type { Full, RunSlots } from "../../../run/run-slots.ts"
import type { RunSlotAnswer, RunSlotMessage } from "./messages.ts"

interface Waiting {
  readonly tenant: string
  readonly begin: () => void
}

/** Places that the parent gives, which counts those of all processes. A new run asks once, and mostly may begin with the answer. */
export class SharedRunSlots implements RunSlots {
  readonly #send: (messages: readonly RunSlotMessage[]) => void
  /** How many runs this process takes up from others at a time, so that each process gets its part. */
  readonly #part: number
  readonly #questions = new Map<number, (answer: { readonly full: Full | null; readonly mayBegin: boolean }) => void>()
  readonly #waiting = new Map<string, Waiting>()
  /** By share: runs that entered and may begin, and have not yet. */
  readonly #mayBegin = new Tally()
  #asked = 0
  #active = 0
  #messages: RunSlotMessage[] = []

  constructor(send: (messages: readonly RunSlotMessage[]) => void, maxRuns: number, processes: number) {
    this.#send = send
    this.#part = Math.ceil(maxRuns / processes)
  }

  hear(answers: readonly RunSlotAnswer[]): void {
    for (const answer of answers) {
      if (answer[0] === "entered") {
        const [, question, full, mayBegin] = answer
        this.#questions.get(question)?.({ full, mayBegin })
        this.#questions.delete(question)
      } else this.#turnCame(answer[1], answer[2])
    }
  }

  /** Only the parent knows. */
  whyFull(): null {
    return null
  }

  async enter(tenant: string): Promise<Full | null> {
    const { promise, resolve } = Promise.withResolvers<{ full: Full | null; mayBegin: boolean }>()
    this.#questions.set(++this.#asked, resolve)
    this.#tell(["enter", this.#asked, tenant])
    const { full, mayBegin } = await promise
    if (mayBegin) this.#mayBegin.add(tenant)
    return full
  }

  abandon(tenant: string): void {
    if (this.#mayBegin.of(tenant) > 0) {
      this.#mayBegin.remove(tenant)
      this.#tell(["end", tenant])
    }
    this.leave(tenant)
  }

  takeUp(tenant: string): void {
    this.#tell(["take up", tenant])
  }

  leave(tenant: string): void {
    this.#tell(["leave", tenant])
  }

  begin(tenant: string): boolean {
    if (this.#mayBegin.of(tenant) === 0) return false
    this.#mayBegin.remove(tenant)
    this.#active++
    return true
  }

  beginAnyway(tenant: string): void {
    this.#active++
    this.#tell(["begin", tenant])
  }

  end(tenant: string): void {
    this.#active--
    this.#tell(["end", tenant])
  }

  wait(run_id: string, tenant: string, woken: boolean, begin: () => void): void {
    this.#waiting.set(run_id, { tenant, begin })
    this.#tell(["wait", run_id, tenant, woken])
  }

  unwait(run_id: string): void {
    if (this.#waiting.delete(run_id)) this.#tell(["unwait", run_id])
  }

  /** The parent has the line. */
  next(): boolean {
    return false
  }

  free(): number {
    return this.#part - this.#active
  }

  #turnCame(run_id: string, tenant: string): void {
    const waiting = this.#waiting.get(run_id)
    this.#waiting.delete(run_id)
    if (waiting === undefined) {
      // It stopped waiting while its turn was on the way.
      this.#tell(["end", tenant])
      return
    }
    this.#active++
    waiting.begin()
  }

  #tell(message: RunSlotMessage): void {
    // What one turn of the event loop has to say is one message.
    if (this.#messages.push(message) > 1) return
    setImmediate(() => {
      const messages = this.#messages
      this.#messages = []
      this.#send(messages)
    })
  }
}
