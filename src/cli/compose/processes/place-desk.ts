import { Tally } from "../../../base/tally.ts"
import { OwnPlaces, type PlaceLimits } from "../../../run/places.ts"
import type { PlaceAnswer, PlaceMessage } from "./messages.ts"

/** The places of all processes, in the parent: one set of limits, and one line of those that wait. */
export class PlaceDesk {
  readonly #places: OwnPlaces
  #accounts = 0

  constructor(limits: PlaceLimits) {
    this.#places = new OwnPlaces(limits)
  }

  /** For a process that has started. */
  open(answer: (answers: readonly PlaceAnswer[]) => void): PlaceAccount {
    return new PlaceAccount(this.#places, ++this.#accounts, answer)
  }
}

/** What one process has. */
export class PlaceAccount {
  readonly #places: OwnPlaces
  readonly #number: number
  readonly #answer: (answers: readonly PlaceAnswer[]) => void
  readonly #taken = new Tally()
  readonly #running = new Tally()
  readonly #waiting = new Set<string>()
  #answers: PlaceAnswer[] = []
  #isHearing = false

  constructor(places: OwnPlaces, number: number, answer: (answers: readonly PlaceAnswer[]) => void) {
    this.#places = places
    this.#number = number
    this.#answer = answer
  }

  hear(messages: readonly PlaceMessage[]): void {
    this.#isHearing = true
    for (const message of messages) this.#hear(message)
    this.#fill()
    this.#isHearing = false
    this.#send()
  }

  /** The process is gone: what it had is free. */
  close(): void {
    for (const id of this.#waiting) this.#places.unwait(id)
    for (const [share, count] of this.#running.entries()) for (let n = 0; n < count; n++) this.#places.end(share)
    for (const [share, count] of this.#taken.entries()) for (let n = 0; n < count; n++) this.#places.leave(share)
    this.#fill()
  }

  #hear(message: PlaceMessage): void {
    switch (message[0]) {
      case "enter": {
        const [, question, share] = message
        const full = this.#places.enter(share)
        if (full === null) this.#taken.add(share)
        this.#tell(["entered", question, full, full === null && this.#begin(share)])
        return
      }
      case "take up":
        this.#places.takeUp(message[1])
        return this.#taken.add(message[1])
      case "leave":
        this.#places.leave(message[1])
        return this.#taken.remove(message[1])
      case "begin":
        this.#places.beginAnyway(message[1])
        return this.#running.add(message[1])
      case "end":
        this.#places.end(message[1])
        return this.#running.remove(message[1])
      case "wait": {
        const [, run_id, share, woken] = message
        if (this.#begin(share)) this.#tell(["begin", run_id, share])
        else this.#wait(run_id, share, woken)
        return
      }
      case "unwait":
        this.#waiting.delete(this.#idOf(message[1]))
        this.#places.unwait(this.#idOf(message[1]))
    }
  }

  #begin(share: string): boolean {
    const may = this.#places.begin(share)
    if (may) this.#running.add(share)
    return may
  }

  #wait(run_id: string, share: string, woken: boolean): void {
    const id = this.#idOf(run_id)
    this.#waiting.add(id)
    this.#places.wait(id, share, woken, () => {
      this.#waiting.delete(id)
      this.#running.add(share)
      this.#tell(["begin", run_id, share])
    })
  }

  /** Two processes may have the same run for a moment: one of them has lost its lease. */
  #idOf(run_id: string): string {
    return `${this.#number} ${run_id}`
  }

  /** Those that wait get the places that are free, in whichever process they are. */
  #fill(): void {
    while (this.#places.next());
  }

  #tell(answer: PlaceAnswer): void {
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
