import { askedQuestion } from "../../log/asked-question.ts"
import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  isFor,
  questionPageBytes,
  questionsIn,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type PlacedQuestion,
  type QuestionPage,
  type QuestionStore,
  type StoredOutcome,
  type WaitingCounts,
} from "../../ports/question-store.ts"
import { Damaged, TooNew, type Lease } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { LogEvent, Question } from "../../log/events.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { isRunId, lastToken, tokenOf, tokenOfId } from "./names.ts"
import type { OutcomeNews } from "./outcome-news.ts"
import { countedMs, type Parking } from "./parking.ts"
import { aboutOutcome, endOf, isParked, openEvents, type Slot } from "./slot.ts"
import type { Stored } from "./transport.ts"

/** Where a question is: its content is in the log. It was asked only if that slot holds it. */
interface Entry {
  readonly id: string
  readonly run_id: string
  readonly slot: number
  /** Only the process with this lease asks the question: at a later slot, with a new entry, where storing the slot failed. */
  readonly fence: number
  readonly event_id: number
  readonly asked_at: number
  readonly expires_at: number
  /** Keyed hashes; `-` where the question has no addressee. */
  readonly caller: string
  readonly to: string
}

interface OutcomeFacts {
  readonly id: string
  readonly status: "answered" | "expired" | "withdrawn"
  readonly at: number
  /** Tells our own attempts from others'. */
  readonly nonce: string
}

/** A question that was asked. */
interface Asked {
  readonly entry: Entry
  readonly head: RunHead
  readonly question: Question
}

type Settled = { readonly facts: OutcomeFacts; readonly given: GivenAnswer | null }

const nobody = "-"
const hourMs = 3_600_000
/** How often to look for expiries in all hours, not only in this one and the one before. */
const wholeLookMs = 5 * 60_000
const together = 16
const mostExpired = 1_000
/** How old the list of many questions may be. What is shown of each is read anew. */
const inboxMs = 1_000

/**
 * Questions. What they ask is in the log; beside it are entries that find them by run, by who may answer, and by their expiry,
 * all stored before the slot that asks, so that nobody sees a question that cannot be answered. The outcome is a message that is
 * written once: the first writer decides.
 */
export class Questions implements QuestionStore {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #parking: Parking
  readonly #news: OutcomeNews
  readonly #vault: Vault
  readonly #clock: Clock
  #wholeLookAt = Number.NEGATIVE_INFINITY

  constructor(broker: Broker, reader: LogReader, parking: Parking, news: OutcomeNews, vault: Vault, clock: Clock) {
    this.#news = news
    this.#broker = broker
    this.#reader = reader
    this.#parking = parking
    this.#vault = vault
    this.#clock = clock
  }

  /** Before the slot that asks them is filled. */
  async announce({ run_id, fence }: Lease, slot: number, events: readonly LogEvent[]): Promise<void> {
    const { asked } = questionsIn(events)
    if (asked.length === 0) return
    const head = await this.#reader.head(run_id)
    if (head === null) return
    const caller = this.#parking.callerToken(head.facts.caller)
    const entries = asked.map(({ id: event_id, data: { id, to, asked_at, expires_at } }): Entry => {
      const times = { asked_at: Date.parse(asked_at), expires_at: Date.parse(expires_at) }
      return { id, run_id, slot, fence, event_id, ...times, caller, to: this.#addressee(to) }
    })
    const { names } = this.#broker
    await inTurns(entries, async (entry) => {
      // First: what finds the question without it is taken for a remnant. It may be due already, by the clock of another process.
      await this.#broker.put(names.question(run_id, entry.id), packFrame(entry, []))
      await Promise.all([
        this.#broker.put(inboxSubject(this.#broker, "open", entry), packFrame({}, [])),
        this.#broker.put(dueSubject(this.#broker, entry), packFrame({}, [])),
      ])
    })
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    if (!isRunId(run_id)) return { found: [], next: null }
    const [subjects, tail] = await Promise.all([
      this.#broker.list("ask", this.#broker.names.questionsOf(run_id)),
      this.#reader.tail(run_id),
    ])
    if (tail === null) return { found: [], next: null }
    const entries = new Map<string, Entry>()
    for (const entry of await inTurns(subjects, (subject) => this.#entryAt(subject))) {
      if (entry === null) continue
      const position = padded(entry.event_id)
      // A process that has lost the run leaves an entry with an earlier slot.
      if (entry.slot >= (entries.get(position)?.slot ?? 0)) entries.set(position, entry)
    }
    return this.#page([...entries.keys()], limit, after, async (position, slots) => {
      const entry = entries.get(position)
      const asked = entry === undefined ? null : await this.#asked(entry, slots)
      return asked === null ? null : this.#view(asked, tail)
    })
  }

