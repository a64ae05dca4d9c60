import assert from "node:assert/strict"
import { isoTime } from "../../../src/base/iso-time.ts"
import type { Clock } from "../../../src/ports/clock.ts"
import { LeaseLost, type Lease, type RunStore } from "../../../src/ports/store.ts"
import type { GivenAnswer, InboxQuery, QuestionPage } from "../../../src/ports/question-store.ts"
import type { AskedQuestion, LogEvent } from "../../../src/log/events.ts"
import { noneOpen, type WaitCounts } from "../../../src/ports/waits.ts"
import type { Alarm } from "../../../src/log/replay-data.ts"
import { allQuestions } from "../../support/all-questions.ts"
import type { ManualClock } from "../../support/manual-clock.ts"
import { within } from "../../support/within.ts"
import { created, ended, happened, ids, leaseMs, row, soon, type OnBench } from "./material.ts"

const day = 24 * 3_600_000
export const ann: GivenAnswer = { answer: { publish: true, note: null }, answered_by: { caller: "editor", by: "ann" } }
const bob: GivenAnswer = { answer: { publish: false, note: "no" }, answered_by: { caller: "editor", by: "bob" } }

export function aQuestion(
  run_id: string,
  id: string,
  clock: Clock,
  changes: Partial<AskedQuestion> = {},
): AskedQuestion {
  return {
    id,
    run_id,
    kind: "ask",
    name: "review",
    question: "Publish this?",
    show: { title: "Owls" },
    to: null,
    schema: { type: "object" },
    asked_at: isoTime(clock.now()),
    expires_at: isoTime(clock.now() + day),
    ...changes,
  }
}

export function asked(event: number, question: AskedQuestion): LogEvent {
  const at = question.asked_at
  return { id: event, type: "question_asked", at, data: { ...question, at }, kept: { place: question.id } }
}

export function waits(event: number, questions: readonly string[], clock: Clock): LogEvent {
  const at = isoTime(clock.now())
  return { id: event, type: "run_waiting", at, data: { questions, batches: [], waits: [], at } }
}

function continues(event: number, batches: readonly string[], clock: Clock): LogEvent {
  const at = isoTime(clock.now())
  return { id: event, type: "run_continued", at, data: { questions: [], batches, waits: [], at } }
}

export function answeredEvent(event: number, id: string, clock: ManualClock): LogEvent {
  const at = isoTime(clock.now())
  return { id: event, type: "question_answered", at, data: { id, name: "review", ...ann, at } }
}

/** A run that waits for the answers to its questions. */
async function parked(
  store: RunStore,
  clock: ManualClock,
  names: readonly string[],
  changes: Partial<AskedQuestion> = {},
  caller = "",
): Promise<Lease> {
  const lease = await created(store, { caller })
  const questions = names.map((id, index) => asked(index + 1, aQuestion(lease.run_id, id, clock, changes)))
  await store.append(lease, [...questions, waits(names.length + 1, names, clock)])
  return lease
}

async function status(store: RunStore, run_id: string, id: string): Promise<string | undefined> {
  return (await store.questions.one(run_id, id))?.status
}

function counts(runs: number, count: number, oldest_at: number | null): WaitCounts {
  return { runs, open: { ...noneOpen(), question: { count, oldest_at } } }
}

const everything: InboxQuery = {
  caller: "",
  groups: [],
  member_of: [],
  status: "open",
  to: null,
  limit: 100,
  after: null,
}

