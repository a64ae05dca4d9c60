import { isoTime } from "../../base/iso-time.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { askedQuestion } from "../../log/asked-question.ts"
import type { AskedQuestion, LogEvent, Question, QuestionStatus } from "../../log/events.ts"
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
import { Damaged } from "../../ports/store.ts"
import type { DataKey, Vault } from "../../ports/vault.ts"
import { sealQuestion } from "../../store/sealed-questions.ts"
import type { Announcements } from "./announcements.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import { hourOf, isRunId, lastToken, padded, questionAt, tokenOf, tokenOfId, type QuestionEntry } from "./names.ts"
import { inTurns, together, type Row, type Rows } from "./rows.ts"
import { woken, type RunFacts, type RunRows, type StoredRun } from "./run-rows.ts"
import type { Write } from "./transport.ts"

/** How old a list of many questions or runs may be: in the inbox, for an admission, and for metrics. What is shown of a question is read anew. */
const recentMs = 1_000
const countedMs = 10_000
/** How often all open questions are looked at, and not those of this hour and the one before. */
const allHoursMs = 600_000
/** How many expiries of one run are stored in one step. */
const expiredTogether = 200

/** What a run waits for. The question itself is sealed beside these facts. Written once. */
interface WaitFacts extends QuestionEntry {
  readonly kind: "question"
}

/** What has come of it. Written once: the first writer decides. */
interface OutcomeFacts {
  readonly id: string
  readonly status: Exclude<QuestionStatus, "open">
  readonly at: number
  /** Tells our own attempts to settle it from others'. */
  readonly nonce: string
}

type Wait = Row<WaitFacts>
type Outcome = Row<OutcomeFacts>

export class NatsQuestions implements QuestionStore {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #news: Announcements
  readonly #vault: Vault
  readonly #clock: Clock
  #sawAllAt = Number.NEGATIVE_INFINITY

  constructor(parts: {
    readonly broker: Broker
    readonly rows: Rows
    readonly runs: RunRows
    readonly news: Announcements
    readonly vault: Vault
    readonly clock: Clock
  }) {
    this.#broker = parts.broker
    this.#rows = parts.rows
    this.#runs = parts.runs
    this.#news = parts.news
    this.#vault = parts.vault
    this.#clock = parts.clock
  }

  // --------------------------------------------------------------------------------------- with what runs append