  /** Reads the questions at these positions in their order, until the page is full. */
  async #page(
    positions: readonly string[],
    limit: number,
    after: string | null,
    read: (position: string, slots: OpenedSlots) => Promise<Question | null>,
  ): Promise<QuestionPage> {
    const order = positions.toSorted().filter((position) => after === null || position > after)
    const slots = new OpenedSlots()
    const found: PlacedQuestion[] = []
    let bytes = 0
    for (let at = 0; at < order.length; at += together) {
      const some = order.slice(at, at + together)
      const questions = await Promise.all(some.map((position) => read(position, slots)))
      for (const [index, position] of some.entries()) {
        const question = questions[index] ?? null
        if (question === null) continue
        bytes += memoryOf(question)
        const isFull = found.length >= limit || (found.length > 0 && bytes > questionPageBytes)
        if (isFull) return { found, next: found.at(-1)?.position ?? null }
        found.push({ question, position })
      }
    }
    return { found, next: null }
  }

  one(run_id: string, id: string): Promise<Question | null> {
    return isRunId(run_id) ? this.#oneAt(this.#broker.names.question(run_id, id)) : Promise.resolve(null)
  }

  async #oneAt(subject: string): Promise<Question | null> {
    const asked = await this.#askedAt(subject)
    const tail = asked === null ? null : await this.#reader.tail(asked.entry.run_id)
    return asked === null || tail === null ? null : this.#view(asked, tail)
  }

  /** Outcomes that the log does not show. */
  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    const tail = await this.#reader.tail(run_id)
    if (tail === null || endOf(tail.facts) !== null) return []
    const { asking = [] } = tail.facts
    const news = new Set(await this.#broker.list("ask", this.#broker.names.newsOf(run_id)))
    const ids = asking.filter((id) => news.has(this.#broker.names.news(run_id, id)))
    const head = ids.length === 0 ? null : await this.#reader.head(run_id)
    if (head === null) return []
    const found = await inTurns(ids, (id) => this.#outcome({ run_id, id }, head))
    return found.flatMap((settled) => {
      if (settled === null) return []
      const { id, status } = settled.facts
      return [settled.given === null ? { id, status } : { id, status, ...settled.given }]
    })
  }

  /** The open ones: how many, and when the oldest was asked. */
  waiting(caller: string): Promise<number> {
    return this.#parking.count(caller)
  }

  async waitingCounts(): Promise<WaitingCounts> {
    const [runs, open] = await Promise.all([this.#parking.countAll(), this.#openOnes()])
    return { runs, ...open }
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#news.on(listener)
  }

  async #openOnes(): Promise<Omit<WaitingCounts, "runs">> {
    const subjects = await this.#broker.listRecent("ask", this.#broker.names.inbox("open", "*", "*"), countedMs)
    // in.PLACE.CALLER.TO.ASKED.RUN.EVENT.ID
    const oldest = subjects.reduce((first, subject) => Math.min(first, Number(subject.split(".").at(-4))), Infinity)
    return { questions: subjects.length, oldest_asked_at: subjects.length === 0 ? null : oldest }
  }

  /** Whether some of these questions have outcomes. */
  async haveOutcomes(run_id: string, asking: readonly string[]): Promise<boolean> {
    const news = new Set(await this.#broker.list("ask", this.#broker.names.newsOf(run_id)))
    return asking.some((id) => news.has(this.#broker.names.news(run_id, id)))
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    const { caller, groups, member_of, status, to, limit, after } = query
    const own = this.#parking.callerToken(caller)
    const filters: { readonly caller: string; readonly to: string }[] = []
    if (to === null) {
      filters.push({ caller: own, to: "*" })
      for (const group of member_of) filters.push({ caller: "*", to: this.#addressee(group) })
    } else if (!groups.includes(to)) filters.push({ caller: own, to: this.#addressee(to) })
    else if (member_of.includes(to)) filters.push({ caller: "*", to: this.#addressee(to) })
    // Questions whose expiry is not stored yet are among the open ones.
    const places = status === "open" ? ["open"] : status === "expired" ? ["open", "done"] : ["done"]
    const lists = await Promise.all(
      places.flatMap((place) =>
        filters.map(({ caller: asker, to: addressee }) =>
          this.#broker.listRecent("ask", this.#broker.names.inbox(place, asker, addressee), inboxMs),
        ),
      ),
    )
    const groupTokens = new Set(groups.map((group) => this.#addressee(group)))
    const memberTokens = new Set(member_of.map((group) => this.#addressee(group)))
    const found = new Map<string, { readonly run_id: string; readonly token: string }>()
    for (const subject of lists.flat()) {
      // in.PLACE.CALLER.TO.ASKED.RUN.EVENT.ID
      const [asker = "", addressee = "", asked = "", run_id = "", event = "", token = ""] = subject.split(".").slice(-6)
      const theirs = groupTokens.has(addressee) ? memberTokens.has(addressee) : asker === own
      if (theirs) found.set(`${asked}.${run_id}.${event}`, { run_id, token })
    }
    return this.#page([...found.keys()], limit, after, async (position, slots) => {
      const { run_id = "", token = "" } = found.get(position) ?? {}
      const question = await this.#inInbox(this.#broker.names.questionByToken(run_id, token), query, slots)
      return question?.status === status ? question : null
    })
  }

  // ------------------------------------------------------------------------------------------------------- outcomes

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    const asked = isRunId(run_id) ? await this.#askedAt(this.#broker.names.question(run_id, id)) : null
    if (asked === null) return null
    const { entry, head, question } = asked
    const mine = await this.#settle(asked, this.#clock.now() < entry.expires_at ? given : null)
    const settled = await this.#outcome(entry, head)
    return { stored: mine && settled?.facts.status === "answered", question: withOutcome(question, settled) }
  }

  /** Stores the outcome: the answer, or without one the expiry. False when there is one already. */
  async #settle({ entry, head }: Asked, given: GivenAnswer | null): Promise<boolean> {
    const { run_id } = entry
    const tail = await this.#reader.tail(run_id)
    if (tail === null) return false
    if (endOf(tail.facts) !== null) {
      await this.#store(entry, head, "withdrawn", null)
      await this.#refile(entry)
      return false
    }
    // Before the outcome: should this process die after it, the run is found by the mark. Died before it: a claim removes the mark.
    const isNew = tail.facts.asking?.includes(entry.id) === true
    if (isNew) await this.#parking.mark(run_id, tokenOfId(entry.id))
    const mine = await this.#store(entry, head, given === null ? "expired" : "answered", given)
    if (isNew) await this.#markAgain(entry)
    await this.#refile(entry)
    return mine
  }

  /** A claim removes a mark without an outcome after a while, and storing this one may have taken longer. */
  async #markAgain({ run_id, id }: Entry): Promise<void> {
    const tail = await this.#reader.tail(run_id)
    if (tail !== null && isParked(tail.facts) && tail.facts.asking?.includes(id) === true) {
      await this.#parking.mark(run_id, tokenOfId(id))
    }
  }

  async #store(
    entry: Entry,
    head: RunHead,
    status: OutcomeFacts["status"],
    given: GivenAnswer | null,
  ): Promise<boolean> {
    const { run_id, id } = entry
    const nonce = this.#broker.token(9)
    const facts: OutcomeFacts = { id, status, at: this.#clock.now(), nonce }
    const parts = given === null ? [] : [head.key().seal(aboutOutcome(id), JSON.stringify(given))]
    const subject = this.#broker.names.news(run_id, id)
    const seq = await this.#broker.putOnce(subject, packFrame(facts, parts))
    return seq !== null || (await this.#outcome(entry, head))?.facts.nonce === nonce
  }

  /** From the open ones to the others. */
  async #refile(entry: Entry): Promise<void> {
    await this.#broker.put(inboxSubject(this.#broker, "done", entry), packFrame({}, []))
    await Promise.all([
      this.#broker.erase("ask", inboxSubject(this.#broker, "open", entry)),
      this.#broker.erase("ask", dueSubject(this.#broker, entry)),
    ])
  }

  async expire(): Promise<number> {
    const now = this.#clock.now()
    const whole = now - this.#wholeLookAt >= wholeLookMs || now < this.#wholeLookAt
    const hour = Math.floor(now / hourMs)
    const hours = whole ? ["*"] : [String(hour), String(hour - 1)]
    const lists = await Promise.all(hours.map((one) => this.#broker.list("ask", this.#broker.names.dueIn(one))))
    if (whole) this.#wholeLookAt = now
    const due = lists
      .flat()
      .filter((subject) => Number(subject.split(".").at(-3)) <= now)
      .slice(0, mostExpired)
    const expired = await inTurns(due, (subject) => this.#expireOne(subject).catch(unlessUnreadable))
    return expired.filter(Boolean).length
  }

  /**
   * Stores the expiry of a question, or removes what is left of one that nobody will ask. The process that asks it may still be
   * storing the slot: its clock may be behind ours, and the broker slow. It stops trying when its lease or its run is over. Only an
   * entry that is read after that is the last one: each attempt to ask replaces it.
   */
  async #expireOne(subject: string): Promise<boolean> {
    const run_id = subject.split(".").at(-2) ?? ""
    const place = this.#broker.names.questionByToken(run_id, lastToken(subject))
    const asked = await this.#askedAt(place)
    if (asked !== null) return this.#settle(asked, null)
    const tail = await this.#reader.tail(run_id)
    const entry = await this.#latestEntryAt(place)
    if (entry !== null) {
      if (tail !== null && endOf(tail.facts) === null && tail.facts.fence <= entry.fence) return false
      if ((await this.#askedBy(entry)) !== null) return false
      await this.#erase(entry)
    }
    await this.#broker.erase("ask", subject)
    return false
  }

  /** The run has ended: what is open expired before, or is withdrawn. */
  async withdraw(run_id: string, asking: readonly string[]): Promise<void> {
    const head = await this.#reader.head(run_id)
    if (head === null) return
    await inTurns(asking, async (id) => {
      const entry = await this.#entry(run_id, id)
      if (entry === null) return
      const late = entry.expires_at <= this.#clock.now()
      await this.#store(entry, head, late ? "expired" : "withdrawn", null)
      await this.#refile(entry)
    })
  }

  /** Retention deletes the run. */
  async forget(run_id: string): Promise<void> {
    const { names } = this.#broker
    const subjects = await this.#broker.list("ask", names.questionsOf(run_id))
    await inTurns(subjects, async (subject) => {
      const entry = await this.#entryAt(subject)
      if (entry !== null) await this.#erase(entry)
    })
    const news = await this.#broker.list("ask", names.newsOf(run_id))
    await inTurns(news, (subject) => this.#broker.erase("ask", subject))
  }

  async #erase(entry: Entry): Promise<void> {
    await Promise.all([
      this.#broker.erase("ask", inboxSubject(this.#broker, "open", entry)),
      this.#broker.erase("ask", inboxSubject(this.#broker, "done", entry)),
      this.#broker.erase("ask", dueSubject(this.#broker, entry)),
    ])
    await this.#broker.erase("ask", this.#broker.names.question(entry.run_id, entry.id))
  }

  // ------------------------------------------------------------------------------------------------------- messages

  #entry(run_id: string, id: string): Promise<Entry | null> {
    return isRunId(run_id) ? this.#entryAt(this.#broker.names.question(run_id, id)) : Promise.resolve(null)
  }

  async #entryAt(subject: string): Promise<Entry | null> {
    return entryIn(await this.#broker.get("ask", subject, "sure"))
  }

  async #latestEntryAt(subject: string): Promise<Entry | null> {
    return entryIn(await this.#broker.getFromLeader("ask", subject))
  }

  /** Null where it was put into this inbox in the broker: the run's request and the log say whose it is. */
  async #inInbox(subject: string, query: InboxQuery, slots: OpenedSlots): Promise<Question | null> {
    try {
      const asked = await this.#askedAt(subject, slots)
      const tail = asked === null ? null : await this.#reader.tail(asked.entry.run_id)
      if (asked === null || tail === null) return null
      return isFor(query, asked.head.facts.caller, asked.question.to) ? await this.#view(asked, tail) : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  async #view({ entry, head, question }: Asked, tail: Slot): Promise<Question> {
    const settled = await this.#outcome(entry, head)
    if (settled !== null) return withOutcome(question, settled)
    if (entry.expires_at <= this.#clock.now()) return { ...question, status: "expired" }
    return endOf(tail.facts) === null ? question : { ...question, status: "withdrawn" }
  }

  /** The question at a subject; null where it was not asked. */
  async #askedAt(subject: string, slots = new OpenedSlots()): Promise<Asked | null> {
    const entry = await this.#entryAt(subject)
    return entry === null ? null : this.#asked(entry, slots)
  }

  async #asked(near: Entry, slots: OpenedSlots): Promise<Asked | null> {
    const asked = await this.#askedBy(near, slots)
    if (asked !== null) return asked
    // The nearest node may be behind, with the entry of an attempt that failed.
    const entry = await this.#latestEntryAt(this.#broker.names.question(near.run_id, near.id))
    return entry === null || entry.slot === near.slot ? null : this.#askedBy(entry, slots)
  }

  /** The question as the slot has it that its entry names. */
  async #askedBy(entry: Entry, slots = new OpenedSlots()): Promise<Asked | null> {
    const { run_id, slot: number } = entry
    const head = await this.#reader.head(run_id)
    if (head === null) return null
    const events = await slots.get(`${run_id} ${number}`, async () => {
      const slot = await this.#reader.slot(run_id, number, "sure", 1)
      if (slot === null) return []
      const turn = loopTurns.forLarge(slot.parts[0]?.length ?? 0)
      if (turn !== null) await turn
      return openEvents(head.key, slot, false)
    })
    for (const event of events) {
      if (event.type === "question_asked" && event.data.id === entry.id) {
        return { entry, head, question: { ...askedQuestion(event.data), status: "open" } }
      }
    }
    return null
  }

  async #outcome({ run_id, id }: Pick<Entry, "run_id" | "id">, { key }: RunHead): Promise<Settled | null> {
    const stored = await this.#broker.get("ask", this.#broker.names.news(run_id, id), "sure")
    if (stored === null) return null
    const { facts, parts } = unpackFrame<OutcomeFacts>(stored.subject, stored.data)
    const [sealed] = parts
    return {
      facts,
      given: sealed === undefined ? null : (JSON.parse(key().open(aboutOutcome(id), sealed)) as GivenAnswer),
    }
  }

  #addressee(to: string | null): string {
    return to === null ? nobody : tokenOf(this.#vault.digest("addressee of questions", [to]))
  }
}

/** The slots that were opened last: questions that were asked together are in one. */
class OpenedSlots {
  readonly #opened = new Map<string, Promise<readonly LogEvent[]>>()

  get(name: string, open: () => Promise<readonly LogEvent[]>): Promise<readonly LogEvent[]> {
    const known = this.#opened.get(name)
    if (known !== undefined) return known
    const opening = open()
    this.#opened.set(name, opening)
    const [oldest] = this.#opened.keys()
    if (this.#opened.size > together && oldest !== undefined) this.#opened.delete(oldest)
    return opening
  }
}

/** A run that cannot be read, or not by this release, does not block other runs. */
function unlessUnreadable(error: unknown): false {
  if (error instanceof Damaged || error instanceof TooNew) return false
  throw error
}

function entryIn(stored: Stored | null): Entry | null {
  return stored === null ? null : unpackFrame<Entry>(stored.subject, stored.data).facts
}

function withOutcome(question: Question, settled: Settled | null): Question {
  if (settled === null) return question
  const { facts, given } = settled
  if (given === null) return { ...question, status: facts.status }
  return { ...question, ...given, status: facts.status, answered_at: isoTime(facts.at) }
}

const padded = (value: number): string => String(value).padStart(15, "0")

function inboxSubject({ names }: Broker, place: string, entry: Entry): string {
  const { caller, to, asked_at, run_id, event_id, id } = entry
  return names.inboxEntry(place, [caller, to, padded(asked_at), run_id, padded(event_id), tokenOfId(id)])
}

function dueSubject({ names }: Broker, { expires_at, run_id, id }: Entry): string {
  return names.dueEntry([String(Math.floor(expires_at / hourMs)), padded(expires_at), run_id, tokenOfId(id)])
}

/** Some at a time, in order. */
async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += together) {
    results.push(...(await Promise.all(items.slice(at, at + together).map(work))))
  }
  return results
}
