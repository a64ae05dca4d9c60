import { allRuns } from "../../src/ports/run-list.ts"
import assert from "node:assert/strict"
import { after, before, describe, test, type TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import { noticeEvents } from "../../src/ports/notices.ts"
import { freshTrigger } from "../../src/ports/trigger-store.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { ann, aQuestion, asked, waits } from "../contract/run-store/asking.ts"
import { aRequest, aRun, ended, happened, leaseMs, noOptions, owner } from "../contract/run-store/material.ts"
import { allQuestions } from "../support/all-questions.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { startProxy, type Passage } from "../support/tcp-proxy.ts"
import { within } from "../support/within.ts"

// One run does all that a store can be asked for. The connection breaks at each message that this sends, before it and after it: every answer, and all that is
// stored in the end, is as if nothing had happened.

/** By then a message has reached the server. */
const arrivalMs = 20
/** So many at a time: most of it is waiting. */
const lanes = 4

describe("PostgreSQL, cut off at each message", () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ config: ["fsync=off"], inMemory: true })
  })
  after(() => server.close())

  test("answers and what is stored are the same", { timeout: 1_800_000 }, async (t) => {
    const opened = await Promise.all(Array.from({ length: lanes }, () => openLane(t, server)))
    const [first] = opened
    assert.ok(first !== undefined)
    await Promise.all(opened.map((lane) => lane.lives(nameOf("first", 0))))
    const { messages, found: expected } = await first.counts(nameOf("whole", 0))
    const cuts: string[] = []
    const places = Array.from({ length: messages }, (_, at) => at)
    await Promise.all(
      opened.map(async (lane) => {
        for (let at = places.shift(); at !== undefined; at = places.shift()) {
          for (const passage of ["cut", "pass, then cut"] as const) {
            const name = nameOf(passage === "cut" ? "before" : "after", at)
            const { message, found } = await lane.isCut(name, at, passage)
            if (message !== null) cuts.push(message)
            assert.deepEqual(found, expected, `cut ${name}: ${message}`)
          }
        }
      }),
    )
    t.diagnostic(`${messages} messages, ${cuts.length} cuts`)
    // How messages are cut into pieces is up to the network.
    assert.ok(messages > 40 && cuts.length > messages * 1.5, `${messages} messages, ${cuts.length} cuts`)
    for (const part of ["COMMIT", "pg_advisory_xact_lock"]) assert.ok(cuts.some((message) => message.includes(part)))
  })
})

/** A store behind a proxy that can be cut, and another one beside it, in a schema of their own. */
async function openLane(t: TestContext, server: PostgresServer) {
  const clock = new ManualClock()
  /** What the proxy does to the next messages. */
  let watch: (sent: string) => Passage = () => "pass"
  const proxy = await startProxy(server.port, (sent) => watch(sent))
  const open = postgresStores(server.url(), clock)
  const read = readAddress(server.url().replace(`:${server.port}/`, `:${proxy.port}/`))
  assert.ok(read.ok)
  const store = await open({ address: read.address })
  const direct = await open()
  t.after(async () => {
    await Promise.all([store.close(), direct.close()])
    await proxy.close()
  })
  const lives = async (name: string): Promise<unknown> => {
    const answers = await within(60_000, `all answers of ${name}`, life(store, clock, name))
    watch = () => "pass"
    return [answers, await held(direct, name)]
  }
  return {
    lives,
    /** How many messages it sends. */
    async counts(name: string) {
      let messages = 0
      watch = () => {
        messages++
        return "pass"
      }
      const found = await lives(name)
      return { messages, found }
    },
    async isCut(name: string, at: number, passage: Passage) {
      let left = at
      let message: string | null = null
      watch = (sent) => {
        if (left-- > 0) return "pass"
        watch = () => "pass"
        message = sent
        void sleep(arrivalMs).then(() => proxy.restore())
        return passage
      }
      const found = await lives(name)
      return { message: message as string | null, found }
    },
  }
}

/** All are as long: sizes are compared as well. */
function nameOf(what: string, at: number): string {
  return `run-${what.padEnd(6, "-")}-${String(at).padStart(4, "0")}`
}

/** What a run of this name is asked for, and the answers. */
async function life(store: RunStore, clock: ManualClock, name: string): Promise<unknown> {
  const answers: unknown[] = []
  const ask = async <T>(answer: Promise<T>): Promise<T> => {
    const given = await answer
    answers.push(withoutName(given, name))
    return given
  }
  const notify = { url: "https://receiver.example/hook", events: noticeEvents }
  const request = aRequest({ options: { ...noOptions, notify } })
  const idempotency = { key: name, fingerprint: "same" }
  const run = aRun({ run_id: name, caller: name, request, idempotency })
  const outcome = await ask(store.create(run, owner, leaseMs))
  assert.ok(outcome.outcome === "created")
  const { lease } = outcome
  await ask(store.create({ ...run, run_id: `${name}-again` }, owner, leaseMs))
  await ask(store.existing(name, idempotency))
  await ask(store.append(lease, [happened(1), happened(2, "text", { kept: true })]))
  await ask(store.renew(lease, leaseMs))
  await ask(store.request(name))
  await ask(store.append(lease, [asked(3, aQuestion(name, "q", clock)), waits(4, ["q"], clock)]))
  await ask(store.questions.one(name, "q"))
  await ask(store.questions.answer(name, "q", ann))
  await ask(store.waits.outcomes(name))
  const [claimed] = await ask(store.claim("owner-2", 1, leaseMs))
  assert.ok(claimed !== undefined)
  await ask(store.release(claimed))
  const [last] = await ask(store.claim("owner-3", 1, leaseMs))
  assert.ok(last !== undefined)
  await ask(store.requestCancel(name))
  await ask(store.cache.put(name, "key", "hash", { cached: true }, 60_000))
  await ask(store.cache.get(name, "key", "hash"))
  await ask(store.triggers.write(name, { ...freshTrigger, mark: 1 }, null))
  await ask(store.triggers.read(name))
  await ask(store.triggers.setPause(name, { paused: true, at: 1 }))
  await ask(store.append(last, [ended(5)]))
  const { taken } = await ask(store.outbox.take(10, 15_000))
  for (const notice of taken) {
    await ask(store.outbox.settle(notice, { status: "delivered", last_error: null, due_at: 0 }))
  }
  await ask(store.probe())
  await ask(store.stored(name))
  await ask(store.cache.purge(name, "key"))
  const second = await ask(store.create(aRun({ run_id: `${name}-2`, caller: name }), owner, leaseMs))
  assert.ok(second.outcome === "created")
  await ask(store.append(second.lease, [ended(1)]))
  await ask(store.delete(`${name}-2`))
  return answers
}

/** What another process finds of it. */
async function held(store: RunStore, name: string): Promise<unknown> {
  const query = { ...allRuns, caller: name, limit: 100 }
  const found = {
    log: await store.read(name, 0, 100, "kept"),
    record: await store.lookup(name),
    request: await store.request(name),
    questions: await allQuestions(store, name),
    notices: await store.outbox.ofRun(name),
    list: await store.list(query),
    trigger: await store.triggers.read(name),
    pause: await store.triggers.pause(name),
    deleted: await store.lookup(`${name}-2`),
    again: await store.lookup(`${name}-again`),
    stored: await store.stored(name),
  }
  return withoutName(found, name)
}

/** The same for every name. */
function withoutName(value: unknown, name: string): unknown {
  const text = JSON.stringify(value ?? null).replaceAll(name, "NAME")
  return JSON.parse(text) as unknown
}
