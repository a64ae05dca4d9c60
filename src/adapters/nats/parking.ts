import type { Broker } from "./broker.ts"
import type { Cancels } from "./cancels.ts"
import { packFrame } from "./frame.ts"
import type { RunHead } from "./log-reader.ts"
import { cancelToken, isRunId, lastToken, tokenOf, tokenOfId } from "./names.ts"
import type { Outbox } from "./nats-outbox.ts"
import { endOf, isParked, type Slot, type Standing } from "./slot.ts"
import type { Stored } from "./transport.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Vault } from "../../ports/vault.ts"

/** How old the count of many runs may be: for an admission, and for metrics. */
const admissionMs = 1_000
export const countedMs = 10_000

/**
 * Runs that wait for people. The last slot of a parked run says so. Its entry in the list of open runs, which claims read, moves
 * to the list of parked runs. Every step can be done again: the process that finds one undone does it.
 *
 * No wake is lost, whichever process dies: the mark of an outcome is stored before the outcome, and is deleted after the log
 * shows the outcome. So a parked run with an outcome that its log does not show always has a mark, and claims find it by that.
 */
export class Parking {
  readonly #broker: Broker
  readonly #outbox: Outbox
  readonly #cancels: Cancels
  readonly #vault: Vault
  readonly #clock: Clock
  /** Claimed runs that may not be in the list of open runs. */
  readonly #unlisted = new Set<string>()
  /** Marks without news, by their subjects: the message, and when it was first seen. */
  readonly #doubted = new Map<string, { readonly seq: number; readonly at: number }>()

  constructor(broker: Broker, outbox: Outbox, cancels: Cancels, vault: Vault, clock: Clock) {
    this.#broker = broker
    this.#outbox = outbox
    this.#cancels = cancels
    this.#vault = vault
    this.#clock = clock
  }

  /** After the slot that parks the run is stored. Whether the run can be claimed at once. */
  async park(run_id: string, head: RunHead, tail: Slot): Promise<boolean> {
    const { names } = this.#broker
    const { caller, created_at } = head.facts
    await this.notify(run_id, head, tail)
    const open = names.open(created_at, run_id)
    const entry = await this.#broker.get("open", open, "sure")
    // Whoever has claimed the run since has made a new entry, which may be the one that was found. Read after it, so that the entry is from before all claims.
    const next = await this.#broker.getFromLeader("log", names.slot(run_id, tail.slot + 1))
    if (next !== null) return false
    if (entry !== null) {
      await this.#broker.put(names.parked(this.callerToken(caller), run_id), entry.data)
      // Exactly this one: by now the run may have been woken and claimed.
      await this.#broker.erase("open", open, entry.seq)
    }
    const { valid, stale } = await this.#marks(run_id, tail.facts)
    await this.unmark(run_id, stale)
    return valid.length > 0
  }

  /** Stores the notice that the run waits, unless it is there already. */
  async notify(run_id: string, head: RunHead, tail: Slot): Promise<void> {
    if (tail.facts.kind === "events") await this.#outbox.add(run_id, head, tail.facts.caused ?? null)
  }

