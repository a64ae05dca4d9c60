import assert from "node:assert/strict"
import { allRuns, type ListedRun, type RunQuery } from "../../../src/ports/run-list.ts"
import type { Lease, NewRun, RunStore } from "../../../src/ports/store.ts"
import type { LogEvent, Usage } from "../../../src/log/events.ts"
import { within } from "../../support/within.ts"
import { aQuestion, asked, waits } from "./asking.ts"
import { aRequest, aRun, leaseMs, owner, type OnBench } from "./material.ts"

const usage = (tokens: number): Usage => ({
  input_tokens: tokens,
  output_tokens: 1,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0.5,
})
const noConsumption: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0,
}
const at = "2026-11-15T00:00:01.000Z"
const workflow = (name: string) => ({ name, version: "0123456789ab" })
const all: RunQuery = { ...allRuns, caller: "", limit: 50 }

async function make(store: RunStore, changes: Partial<NewRun> = {}): Promise<Lease> {
  const outcome = await store.create(aRun(changes), owner, leaseMs)
  assert.ok(outcome.outcome === "created")
  return outcome.lease
}

/** The list follows within a second: reads it until it is as expected. */
async function until(store: RunStore, query: RunQuery, fits: (runs: ListedRun[]) => boolean): Promise<ListedRun[]> {
  let last: ListedRun[] = []
  let late = false
  const look = async (): Promise<ListedRun[]> => {
    while (!late) {
      last = await store.list(query)
      if (fits(last)) return last
      await new Promise((resolve) => setImmediate(resolve))
    }
    return last
  }
  return within(30_000, "the list", look()).catch((error: unknown) => {
    late = true
    throw new Error(`${String(error)}: ${JSON.stringify(last)}`)
  })
}

const started: LogEvent = { id: 1, type: "workflow_started", at, data: {} }
const agentDone = (id: number, tokens: number): LogEvent => ({
  id,
  type: "agent_completed",
  at,
  data: { agent: "a", output: {}, cached: false, duration_ms: 1, usage: usage(tokens), calls: [] },
})
const cancelled = (id: number, used?: Usage): LogEvent => ({
  id,
  type: "workflow_cancelled",
  at,
  data: { duration_ms: 1, ...(used !== undefined && { usage: used }) },
})

const failed = (id: number, kind: "timeout" | "tool_error"): LogEvent => ({
  id,
  type: "workflow_failed",
  at,
  data: { error: { kind, message: "x", issues: [] }, duration_ms: 1 },
})

