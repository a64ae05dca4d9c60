import type { Broker } from "./broker.ts"
import type { Cancels } from "./cancels.ts"
import { packFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { isRunId, lastToken, tokenOf } from "./names.ts"
import type { Outbox } from "./outbox.ts"
import { endOf, isParked, type Slot, type Standing } from "./slot.ts"
import type { Vault } from "../../ports/vault.ts"

const manyRuns = 200
const countedMs = 1_000

/**
 * Runs that wait for people. The last slot of a parked run says so. Its entry in the list of open runs, which claims read, moves
 * to the list of parked runs; a mark among the news wakes it. Every step can be done again: who finds one that was left undone
 * does it.
 *
 * No wake is lost: whoever parks a run looks for news after the slot is stored, whoever stores news looks at the last slot after
 * that, and both ask the leader.
 */
export class Parking {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #outbox: Outbox
  readonly #cancels: Cancels
  readonly #vault: Vault
  readonly #counts = new Map<string, { readonly count: number; readonly at: number }>()

  constructor(broker: Broker, reader: LogReader, outbox: Outbox, cancels: Cancels, vault: Vault) {
    this.#broker = broker
    this.#reader = reader
    this.#outbox = outbox
    this.#cancels = cancels
    this.#vault = vault
  }

  /** After the slot that parks the run is stored. */
  async park(run_id: string, head: RunHead, tail: Slot): Promise<void> {
    const { names } = this.#broker
    const { caller, created_at } = head.facts
    if (tail.facts.kind === "events") await this.#outbox.add(run_id, head, tail.facts.caused ?? null)
    const open = names.open(created_at, run_id)
    const entry = await this.#broker.get("open", open, "sure")
    if (entry !== null) {
      await this.#broker.put(names.parked(this.callerToken(caller), run_id), entry.data)
      // Exactly this one: by now the run may have been woken and claimed.
      await this.#broker.erase("open", open, entry.seq)
    }
    // A mark of an earlier wake may be left. Whoever wakes the run now puts theirs again after the news.
    await this.sleepOn(run_id, tail)
  }

  /** Whether something has come that the log does not show: an outcome, or a cancel. */
  async hasNews(run_id: string, { asking = [] }: Standing): Promise<boolean> {
    const { names } = this.#broker
    const subjects = new Set(await this.#broker.list("ask", names.newsOf(run_id)))
    return asking.some((id) => subjects.has(names.news(run_id, id))) || this.#cancels.isRequested(run_id)
  }

  /** A parked run can be claimed from now on. Harmless for one that is not parked. */
  async wake(run_id: string): Promise<void> {
    await this.#broker.putOnce(this.#broker.names.woken(run_id), packFrame({}, []))
  }

  /** Wakes the run if it is parked. Called after news of it were stored, whoever was faster. */
  async wakeParked(run_id: string): Promise<void> {
    const tail = await this.#reader.tail(run_id)
    if (tail !== null && isParked(tail.facts)) await this.wake(run_id)
  }

  async isWoken(run_id: string): Promise<boolean> {
    return (await this.#broker.get("ask", this.#broker.names.woken(run_id), "sure")) !== null
  }

  /** Ids of runs that were woken and not claimed. */
  async woken(): Promise<string[]> {
    const subjects = await this.#broker.list("ask", this.#broker.names.anyWoken)
    return subjects.map((subject) => subject.split(".").at(-2) ?? "").filter(isRunId)
  }

  /** Removes the mark that wakes the run, unless there are news: what was to wake it may never have come. */
  async sleepOn(run_id: string, tail: Slot): Promise<void> {
    await this.#broker.erase("ask", this.#broker.names.woken(run_id))
    if (await this.hasNews(run_id, tail.facts)) await this.wake(run_id)
  }

  /** A woken run was claimed: it is an open run again. The mark goes last, so that a crash leaves the run where it is found. */
  async unpark(run_id: string, head: RunHead): Promise<void> {
    const { names } = this.#broker
    const { caller, created_at } = head.facts
    const [open, parked] = [names.open(created_at, run_id), names.parked(this.callerToken(caller), run_id)]
    const entry = (await this.#broker.get("open", open, "sure")) ?? (await this.#broker.get("ask", parked, "sure"))
    if (entry !== null) {
      // A new message, so that the process that is still parking the run does not erase it.
      if (entry.subject === open) await this.#broker.erase("open", open, entry.seq)
      await this.#broker.putOnce(open, entry.data)
    }
    await this.#broker.erase("ask", parked)
    await this.#broker.erase("ask", names.woken(run_id))
  }

  /** Of a run that has waited: its entry, with the secrets, while it is parked. */
  async entry(run_id: string, caller: string): Promise<{ readonly subject: string; readonly data: Uint8Array } | null> {
    return this.#broker.get("ask", this.#broker.names.parked(this.callerToken(caller), run_id), "sure")
  }

  /** The run has ended. */
  async forget(run_id: string, caller: string): Promise<void> {
    await this.#broker.erase("ask", this.#broker.names.parked(this.callerToken(caller), run_id))
    await this.#broker.erase("ask", this.#broker.names.woken(run_id))
  }

  /** Of many runs the count may be a moment old: every admission asks for it, and counting lists them all. */
  async count(caller: string): Promise<number> {
    const token = this.callerToken(caller)
    const known = this.#counts.get(token)
    if (known !== undefined && known.count >= manyRuns && performance.now() - known.at < countedMs) return known.count
    const count = await this.#count(token)
    if (count >= manyRuns) this.#counts.set(token, { count, at: performance.now() })
    else this.#counts.delete(token)
    return count
  }

  countAll(): Promise<number> {
    return this.#count("*")
  }

  async #count(caller: string): Promise<number> {
    const [parked, woken] = await Promise.all([
      this.#broker.list("ask", this.#broker.names.parked(caller, "*")),
      this.woken(),
    ])
    const awake = new Set(woken)
    return parked.filter((subject) => !awake.has(lastToken(subject))).length
  }

  callerToken(caller: string): string {
    return tokenOf(this.#vault.digest("caller of questions", [caller]))
  }

  /** Whether a parked run that is not over waits for news. */
  async isWaiting(run_id: string, { facts }: Slot): Promise<boolean> {
    return endOf(facts) === null && isParked(facts) && !(await this.isWoken(run_id))
  }
}