  /** Whether something has come that the log does not show: an outcome, or a cancel. */
  async hasNews(run_id: string, { asking = [] }: Standing): Promise<boolean> {
    const { names } = this.#broker
    const subjects = new Set(await this.#broker.list("ask", names.newsOf(run_id)))
    return asking.some((id) => subjects.has(names.news(run_id, id))) || this.#cancels.isRequested(run_id)
  }

  /**
   * Before an outcome or a cancel is stored, and after it: from then on a parked run can be claimed. Harmless for one that is not parked. Always a
   * new message, which a claim that takes an older one away leaves.
   */
  async mark(run_id: string, token: string): Promise<void> {
    await this.#broker.put(this.#broker.names.woken(run_id, token), packFrame({}, []))
  }

  /** The log shows these outcomes. A run that is in no list but by its marks keeps them. */
  async unmark(run_id: string, tokens: readonly string[]): Promise<void> {
    if (this.#unlisted.has(run_id)) return
    await Promise.all(tokens.map((token) => this.#broker.erase("ask", this.#broker.names.woken(run_id, token))))
  }

  async isWoken(run_id: string, standing: Standing): Promise<boolean> {
    return (await this.#marks(run_id, standing)).valid.length > 0
  }

  /** Ids of runs that have marks: most of them are parked. */
  async woken(): Promise<string[]> {
    const subjects = await this.#broker.list("ask", this.#broker.names.anyWoken)
    const known = new Set(subjects)
    for (const subject of this.#doubted.keys()) if (!known.has(subject)) this.#doubted.delete(subject)
    return [...new Set(subjects.map((subject) => subject.split(".").at(-2) ?? ""))].filter(isRunId)
  }

  /** Removes the marks of a parked run without news: those that its log shows, and those whose news have not come for the length of a lease. */
  async sleepOn(run_id: string, { facts }: Slot, leaseMs: number): Promise<void> {
    const { valid, stale } = await this.#marks(run_id, facts)
    await this.unmark(run_id, stale)
    const old = (await Promise.all(valid.map((token) => this.#oldMark(run_id, token, leaseMs)))).filter(
      (one) => one !== null,
    )
    // Looked for after the marks were read: what comes from now on has a new mark.
    if (old.length === 0 || this.#unlisted.has(run_id) || (await this.hasNews(run_id, facts))) return
    await Promise.all(old.map(({ subject, seq }) => this.#broker.erase("ask", subject, seq)))
  }

  /** A mark that this process has seen for the length of a lease. */
  async #oldMark(run_id: string, token: string, leaseMs: number): Promise<Stored | null> {
    const subject = this.#broker.names.woken(run_id, token)
    const mark = await this.#broker.getFromLeader("ask", subject)
    if (mark === null) return null
    const now = this.#clock.monotonic()
    const doubted = this.#doubted.get(subject)
    if (doubted?.seq === mark.seq) return now - doubted.at >= leaseMs ? mark : null
    this.#doubted.set(subject, { seq: mark.seq, at: now })
    return null
  }

  /** The marks of a run, apart those of outcomes that its log shows. */
  async #marks(
    run_id: string,
    { asking = [] }: Standing,
  ): Promise<{ readonly valid: string[]; readonly stale: string[] }> {
    const tokens = (await this.#broker.list("ask", this.#broker.names.wokenOf(run_id))).map(lastToken)
    const expected = new Set([cancelToken, ...asking.map(tokenOfId)])
    return { valid: tokens.filter((one) => expected.has(one)), stale: tokens.filter((one) => !expected.has(one)) }
  }

  /** A woken run was claimed: it is an open run again. Until then its marks stay, and claims find it by them. */
  async unpark(run_id: string, head: RunHead): Promise<void> {
    const { names } = this.#broker
    const { caller, created_at } = head.facts
    this.#unlisted.add(run_id)
    const [open, parked] = [names.open(created_at, run_id), names.parked(this.callerToken(caller), run_id)]
    const entry = (await this.#broker.get("open", open, "sure")) ?? (await this.#broker.get("ask", parked, "sure"))
    if (entry !== null) {
      // A new message, so that the process that is still parking the run does not erase it.
      if (entry.subject === open) await this.#broker.erase("open", open, entry.seq)
      await this.#broker.putOnce(open, entry.data)
    }
    this.#unlisted.delete(run_id)
    await this.#broker.erase("ask", parked)
  }

  /** The entry of a run that has waited, with the secrets, while it is parked. */
  async entry(run_id: string, caller: string): Promise<{ readonly subject: string; readonly data: Uint8Array } | null> {
    return this.#broker.get("ask", this.#broker.names.parked(this.callerToken(caller), run_id), "sure")
  }

  /** The run has ended. */
  async forget(run_id: string, caller: string): Promise<void> {
    await this.#broker.erase("ask", this.#broker.names.parked(this.callerToken(caller), run_id))
    await this.forgetMarks(run_id)
  }

  async forgetMarks(run_id: string): Promise<void> {
    this.#unlisted.delete(run_id)
    const subjects = await this.#broker.list("ask", this.#broker.names.wokenOf(run_id))
    await Promise.all(subjects.map((subject) => this.#broker.erase("ask", subject)))
  }

  /** With many runs the count may be a moment old: every admission asks for it. */
  count(caller: string): Promise<number> {
    return this.#count(this.callerToken(caller), admissionMs)
  }

  countAll(): Promise<number> {
    return this.#count("*", countedMs)
  }

  async #count(caller: string, most_ms: number): Promise<number> {
    const [parked, woken] = await Promise.all([
      this.#broker.listRecent("ask", this.#broker.names.parked(caller, "*"), most_ms),
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
    return endOf(facts) === null && isParked(facts) && !(await this.isWoken(run_id, facts))
  }
}