  /** What to write with an append whose events ask questions. */
  asked({ run_id, facts: { caller } }: StoredRun, key: DataKey, events: readonly LogEvent[]): Write[] {
    const { asked } = questionsIn(events)
    return asked.flatMap(({ id: event_id, data }) => {
      const wait: WaitFacts = {
        kind: "question",
        run_id,
        id: data.id,
        event_id,
        caller: this.#caller(caller),
        to: this.#addressee(data.to),
        asked_at: Date.parse(data.asked_at),
        expires_at: Date.parse(data.expires_at),
      }
      const subject = this.#broker.names.wait(run_id, tokenOfId(data.id))
      return [
        ...this.#rows.pack(run_id, subject, wait, [sealQuestion(key, askedQuestion(data))], { expected: 0 }),
        { subject: this.#broker.names.asked(wait), data: packFrame({}, []) },
      ]
    })
  }

  parkedSubject(run_id: string, { caller, fence }: RunFacts): string {
    return this.#broker.names.parked(this.#caller(caller), run_id, fence)
  }

  /** The run has ended: what is open is no longer in the list of open questions. */
  async withdraw(run_id: string): Promise<void> {
    const subjects = await this.#broker.list("rows", this.#broker.names.askedBy(run_id))
    await inTurns(subjects, async (subject) => {
      const wait = await this.#wait(run_id, questionAt(subject).token)
      if (wait !== null) await this.#broker.put(this.#broker.names.settled(wait.facts), packFrame({}, []))
      await this.#rows.remove(subject)
    })
  }

  /** Retention deletes the run. */
  async forget(run_id: string): Promise<void> {
    const { names } = this.#broker
    for (const subject of await this.#broker.list("rows", names.waitsOf(run_id))) {
      const wait = await this.#rows.read<WaitFacts>(subject)
      if (wait !== null) await this.#rows.remove(names.asked(wait.facts), names.settled(wait.facts), subject)
    }
    await this.#rows.removeAll(names.outcomesOf(run_id))
  }

  /** Removes entries of runs that have been woken or have ended: the process that was to do it died. `live`: runs that are open or wait. */
  async tidy(isOver: (run_id: string) => Promise<boolean>): Promise<void> {
    const asked = await this.#broker.list("rows", this.#broker.names.anyAsked)
    for (const run_id of new Set(asked.map((subject) => questionAt(subject).run_id))) {
      if (await isOver(run_id)) await this.withdraw(run_id)
    }
    for (const subject of await this.#broker.list("rows", this.#broker.names.parked("*", "*", "*"))) {
      const [run_id = "", fence] = subject.split(".").slice(-2)
      const run = await this.#runs.get(run_id)
      if (run?.facts.waiting !== true || run.facts.fence !== Number(fence)) await this.#rows.remove(subject)
    }
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async ofRun(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    const run = isRunId(run_id) ? await this.#runs.get(run_id) : null
    if (run === null || run.facts.asked !== true) return { found: [], next: null }
    const subjects = await this.#broker.list("rows", this.#broker.names.waitsOf(run_id))
    const waits = new Map<string, Wait>()
    for (const wait of await inTurns(subjects, (subject) => this.#rows.read<WaitFacts>(subject))) {
      if (wait !== null) waits.set(padded(wait.facts.event_id), wait)
    }
    return this.#page([...waits.keys()], limit, after, async (position) => {
      const wait = waits.get(position)
      return wait === undefined ? null : this.#view(wait, run)
    })
  }

  async one(run_id: string, id: string): Promise<Question | null> {
    const run = isRunId(run_id) ? await this.#runs.get(run_id) : null
    const wait = run === null ? null : await this.#wait(run_id, tokenOfId(id))
    return run === null || wait === null ? null : this.#view(wait, run)
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    const { caller, groups, member_of, status, to, limit, after } = query
    const { names } = this.#broker
    const own = this.#caller(caller)
    const filters: { readonly caller: string; readonly to: string }[] = []
    if (to === null) {
      filters.push({ caller: own, to: "*" })
      for (const group of member_of) filters.push({ caller: "*", to: this.#addressee(group) })
    } else if (!groups.includes(to)) filters.push({ caller: own, to: this.#addressee(to) })
    else if (member_of.includes(to)) filters.push({ caller: "*", to: this.#addressee(to) })
    // Questions whose expiry is not stored yet are among the open ones.
    const places = [
      ...(status === "open" || status === "expired" ? [names.askedTo] : []),
      ...(status === "open" ? [] : [names.settledTo]),
    ]
    const lists = await Promise.all(
      places.flatMap((place) =>
        filters.map((filter) => this.#broker.listRecent("rows", place(filter.caller, filter.to), recentMs)),
      ),
    )
    const groupTokens = new Set(groups.map((group) => this.#addressee(group)))
    const memberTokens = new Set(member_of.map((group) => this.#addressee(group)))
    const found = new Map<string, { readonly run_id: string; readonly token: string }>()
    for (const subject of lists.flat()) {
      const { caller: asker, to: addressee, asked_at, run_id, event_id, token } = questionAt(subject)
      const theirs = groupTokens.has(addressee) ? memberTokens.has(addressee) : asker === own
      if (theirs) found.set(`${asked_at}.${run_id}.${event_id}`, { run_id, token })
    }
    return this.#page([...found.keys()], limit, after, async (position) => {
      const { run_id = "", token = "" } = found.get(position) ?? {}
      const question = await this.#inInbox(run_id, token, query)
      return question?.status === status ? question : null
    })
  }

  /** Null where it was put into this inbox in the broker: the run's key and the log say whose it is. */
  async #inInbox(run_id: string, token: string, query: InboxQuery): Promise<Question | null> {
    try {
      const [run, wait] = await Promise.all([this.#runs.get(run_id), this.#wait(run_id, token)])
      const question = run === null || wait === null ? null : await this.#view(wait, run)
      return run !== null && question !== null && isFor(query, run.facts.caller, question.to) ? question : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  /** Reads the questions at these positions in their order, until the page is full. */
  async #page(
    positions: readonly string[],
    limit: number,
    after: string | null,
    read: (position: string) => Promise<Question | null>,
  ): Promise<QuestionPage> {
    const order = positions.toSorted().filter((position) => after === null || position > after)
    const found: PlacedQuestion[] = []
    let bytes = 0
    for (let at = 0; at < order.length; at += together) {
      const some = order.slice(at, at + together)
      const questions = await Promise.all(some.map((position) => read(position)))
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

  /** The question as it stands; null where its run was deleted meanwhile. */
  async #view(wait: Wait, run: StoredRun): Promise<Question | null> {
    const { run_id, id, expires_at } = wait.facts
    const key = await this.#runs.key(run)
    const [sealed] = (await this.#rows.whole(wait, 1))?.parts ?? []
    if (sealed === undefined) return null
    const question = JSON.parse(key.open(`question ${id}`, sealed)) as AskedQuestion
    const outcome = await this.#outcome(run_id, tokenOfId(id))
    if (outcome !== null) {
      const { status, at } = outcome.facts
      const given = await this.#given(outcome, run)
      return given === null ? { ...question, status } : { ...question, ...given, status, answered_at: isoTime(at) }
    }
    const { finished_at } = run.facts
    if (expires_at <= (finished_at ?? this.#clock.now())) return { ...question, status: "expired" }
    return { ...question, status: finished_at === undefined ? "open" : "withdrawn" }
  }

  /** Null where it was not answered. */
  async #given(outcome: Outcome, run: StoredRun): Promise<GivenAnswer | null> {
    if (outcome.facts.status !== "answered") return null
    const sealed = (await this.#rows.whole(outcome, 1))?.parts[0]
    if (sealed === undefined) return null
    return JSON.parse((await this.#runs.key(run)).open(aboutOutcome(outcome.facts.id), sealed)) as GivenAnswer
  }

  /** Outcomes that the log does not show, the oldest question first. */
  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    const run = await this.#runs.get(run_id)
    if (run === null || run.facts.finished_at !== undefined) return []
    const found = await inTurns(run.facts.outcomes ?? [], async (id) => {
      const token = tokenOfId(id)
      const [wait, outcome] = await Promise.all([this.#wait(run_id, token), this.#outcome(run_id, token)])
      if (wait === null || outcome === null) throw new Damaged(`Question ${id} of run ${run_id} has no outcome`)
      const { status } = outcome.facts
      const given = await this.#given(outcome, run)
      return { event_id: wait.facts.event_id, outcome: given === null ? { id, status } : { id, status, ...given } }
    })
    return found.toSorted((a, b) => a.event_id - b.event_id).map(({ outcome }) => outcome)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#news.onOutcome(listener)
  }

  /** With many runs the count may be a moment old: every admission asks for it. */
  async waiting(caller: string): Promise<number> {
    const filter = this.#broker.names.parked(this.#caller(caller), "*", "*")
    return (await this.#broker.listRecent("rows", filter, recentMs)).length
  }

  async waitingCounts(): Promise<WaitingCounts> {
    const { names } = this.#broker
    const [parked, asked] = await Promise.all([
      this.#broker.listRecent("rows", names.parked("*", "*", "*"), countedMs),
      this.#broker.listRecent("rows", names.anyAsked, countedMs),
    ])
    const oldest = asked.reduce((first, subject) => Math.min(first, Number(questionAt(subject).asked_at)), Infinity)
    return { runs: parked.length, questions: asked.length, oldest_asked_at: asked.length === 0 ? null : oldest }
  }

  // ------------------------------------------------------------------------------------------------------- settling

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    if (!isRunId(run_id)) return null
    const nonce = this.#broker.token(9)
    const token = tokenOfId(id)
    for (;;) {
      const [run, wait] = await Promise.all([this.#runs.get(run_id), this.#wait(run_id, token)])
      if (run === null || wait === null) return null
      const outcome = await this.#outcome(run_id, token)
      if (outcome !== null || run.facts.finished_at !== undefined) {
        const question = await this.#view(wait, run)
        const stored = outcome?.facts.nonce === nonce && outcome.facts.status === "answered"
        return question === null ? null : { stored, question }
      }
      const status = wait.facts.expires_at <= this.#clock.now() ? ("expired" as const) : ("answered" as const)
      const key = await this.#runs.key(run)
      const parts = status === "answered" ? [key.seal(aboutOutcome(id), JSON.stringify(given))] : []
      // Again from the start in any case: what is stored by then is the answer.
      await this.#settle(run, [{ wait, parts, status }], nonce)
    }
  }

  /** Stores outcomes of one run in one step, and wakes the run if it waits. False: something has changed since it was read. */
  async #settle(
    run: StoredRun,
    settled: readonly { readonly wait: Wait; readonly status: "answered" | "expired"; readonly parts: Uint8Array[] }[],
    nonce: string,
  ): Promise<boolean> {
    const { run_id } = run
    const now = this.#clock.now()
    const ids = settled.map(({ wait }) => wait.facts.id)
    const outcomes = [...(run.facts.outcomes ?? []), ...ids]
    const facts = this.#runs.named(woken({ ...run.facts, outcomes }, now))
    const isWoken = run.facts.waiting === true
    const { names } = this.#broker
    const seq = await this.#broker.write([
      ...settled.flatMap(({ wait: { facts: of }, status, parts }) => {
        const outcome: OutcomeFacts = { id: of.id, status, at: now, nonce }
        const subject = names.outcome(run_id, tokenOfId(of.id))
        return [
          ...this.#rows.pack(run_id, subject, outcome, parts, { expected: 0 }),
          { subject: names.settled(of), data: packFrame({}, []) },
        ]
      }),
      ...(isWoken ? [this.#runs.openEntry(run_id, facts)] : []),
      ...this.#runs.next(run, facts),
    ])
    if (seq === null) return false
    await this.#rows.remove(
      ...settled.map(({ wait }) => names.asked(wait.facts)),
      ...(isWoken ? [this.parkedSubject(run_id, run.facts)] : []),
    )
    this.#news.outcome(run_id)
    return true
  }

  async expire(): Promise<number> {
    const now = this.#clock.now()
    const due = Map.groupBy(await this.#due(now), (subject) => questionAt(subject).run_id)
    let count = 0
    for (const [run_id, subjects] of due) {
      for (let at = 0; at < subjects.length; at += expiredTogether) {
        count += await this.#expireOf(run_id, subjects.slice(at, at + expiredTogether), now)
      }
    }
    return count
  }

  /** Entries of questions whose time has come. */
  async #due(now: number): Promise<string[]> {
    const { names } = this.#broker
    const isTimeForAll = this.#broker.now() - this.#sawAllAt >= allHoursMs
    const filters = isTimeForAll ? [names.anyAsked] : [hourOf(now) - 1, hourOf(now)].map(names.askedUntil)
    const found = (await Promise.all(filters.map((filter) => this.#broker.list("rows", filter)))).flat()
    if (isTimeForAll) this.#sawAllAt = this.#broker.now()
    return found.filter((subject) => Number(subject.split(".").at(-7)) <= now)
  }

  async #expireOf(run_id: string, subjects: readonly string[], now: number): Promise<number> {
    const nonce = this.#broker.token(9)
    for (;;) {
      const run = await this.#runs.get(run_id)
      if (run === null || run.facts.finished_at !== undefined) {
        if (run !== null) await this.withdraw(run_id)
        else await this.#rows.remove(...subjects)
        return 0
      }
      const outcomes = await inTurns(subjects, (subject) => this.#outcome(run_id, lastToken(subject)))
      const ours = outcomes.filter((outcome) => outcome?.facts.nonce === nonce).length
      if (ours > 0) return ours
      const open = subjects.filter((_, index) => outcomes[index] === null)
      const waits = await inTurns(open, (subject) => this.#wait(run_id, lastToken(subject)))
      const due = waits.filter((wait) => wait !== null && wait.facts.expires_at <= now)
      const settled = due.flatMap((wait) => (wait === null ? [] : [{ wait, status: "expired" as const, parts: [] }]))
      if (settled.length === 0) {
        // The process that settled them died before it removed their entries.
        await this.#rows.remove(...subjects)
        return 0
      }
      if (await this.#settle(run, settled, nonce)) return settled.length
    }
  }

  #wait(run_id: string, token: string): Promise<Wait | null> {
    return this.#rows.read(this.#broker.names.wait(run_id, token))
  }

  #outcome(run_id: string, token: string): Promise<Outcome | null> {
    return this.#rows.read(this.#broker.names.outcome(run_id, token))
  }

  #caller(caller: string): string {
    return tokenOf(this.#vault.digest("caller of questions", [caller]))
  }

  #addressee(to: string | null): string {
    return to === null ? "-" : tokenOf(this.#vault.digest("addressee of questions", [to]))
  }
}

/** What a sealed outcome is about: changing this makes what is stored unreadable. */
export function aboutOutcome(id: string): string {
  return `outcome of question ${id}`
}