/** The list of runs. */
export function listing(onBench: OnBench): void {
  onBench("runs are listed newest first, each caller's own", async ({ store, other }) => {
    const made: string[] = []
    for (const [index, created_at] of [30, 10, 20].entries()) {
      const request = aRequest(index === 0 ? { workflow: workflow("tickets/triage") } : {})
      made.push((await make(store, { caller: "ann", created_at, request })).run_id)
    }
    await make(store, { caller: "bob", created_at: 40 })
    await make(store, { caller: "", created_at: 50 })
    const runs = await until(other, { ...all, caller: "ann" }, ({ length }) => length === 3)
    assert.deepEqual(
      runs.map(({ run_id }) => run_id),
      [made[0], made[2], made[1]],
    )
    assert.deepEqual(runs[0], {
      run_id: made[0],
      caller: "ann",
      workflow: workflow("tickets/triage"),
      started_by: "request",
      status: "queued",
      error_kind: null,
      scores: [],
      trigger: null,
      trace_id: null,
      created_at: 30,
      finished_at: null,
      usage: noConsumption,
      preview: null,
      end: null,
    })
    assert.equal(runs[1]?.workflow, null)
    assert.deepEqual(await other.list({ ...all, caller: "nobody" }), [])
    await until(other, all, ({ length }) => length === 1)
  })

  onBench("a run's trace is in the list and in its record", async ({ store, other }) => {
    const trace_id = "0af7651916cd43dd8448eb211c80319c"
    const { run_id } = await make(store, { request: aRequest({ trace_id }) })
    const [listed] = await until(other, all, ({ length }) => length === 1)
    assert.equal(listed?.trace_id, trace_id)
    const found = await other.lookup(run_id)
    assert.ok(found.found === "run")
    assert.equal(found.run.trace_id, trace_id)
    assert.equal((await other.request(run_id)).trace_id, trace_id)
  })

  onBench("a list has all runs but shadows, or those of one side of a release", async ({ store, other }) => {
    const sides = ["current", "candidate", undefined] as const
    const made: string[] = []
    for (const [index, release] of sides.entries()) {
      const request = aRequest({ workflow: { ...workflow("split"), ...(release !== undefined && { release }) } })
      made.push((await make(store, { created_at: 10 + index, request })).run_id)
    }
    const [shadowed = ""] = made
    const shadow = { ...workflow("split"), release: "shadow", shadow_of: shadowed } as const
    const lease = await make(store, { created_at: 20, request: aRequest({ workflow: shadow }) })
    const listed = async (release: RunQuery["release"]) =>
      (await until(other, { ...all, release }, ({ length }) => length > 0)).map((run) => run.run_id)
    assert.deepEqual(await listed(null), made.toReversed())
    assert.deepEqual(await listed("current"), [shadowed])
    assert.deepEqual(await listed("candidate"), [made[1]])
    assert.deepEqual(await listed("shadow"), [lease.run_id])
    const [run] = await other.list({ ...all, release: "shadow" })
    assert.deepEqual(run?.workflow, shadow)
    const found = await other.lookup(lease.run_id)
    assert.ok(found.found === "run")
    assert.deepEqual(found.run.workflow, shadow)
  })

  onBench("a list opens what is kept of each run for the eye, if asked", async ({ store, other }) => {
    const request = aRequest({ input: { name: "Ada", text: "x".repeat(500) } })
    const done = await make(store, { created_at: 30, request })
    const bad = await make(store, { created_at: 20 })
    const open = await make(store, { created_at: 10 })
    const output = { result: { reply: "Hello\n  Ada" } }
    await store.append(done, [
      started,
      { id: 2, at, type: "workflow_completed", data: { output, usage: usage(7), duration_ms: 1 } },
    ])
    await store.append(bad, [started, failed(2, "timeout")])
    await store.append(open, [started])
    const query = { ...all, previews: true }
    const runs = await until(other, query, (found) => found.filter(({ end }) => end !== null).length === 2)
    assert.deepEqual(
      runs.map(({ preview, end }) => [preview?.input.slice(0, 13), preview?.input.length, preview?.started_by, end]),
      [
        ["name: Ada, te", 200, "request", { output: "reply: Hello Ada", error: null }],
        ["topic: owls", 11, "request", { output: null, error: { kind: "timeout", path: null, message: "x" } }],
        ["topic: owls", 11, "request", null],
      ],
    )
    assert.ok((await other.list(all)).every(({ preview, end }) => preview === null && end === null))
  })

  onBench("the list is filtered by several workflows, by version, and by a span of time", async ({ store, other }) => {
    const one = async (name: string, version: string, created_at: number): Promise<string> =>
      (await make(store, { created_at, request: aRequest({ workflow: { name, version } }) })).run_id
    const [a, b, c] = [await one("a", "v1", 10), await one("b", "v1", 20), await one("c", "v2", 30)]
    const found = async (more: Partial<RunQuery>): Promise<string[]> =>
      (await other.list({ ...all, ...more })).map(({ run_id }) => run_id)
    assert.deepEqual(await found({ workflows: ["a", "c", "nothing"] }), [c, a])
    assert.deepEqual(await found({ version: "v1" }), [b, a])
    assert.deepEqual(await found({ workflows: ["a", "b"], version: "v2" }), [])
    assert.deepEqual(await found({ since: 20, until: 30 }), [b])
    assert.deepEqual(await found({ until: 30, limit: 1 }), [b])
    assert.deepEqual(await found({ caller: null, workflows: ["a", "b"], until: 20 }), [a])
  })

  onBench("pages of the list meet without a gap, also among runs of the same millisecond", async ({ store, other }) => {
    const made = new Set<string>()
    for (let n = 0; n < 7; n++) made.add((await make(store, { created_at: n < 5 ? 10 : 20 + n })).run_id)
    await until(other, all, ({ length }) => length === 7)
    const seen: ListedRun[] = []
    let after: RunQuery["after"] = null
    for (;;) {
      const page: ListedRun[] = await other.list({ ...all, limit: 2, after })
      seen.push(...page)
      after = page.at(-1) ?? null
      if (page.length < 2) break
    }
    assert.equal(seen.length, 7)
    assert.deepEqual(new Set(seen.map(({ run_id }) => run_id)), made)
    const times = seen.map(({ created_at }) => created_at)
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    )
  })

  onBench("status and usage in the list follow the log", async ({ store, other }) => {
    const lease = await make(store)
    await store.append(lease, [started])
    await until(other, all, ([run]) => run?.status === "running")
    await store.append(lease, [agentDone(2, 10)])
    await store.append(lease, [agentDone(3, 5)])
    const [running] = await until(other, all, ([run]) => run?.usage.input_tokens === 15)
    assert.deepEqual(running?.usage, { ...usage(15), output_tokens: 2, cost: 1 })
    await store.requestCancel(lease.run_id)
    await until(other, all, ([run]) => run?.status === "cancelling")
    await store.append(lease, [cancelled(4, usage(15))])
    const [ended] = await until(other, all, ([run]) => run?.status === "cancelled")
    assert.deepEqual([ended?.finished_at, ended?.usage], [Date.parse(at), usage(15)])
  })

  onBench("every end has its status in the list; without the whole usage it is summed up", async ({ store, other }) => {
    const error = { kind: "timeout", message: "x", issues: [] } as const
    const ends: LogEvent[] = [
      { id: 3, at, type: "workflow_completed", data: { output: { result: {} }, usage: usage(7), duration_ms: 1 } },
      { id: 3, at, type: "workflow_failed", data: { error, duration_ms: 1 } },
      cancelled(3),
    ]
    for (const [index, end] of ends.entries()) {
      const lease = await make(store, { created_at: 100 - index })
      await store.append(lease, [started, agentDone(2, 7)])
      await store.append(lease, [end])
    }
    const runs = await until(other, all, (found) => found.every(({ finished_at }) => finished_at !== null))
    assert.deepEqual(
      runs.map(({ status, usage: { input_tokens } }) => [status, input_tokens]),
      [
        ["completed", 7],
        ["failed", 7],
        ["cancelled", 7],
      ],
    )
  })

  onBench("the list is filtered by workflow and by status", async ({ store, other }) => {
    const request = (name: string) => aRequest({ workflow: workflow(name) })
    const open = await make(store, { created_at: 1, request: request("a") })
    const done = await make(store, { created_at: 2, request: request("a") })
    const elsewhere = await make(store, { created_at: 3, request: request("a/b") })
    const sent = await make(store, { created_at: 4 })
    for (const lease of [done, sent]) await store.append(lease, [started, cancelled(2)])
    await until(other, { ...all, status: "ended" }, ({ length }) => length === 2)
    const found = async (more: Partial<RunQuery>) => (await other.list({ ...all, ...more })).map(({ run_id }) => run_id)
    assert.deepEqual(await found({ workflows: ["a"] }), [done.run_id, open.run_id])
    assert.deepEqual(await found({ workflows: ["a/b"] }), [elsewhere.run_id])
    assert.deepEqual(await found({ workflows: ["b"] }), [])
    assert.deepEqual(await found({ status: "open" }), [elsewhere.run_id, open.run_id])
    assert.deepEqual(await found({ status: "ended" }), [sent.run_id, done.run_id])
    assert.deepEqual(await found({ status: "waiting" }), [])
    assert.deepEqual(await found({ status: "ended", workflows: ["a"] }), [done.run_id])
    assert.deepEqual(await found({ status: "open", limit: 1 }), [elsewhere.run_id])
    assert.deepEqual(await found({ status: "open", after: { created_at: 3, run_id: elsewhere.run_id } }), [open.run_id])
  })

  onBench("the list is filtered by one status, by time and by the kind of error", async ({ store, other, clock }) => {
    const ends: LogEvent[] = [
      { id: 2, at, type: "workflow_completed", data: { output: { result: {} }, usage: usage(7), duration_ms: 1 } },
      failed(2, "timeout"),
      failed(2, "tool_error"),
      cancelled(2),
    ]
    const made: string[] = []
    for (const [index, end] of ends.entries()) {
      const lease = await make(store, { created_at: index + 1 })
      await store.append(lease, [started, end])
      made.push(lease.run_id)
    }
    const [completed = "", timeout = "", tool = "", stopped = ""] = made
    const running = await make(store, { created_at: 5 })
    await store.append(running, [started])
    const queued = await make(store, { created_at: 6 })
    const cancelling = await make(store, { created_at: 7 })
    await store.requestCancel(cancelling.run_id)
    const waiting = await make(store, { created_at: 8 })
    await store.append(waiting, [asked(1, aQuestion(waiting.run_id, "q1", clock)), waits(2, ["q1"], clock)])
    await until(other, { ...all, status: "waiting" }, ({ length }) => length === 1)
    const found = async (more: Partial<RunQuery>) => (await other.list({ ...all, ...more })).map(({ run_id }) => run_id)
    assert.deepEqual(await found({ status: "completed" }), [completed])
    assert.deepEqual(await found({ status: "failed" }), [tool, timeout])
    assert.deepEqual(await found({ status: "cancelled" }), [stopped])
    assert.deepEqual(await found({ status: "running" }), [running.run_id])
    assert.deepEqual(await found({ status: "queued" }), [queued.run_id])
    assert.deepEqual(await found({ status: "cancelling" }), [cancelling.run_id])
    assert.deepEqual(await found({ status: "waiting" }), [waiting.run_id])
    assert.deepEqual(await found({ error_kind: "timeout" }), [timeout])
    assert.deepEqual(await found({ error_kind: "tool_error", status: "ended" }), [tool])
    assert.deepEqual(await found({ error_kind: "timeout", status: "cancelled" }), [])
    assert.deepEqual(await found({ error_kind: "timeout", status: "running" }), [])
    assert.deepEqual(await found({ error_kind: "timeout", workflows: ["a"] }), [])
    // A time is the first that counts.
    assert.deepEqual(await found({ since: 3, status: "failed" }), [tool])
    assert.deepEqual(await found({ since: 8 }), [waiting.run_id])
    assert.deepEqual(await found({ since: 9 }), [])
    const [listed] = await other.list({ ...all, error_kind: "timeout" })
    assert.deepEqual([listed?.status, listed?.error_kind], ["failed", "timeout"])
  })

  onBench("the runs of all callers are one list, in pages", async ({ store, other }) => {
    const made: string[] = []
    for (const [index, caller] of ["ann", "bob", "", "ann"].entries()) {
      const request = aRequest(caller === "ann" ? { workflow: workflow("a") } : {})
      made.unshift((await make(store, { caller, created_at: index + 1, request })).run_id)
    }
    const everyone = { ...all, caller: null }
    const runs = await until(other, everyone, ({ length }) => length === 4)
    assert.deepEqual(
      runs.map(({ run_id, caller }) => [run_id, caller]),
      [
        [made[0], "ann"],
        [made[1], ""],
        [made[2], "bob"],
        [made[3], "ann"],
      ],
    )
    const [second = null] = (await other.list({ ...everyone, limit: 2 })).slice(1)
    const rest = await other.list({ ...everyone, limit: 2, after: second })
    assert.deepEqual(
      rest.map(({ run_id }) => run_id),
      made.slice(2),
    )
    const named = await other.list({ ...everyone, workflows: ["a"] })
    assert.deepEqual(
      named.map(({ run_id }) => run_id),
      [made[0], made[3]],
    )
  })

  onBench("retention takes runs out of the list; a condemned one has failed", async ({ store, other }) => {
    const gone = await make(store, { created_at: 1 })
    await store.append(gone, [started, cancelled(2)])
    const bad = await make(store, { created_at: 2 })
    await store.append(bad, [started])
    const error = { kind: "internal_error", message: "x", issues: [] } as const
    const end = {
      id: 2,
      type: "workflow_failed",
      at: "2026-11-15T01:00:00.000Z",
      data: { error, duration_ms: 1 },
    } as const
    await store.failAsCorrupt(bad, end)
    await until(other, all, (runs) => runs.map(({ status }) => status).join(" ") === "failed cancelled")
    assert.equal(await store.sweep(Date.parse(at) + 1), 1)
    await until(other, all, (runs) => runs.map(({ run_id }) => run_id).join(" ") === bad.run_id)
  })
}