export function asking(onBench: OnBench): void {
  onBench("a question is there with the event that asks it", async ({ store, other, clock }) => {
    const lease = await created(store)
    const [first, second] = ["q1", "q2"].map((id) => aQuestion(lease.run_id, id, clock, { iteration: 0 }))
    assert.ok(first !== undefined && second !== undefined)
    await store.append(lease, [happened(1), { ...asked(2, first), data: { ...first, call_id: "c1" } } as LogEvent])
    await store.append(lease, [asked(3, second)])
    const open = [first, second].map((question) => ({ ...question, status: "open" }))
    assert.deepEqual(await allQuestions(other, lease.run_id), open)
    assert.deepEqual(await other.questions.one(lease.run_id, "q2"), open[1])
    assert.equal(await other.questions.one(lease.run_id, "q3"), null)
    assert.deepEqual(await allQuestions(other, "nobody"), [])
    assert.deepEqual(await other.waits.outcomes(lease.run_id), [])
    await assert.rejects(store.append(lease, [asked(9, aQuestion(lease.run_id, "q9", clock))]))
    assert.equal(await other.questions.one(lease.run_id, "q9"), null)
  })

  onBench(
    "what the requirements of a question refer to is kept with it, and shown to nobody",
    async ({ store, other, clock }) => {
      const lease = await created(store)
      const question = aQuestion(lease.run_id, "q1", clock)
      const captured = [[{ value: { words: ["é", "\u{1F600}", null, 1.5] } }, { error: "Cannot evaluate a / b" }], []]
      const kept = { place: "q1", requirements: { facts: "hash", captured } }
      await store.append(lease, [{ ...asked(1, question), kept }, waits(2, ["q1"], clock)])
      const [event] = await other.read(lease.run_id, 0, 10, "kept")
      assert.deepEqual(event?.kept, kept)
      const [plain] = await other.read(lease.run_id, 0, 10)
      assert.doesNotMatch(
        JSON.stringify([plain?.data, await allQuestions(other, lease.run_id)]),
        /captured|requirements/,
      )
    },
  )

  onBench("the first answer wins, and is stored with who gave it", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock))])
    const both = await Promise.all([
      other.questions.answer(lease.run_id, "q1", ann),
      store.questions.answer(lease.run_id, "q1", bob),
    ])
    const winners = both.filter((outcome) => outcome?.stored === true)
    assert.equal(winners.length, 1)
    const found = await other.questions.one(lease.run_id, "q1")
    for (const outcome of both) assert.deepEqual(outcome?.question, found)
    assert.equal(found?.status, "answered")
    assert.deepEqual(found?.answer, winners[0]?.question.answer)
    assert.equal(found?.answered_at, isoTime(clock.now()))
    assert.equal((await store.questions.answer(lease.run_id, "q1", bob))?.stored, false)
    assert.equal(await store.questions.answer(lease.run_id, "q2", ann), null)
    assert.equal(await store.questions.answer("nobody", "q1", ann), null)
  })

  onBench("an outcome is reported until the log shows it", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock))])
    await store.append(lease, [asked(2, aQuestion(lease.run_id, "q2", clock))])
    const announced = new Promise<string>((resolve) => {
      const stop = store.waits.onOutcome((run_id) => {
        stop()
        resolve(run_id)
      })
    })
    await other.questions.answer(lease.run_id, "q2", ann)
    assert.equal(await within(soon, "the outcome", announced), lease.run_id)
    assert.deepEqual(await store.waits.outcomes(lease.run_id), [
      { kind: "question", id: "q2", status: "settled", outcome: ann },
    ])
    await store.append(lease, [answeredEvent(3, "q2", clock)])
    assert.deepEqual(await other.waits.outcomes(lease.run_id), [])
    assert.equal((await row(other, lease.run_id)).waiting, false)
  })

  onBench("after its time an answer is refused, noticed or not", async ({ store, other, clock }) => {
    const lease = await created(store)
    for (const [index, id] of ["q1", "q2", "q3"].entries()) {
      const expires_at = isoTime(clock.now() + (id === "q3" ? day : 1_000))
      await store.append(lease, [asked(index + 1, aQuestion(lease.run_id, id, clock, { expires_at }))])
    }
    clock.advance(999)
    assert.equal(await store.waits.settleDue(), 0)
    assert.equal(await status(other, lease.run_id, "q1"), "open")
    clock.advance(1)
    assert.equal(await status(other, lease.run_id, "q1"), "expired")
    const late = await other.questions.answer(lease.run_id, "q1", ann)
    assert.equal(late?.stored, false)
    assert.equal(late?.question.status, "expired")
    assert.equal(late?.question.answer, undefined)
    assert.equal(await store.waits.settleDue(), 1)
    assert.equal(await other.waits.settleDue(), 0)
    assert.deepEqual(
      await other.waits.outcomes(lease.run_id),
      ["q1", "q2"].map((id) => ({ kind: "question", id, status: "due", outcome: null })),
    )
    assert.equal((await other.questions.answer(lease.run_id, "q3", ann))?.stored, true)
  })

  onBench("a run that waits holds no lease, and nobody can claim it", async ({ store, other, clock }) => {
    const lease = await parked(store, clock, ["q1"])
    const { waiting, last_event_id } = await row(other, lease.run_id)
    assert.deepEqual({ waiting, last_event_id }, { waiting: true, last_event_id: 2 })
    assert.equal(await store.renew(lease, leaseMs), false)
    await assert.rejects(store.append(lease, [happened(3)]), LeaseLost)
    await store.release(lease)
    for (const one of [store, other]) assert.deepEqual(await one.claim("owner-2", 10, leaseMs), [])
    clock.advance(leaseMs * 100)
    for (const one of [store, other]) assert.deepEqual(await one.claim("owner-2", 10, leaseMs), [])
    assert.equal(await other.waits.parked(""), 1)
    assert.equal(await other.waits.parked("someone else"), 0)
    // Its secrets are needed when it goes on.
    assert.deepEqual((await other.request(lease.run_id)).secrets, { token: "s3cret-token" })
  })

  onBench("an operator sees how many runs wait, and for how long", async ({ store, other, clock }) => {
    assert.deepEqual(await other.waits.counts(), counts(0, 0, null))
    const oldest_at = clock.now()
    const first = await parked(store, clock, ["q1", "q2"])
    clock.advance(1_000)
    await parked(store, clock, ["q1"], {}, "someone else")
    assert.deepEqual(await other.waits.counts(), counts(2, 3, oldest_at))
    await other.questions.answer(first.run_id, "q1", ann)
    assert.deepEqual(await other.waits.counts(), counts(1, 2, oldest_at))
    await other.questions.answer(first.run_id, "q2", ann)
    assert.deepEqual(await other.waits.counts(), counts(1, 1, oldest_at + 1_000))
  })

  onBench("an answer wakes it, and it is claimed before others", async ({ store, other, clock }) => {
    const lapsed = await created(store)
    const lease = await parked(store, clock, ["q1", "q2"])
    const announced = new Promise<string>((resolve) => store.waits.onOutcome(resolve))
    await store.release(lapsed)
    assert.equal((await other.questions.answer(lease.run_id, "q1", ann))?.stored, true)
    assert.equal((await row(store, lease.run_id)).waiting, false)
    assert.equal(await store.waits.parked(""), 0)
    assert.equal(await within(soon, "the wake", announced), lease.run_id)
    const [claim] = await store.claim("owner-2", 1, leaseMs)
    assert.ok(claim !== undefined)
    assert.deepEqual([claim.run_id, claim.woken], [lease.run_id, true])
    assert.ok(claim.fence > lease.fence)
    const [next] = await store.claim("owner-2", 1, leaseMs)
    assert.deepEqual([next?.run_id, next?.woken], [lapsed.run_id, false])
    // It waits again for the other one.
    await store.append(claim, [answeredEvent(4, "q1", clock), waits(5, ["q2"], clock)])
    assert.deepEqual(await ids(other, lease.run_id), [1, 2, 3, 4, 5])
    assert.equal((await row(other, lease.run_id)).waiting, true)
    assert.deepEqual(await other.claim("owner-3", 10, leaseMs), [])
  })

  onBench("an expiry wakes it", async ({ store, other, clock }) => {
    const lease = await parked(store, clock, ["q1"], { expires_at: isoTime(clock.now() + 1_000) })
    const announced = new Promise<string>((resolve) => store.waits.onOutcome(resolve))
    clock.advance(1_000)
    assert.equal(await other.waits.settleDue(), 1)
    assert.equal(await within(soon, "the wake", announced), lease.run_id)
    const [claim] = await store.claim("owner-2", 10, leaseMs)
    assert.deepEqual([claim?.run_id, claim?.woken], [lease.run_id, true])
    assert.deepEqual(
      (await store.waits.outcomes(lease.run_id)).map(({ id }) => id),
      ["q1"],
    )
  })

  onBench("a cancel wakes it", async ({ store, other, clock }) => {
    const lease = await parked(store, clock, ["q1"])
    const announced = new Promise<string>((resolve) => store.waits.onOutcome(resolve))
    assert.equal(await other.requestCancel(lease.run_id), true)
    assert.equal(await within(soon, "the wake", announced), lease.run_id)
    const found = await row(other, lease.run_id)
    assert.deepEqual([found.waiting, found.cancel_requested], [false, true])
    const [claim] = await store.claim("owner-2", 10, leaseMs)
    assert.deepEqual([claim?.run_id, claim?.woken], [lease.run_id, true])
    assert.deepEqual(await store.waits.outcomes(lease.run_id), [])
  })

  onBench("what came while it began to wait wakes it at once", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock))])
    await other.questions.answer(lease.run_id, "q1", ann)
    await store.append(lease, [waits(2, ["q1"], clock)])
    assert.equal((await row(other, lease.run_id)).waiting, false)
    assert.equal((await other.claim("owner-2", 10, leaseMs))[0]?.woken, true)

    const cancelled = await created(store)
    await store.append(cancelled, [asked(1, aQuestion(cancelled.run_id, "q1", clock))])
    await other.requestCancel(cancelled.run_id)
    await store.append(cancelled, [waits(2, ["q1"], clock)])
    assert.equal((await other.claim("owner-2", 10, leaseMs))[0]?.run_id, cancelled.run_id)
  })

  onBench("answers and the beginning of the wait at once: the run is woken or never waits", async (bench) => {
    const { store, other, clock } = bench
    for (let round = 0; round < 20; round++) {
      const lease = await created(store)
      await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock))])
      await Promise.all([
        store.append(lease, [waits(2, ["q1"], clock)]),
        other.questions.answer(lease.run_id, "q1", ann),
      ])
      const [claim] = await store.claim("owner-2", 10, leaseMs)
      assert.equal(claim?.run_id, lease.run_id)
    }
  })

  onBench("an alarm wakes a parked run at its time, or when somebody settles it", async ({ store, other, clock }) => {
    const alarm = (kind: Alarm["kind"], id: string, ms: number): Alarm => ({
      kind,
      id,
      key: id,
      due_at: clock.now() + ms,
    })
    const lease = await created(store)
    const armed = [alarm("batch", "b1", 10_000), alarm("budget", "callers.ann.cost_per_day", 60_000)]
    await store.append(lease, [{ ...waits(1, [], clock), kept: { alarms: armed } } as unknown as LogEvent])
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    assert.equal(await other.waits.settleDue(), 0)

    clock.advance(10_000)
    assert.equal(await other.waits.settleDue(), 1)
    const [claim] = await other.claim("owner-2", 10, leaseMs)
    assert.deepEqual([claim?.run_id, claim?.woken], [lease.run_id, true])
    assert.ok(claim !== undefined)
    const due = { kind: "batch", id: "b1", status: "due", outcome: null }
    assert.deepEqual(await other.waits.outcomes(lease.run_id), [due])
    await other.append(claim, [continues(2, ["b1"], clock)])
    // All alarms are gone: those that are due later wake nothing.
    assert.deepEqual(await store.waits.outcomes(lease.run_id), [])
    assert.deepEqual(await store.waits.counts(), counts(0, 0, null))
    clock.advance(60_000)
    assert.equal(await store.waits.settleDue(), 0)

    // The same alarm again, at another time.
    const again = { alarms: [alarm("budget", "callers.ann.cost_per_day", 60_000), alarm("batch", "b1", 90_000)] }
    await other.append(claim, [{ ...waits(3, [], clock), kept: again } as unknown as LogEvent])
    const open = {
      kind: "budget",
      status: "open",
      any: [{ key: "callers.ann.cost_per_day" }],
      limit: 10,
      after: null,
    } as const
    const { found } = await store.waits.list(open)
    assert.deepEqual(
      found.map(({ wait: { run_id, id } }) => [run_id, id]),
      [[lease.run_id, "callers.ann.cost_per_day"]],
    )
    assert.equal((await store.waits.settle(lease.run_id, "budget", "callers.ann.cost_per_day", null))?.stored, true)
    assert.equal((await store.waits.settle(lease.run_id, "budget", "callers.ann.cost_per_day", null))?.stored, false)
    const [woken] = await store.claim("owner-3", 10, leaseMs)
    assert.ok(woken !== undefined)
    assert.deepEqual(
      (await store.waits.outcomes(lease.run_id)).map(({ kind, status }) => [kind, status]),
      [["budget", "settled"]],
    )
    await store.append(woken, [continues(4, [], clock), ended(5, isoTime(clock.now()))])
    assert.equal(await store.waits.settleDue(), 0)
  })

  onBench("a run that was woken parks again without an event, and its alarm has another time", async (bench) => {
    const { store, other, clock } = bench
    const alarm = (ms: number, completed: number): Alarm => {
      const progress = { status: "in_progress", completed, failed: 0 }
      return { kind: "batch", id: "b1", key: null, due_at: clock.now() + ms, progress }
    }
    const lease = await created(store)
    await store.append(lease, [{ ...waits(1, [], clock), kept: { alarms: [alarm(10_000, 0)] } } as unknown as LogEvent])
    clock.advance(10_000)
    assert.equal(await other.waits.settleDue(), 1)
    const [claim] = await other.claim("owner-2", 10, leaseMs)
    assert.ok(claim !== undefined)
    await other.parkAgain(claim, [alarm(15_000, 7)])
    assert.deepEqual(await store.claim("owner-3", 10, leaseMs), [])
    await assert.rejects(other.parkAgain(claim, [alarm(1_000, 8)]), LeaseLost)
    const { found } = await store.waits.ofRun(lease.run_id, "batch", 10, null)
    assert.deepEqual(
      found.map(({ wait: { status, about } }) => [status, about.progress?.completed]),
      [["open", 7]],
    )
    assert.equal((await store.read(lease.run_id, 0, 10)).length, 1)
    clock.advance(15_000)
    assert.equal(await store.waits.settleDue(), 1)
    assert.equal((await store.claim("owner-3", 10, leaseMs))[0]?.run_id, lease.run_id)
  })

  onBench("a run's end withdraws what is open, and an answer comes too late", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock))])
    await store.append(lease, [asked(2, aQuestion(lease.run_id, "q2", clock))])
    await store.questions.answer(lease.run_id, "q2", ann)
    await store.append(lease, [ended(3, isoTime(clock.now()))])
    assert.equal(await status(other, lease.run_id, "q1"), "withdrawn")
    assert.equal(await status(other, lease.run_id, "q2"), "answered")
    const late = await other.questions.answer(lease.run_id, "q1", ann)
    assert.deepEqual([late?.stored, late?.question.status], [false, "withdrawn"])
    assert.deepEqual(await other.waits.outcomes(lease.run_id), [])
    assert.deepEqual(await other.questions.inbox(everything), { found: [], next: null })
    assert.deepEqual(
      (await other.questions.inbox({ ...everything, status: "withdrawn" })).found.map(({ question }) => question.id),
      ["q1"],
    )
  })

  onBench("retention deletes the questions of a run with it", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "q1", clock)), ended(2, isoTime(clock.now()))])
    const waiting = await parked(store, clock, ["q2"])
    clock.advance(400 * day)
    await store.sweep(clock.now())
    assert.deepEqual(await allQuestions(other, lease.run_id), [])
    assert.equal(await other.questions.one(lease.run_id, "q1"), null)
    // Retention counts from a run's end: one that waits stays.
    assert.equal((await allQuestions(other, waiting.run_id)).length, 1)
  })

  onBench("pages of large questions are shorter than was asked for", async ({ store, other, clock }) => {
    const names = ["q1", "q2", "q3", "q4", "q5"]
    const lease = await parked(store, clock, names, { show: "x".repeat(400_000) })
    const pages = async (read: (after: string | null) => Promise<QuestionPage>): Promise<string[][]> => {
      const all: string[][] = []
      for (let after: string | null = null; ;) {
        const { found, next } = await read(after)
        all.push(found.map(({ question }) => question.id))
        if (next === null) return all
        after = next
      }
    }
    const expected = [["q1", "q2"], ["q3", "q4"], ["q5"]]
    assert.deepEqual(await pages((after) => other.questions.ofRun(lease.run_id, 100, after)), expected)
    assert.deepEqual(await pages((after) => other.questions.inbox({ ...everything, after })), expected)
    assert.deepEqual(
      await pages((after) => other.questions.ofRun(lease.run_id, 1, after)),
      names.map((name) => [name]),
    )
    const huge = await parked(store, clock, ["h1", "h2"], { show: "x".repeat(1_500_000) })
    assert.deepEqual(await pages((after) => other.questions.ofRun(huge.run_id, 100, after)), [["h1"], ["h2"]])
    // Nothing comes after a position that no page has given.
    assert.deepEqual(await other.questions.ofRun(lease.run_id, 100, "zz"), { found: [], next: null })
  })

  onBench("an inbox holds what the caller may answer, oldest first, page by page", async ({ store, other, clock }) => {
    const runs = []
    for (const [caller, to] of [
      ["ann", "editors"],
      ["ann", null],
      ["bob", "editors"],
      ["bob", "finance"],
      ["ann", "a label"],
      ["bob", null],
      ["carol", "editors"],
    ] as const) {
      runs.push(await parked(store, clock, [`${caller} ${to}`], { to }, caller))
      clock.advance(1)
    }
    const groups = ["editors", "finance"]
    const page = async (query: Partial<InboxQuery>) => {
      const { found, next } = await other.questions.inbox({ ...everything, groups, ...query })
      return { ids: found.map(({ question }) => question.id), next }
    }
    const found = async (query: Partial<InboxQuery>) => (await page(query)).ids
    // A run's caller answers what goes to a group only as a member of it.
    assert.deepEqual(await found({ caller: "ann" }), ["ann null", "ann a label"])
    assert.deepEqual(await found({ caller: "ann", member_of: ["finance"] }), ["ann null", "bob finance", "ann a label"])
    const editor = { caller: "bob", member_of: ["editors"] }
    assert.deepEqual(await found(editor), ["ann editors", "bob editors", "bob null", "carol editors"])
    assert.deepEqual(await found({ ...editor, to: "editors" }), ["ann editors", "bob editors", "carol editors"])
    assert.deepEqual(await found({ ...editor, to: "finance" }), [])
    assert.deepEqual(await found({ caller: "ann", to: "a label" }), ["ann a label"])
    assert.deepEqual(await found({ caller: "ann", groups: [] }), ["ann editors", "ann null", "ann a label"])

    const first = await page({ ...editor, limit: 3 })
    assert.deepEqual(first.ids, ["ann editors", "bob editors", "bob null"])
    assert.notEqual(first.next, null)
    assert.deepEqual(await page({ ...editor, limit: 3, after: first.next }), { ids: ["carol editors"], next: null })
    assert.deepEqual(await page({ ...editor, limit: 4 }), { ids: await found(editor), next: null })

    const [ofAnn] = runs
    assert.ok(ofAnn !== undefined)
    await store.questions.answer(ofAnn.run_id, "ann editors", bob)
    assert.deepEqual(await found({ ...editor, to: "editors" }), ["bob editors", "carol editors"])
    assert.deepEqual(await found({ ...editor, status: "answered" }), ["ann editors"])
    clock.advance(day)
    assert.deepEqual(await found(editor), [])
    assert.deepEqual(await found({ ...editor, status: "expired" }), ["bob editors", "bob null", "carol editors"])
    await store.waits.settleDue()
    assert.deepEqual(await found({ ...editor, status: "expired" }), ["bob editors", "bob null", "carol editors"])
  })
}
