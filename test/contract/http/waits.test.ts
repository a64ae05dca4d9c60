import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { folderOf } from "../../support/workflow-folder.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"

const source = (more = "") => `
input { order: string }

wait paid {
    event: "payment.settled"
    key: input.order${more}

    output {
        status: string
        amount: number
        note: maybe string
    }
}

output {
    status: wait.paid.status
    amount: wait.paid.amount
    note: wait.paid.note
}
`

interface Waiting {
  readonly run_id: string
  readonly status: string
  readonly questions: readonly string[]
  readonly waits: readonly { id: string; name: string; event?: string; key?: string; until?: string }[]
}

interface Ended {
  readonly status: string
  readonly output?: Record<string, unknown>
  readonly error?: { readonly kind: string; readonly issues: readonly { readonly path: string }[] }
}

async function begin(service: TestService, text: string, input: object): Promise<Waiting> {
  const response = await service.post("/execute", { workflow_source: text, input })
  assert.equal(response.status, 202, await response.clone().text())
  return (await response.json()) as Waiting
}

async function ended(service: TestService, run_id: string): Promise<Ended & Record<string, unknown>> {
  for (;;) {
    const response = await service.get(`/execute/${run_id}?wait=20`)
    const run = (await response.json()) as Ended & Record<string, unknown>
    if (run.status !== "waiting" && run.status !== "running") return run
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const settled = { status: "settled", amount: 5 }

for (const store of ["memory", "sqlite"]) {
  const open = async (
    work: (service: TestService, again: () => Promise<TestService>) => Promise<void>,
  ): Promise<void> => {
    const directory = mkdtempSync(join(tmpdir(), "wireworks-waits-"))
    const variables = { STORE: store, DATA_DIR: directory }
    const service = await startService(variables)
    let last = service
    try {
      await work(service, async () => {
        await service.stop()
        return (last = await startService(variables))
      })
    } finally {
      await last.stop()
      rmSync(directory, { recursive: true })
    }
  }

  test(`a run waits for an event, takes it, and goes on (${store})`, () =>
    open(async (service) => {
      const run = await begin(service, source(), { order: "A-17" })
      assert.deepEqual([run.status, run.questions], ["waiting", []])
      const [wait] = run.waits
      assert.deepEqual({ ...wait, id: "" }, { id: "", name: "paid", event: "payment.settled", key: "A-17" })
      const listed = (await (await service.get("/waits?event=payment.settled&key=A-17")).json()) as { waits: object[] }
      assert.equal(listed.waits.length, 1)
      const other = await service.post("/events", { name: "payment.settled", key: "A-18", data: settled })
      assert.deepEqual([other.status, ((await other.json()) as { delivered: number }).delivered], [202, 0])
      const misfit = await service.post("/events", { name: "payment.settled", key: "A-17", data: { status: 1 } })
      const error = await errorOf(misfit)
      assert.deepEqual([error.status, error.kind], [422, "input_error"])
      assert.ok(error.issues.some(({ path }) => path === "data.status"))
      const sent = { name: "payment.settled", key: "A-17", data: settled, id: "evt_1" }
      // The order of the fields is no other contents.
      const reordered = { ...sent, data: { amount: 5, status: "settled" } }
      const answers = [await service.post("/events", sent), await service.post("/events", reordered)]
      for (const answer of answers) {
        assert.equal(answer.status, 202)
        assert.deepEqual(await answer.json(), { id: "evt_1", delivered: 1, kept: false })
      }
      const conflict = await service.post("/events", { ...sent, data: null })
      assert.equal(conflict.status, 409)
      const run2 = await ended(service, run.run_id)
      assert.deepEqual(run2.output, { ...settled, note: null })
      const again = await service.get("/waits")
      assert.deepEqual(await again.json(), { waits: [], next: null })
    }))

  test(`an event that was sent before is kept, and taken once by the first wait that it fits (${store})`, () =>
    open(async (service, restart) => {
      const event = { name: "payment.settled", key: "B", data: settled, keep_seconds: 600, id: "early" }
      const early = await service.post("/events", event)
      assert.deepEqual(await early.json(), { id: "early", delivered: 0, kept: true })
      const kept = (await (await service.get("/events")).json()) as { events: { id: string; data: unknown }[] }
      assert.deepEqual(
        kept.events.map(({ id, data }) => [id, data]),
        [["early", settled]],
      )
      const then = store === "memory" ? service : await restart()
      const first = await then.post(
        "/execute",
        { workflow_source: source(), input: { order: "B" } },
        { prefer: "respond-async" },
      )
      // It never waited, or was woken at once.
      const { run_id } = (await first.json()) as { run_id: string }
      assert.equal((await ended(then, run_id)).output?.["status"], "settled")
      await begin(then, source(), { order: "B" })
      const repeated = await then.post("/events", event)
      assert.deepEqual(await repeated.json(), { id: "early", delivered: 0, kept: true })
      assert.deepEqual(await (await then.get("/events")).json(), { events: [], next: null })
    }))

  test(`a kept event can be dropped (${store})`, () =>
    open(async (service) => {
      const event = { name: "n", data: null, keep_seconds: 600 }
      const { id } = (await (await service.post("/events", event)).json()) as { id: string }
      // An id that the service made stands in an address as it is.
      assert.equal(encodeURIComponent(id), id)
      const drop = () => fetch(`${service.url}/events/${id}`, { method: "DELETE" })
      assert.deepEqual([(await drop()).status, (await drop()).status], [204, 404])
    }))

  test(`a wait that expires fails its run, or takes the value of on_expiry; both after a restart (${store})`, () =>
    open(async (service, restart) => {
      const plain = await begin(service, source("\n    expires_seconds: 1"), { order: "C" })
      const late = '\n    expires_seconds: 1\n    on_expiry: { status: "late", amount: 0, note: null }'
      const kind = await begin(service, source(late), { order: "C" })
      const then = store === "memory" ? service : await restart()
      const failed = await ended(then, plain.run_id)
      assert.deepEqual([failed.error?.kind, failed.error?.issues[0]?.path], ["timeout", "wait.paid"])
      assert.equal((await ended(then, kind.run_id)).output?.["status"], "late")
      const over = await then.post("/events", { name: "payment.settled", key: "C", data: settled })
      assert.equal(((await over.json()) as { delivered: number }).delivered, 0)
    }))

  test(`a run waits for a time, and is neither early nor a second late (${store})`, () =>
    open(async (service) => {
      const text = `
input { seconds: number }
wait a { seconds: input.seconds }
wait b { until: "2020-01-01T00:00:00Z" }
wait c { after: [wait.a, wait.b] seconds: 0 }
output { a: wait.a b: wait.b c: wait.c }
`
      const run = await begin(service, text, { seconds: 1.2 })
      const until = Date.parse(run.waits[0]?.until ?? "")
      const { output } = await ended(service, run.run_id)
      const { a, c } = output as { a: string; c: string }
      assert.ok(Date.parse(a) >= until, `${a} is before ${run.waits[0]?.until ?? ""}`)
      assert.ok(Date.parse(c) >= Date.parse(a))
    }))
}

test("a loop waits for one event for each item, and a wait that ends at once parks nothing", async () => {
  const service = await startService()
  const text = `
input { orders: [string] }
wait each for order in input.orders when order != "skip" {
    event: "done"
    key: order
    output { n: integer }
}
output { all: wait.each }
`
  const run = await begin(service, text, { orders: ["a", "skip", "b"] })
  assert.deepEqual(
    run.waits.map(({ key }) => key),
    ["a", "b"],
  )
  for (const [key, n] of [
    ["b", 2],
    ["a", 1],
  ]) {
    await service.post("/events", { name: "done", key, data: { n } })
  }
  assert.deepEqual((await ended(service, run.run_id)).output, { all: [{ n: 1 }, null, { n: 2 }] })
  const events = await (await service.get(`/execute/${run.run_id}/events`)).text()
  assert.match(events, /event: wait_started/)
  assert.match(events, /event: wait_ended/)
  const atOnce = await service.post("/execute", { workflow_source: "wait a { seconds: 0 }\noutput { a: wait.a }" })
  assert.equal(atOnce.status, 200)
})

test("a wrong time, and one too far ahead, are evaluation errors; a wrong body is refused", async () => {
  const service = await startService()
  for (const until of ["tomorrow", "2999-01-01T00:00:00Z"]) {
    const text = "input { t: string }\nwait a { until: input.t }\noutput { a: wait.a }"
    const error = await errorOf(await service.post("/execute", { workflow_source: text, input: { t: until } }))
    assert.deepEqual([error.kind, error.issues[0]?.path], ["evaluation_error", "wait.a.until"])
  }
  const wrong = [
    { name: "no spaces" },
    { key: "k" },
    { name: "n", keep_seconds: 604_801 },
    { name: "n", other: 1 },
    { name: "n", id: "x".repeat(201) },
  ]
  for (const body of wrong) assert.equal((await service.post("/events", body)).status, 400)
  assert.equal((await service.post("/events", { name: "n", data: "x".repeat(70_000) })).status, 413)
})

test("callers send to their own runs alone, and operators not at all", async () => {
  const keys = {
    API_KEYS: "ann:key-of-ann-0123456789,bob:key-of-bob-0123456789",
    OPERATOR_KEYS: "op:key-of-op-0123456789",
  }
  const service = await startService(keys)
  const as = (name: string) => ({ authorization: `Bearer key-of-${name}-0123456789` })
  const begun = await service.post("/execute", { workflow_source: source(), input: { order: "X" } }, as("ann"))
  const { run_id } = (await begun.json()) as Waiting
  const event = { name: "payment.settled", key: "X", data: settled, keep_seconds: 60 }
  assert.deepEqual(
    ((await (await service.post("/events", event, as("bob"))).json()) as { kept: boolean; delivered: number })
      .delivered,
    0,
  )
  assert.equal((await service.post("/events", event, as("op"))).status, 403)
  assert.equal((await service.get("/waits", as("op"))).status, 403)
  assert.deepEqual(((await (await service.get("/waits", as("bob"))).json()) as { waits: unknown[] }).waits, [])
  assert.equal(((await (await service.get("/waits", as("ann"))).json()) as { waits: unknown[] }).waits.length, 1)
  const own = await service.post("/events", event, as("ann"))
  assert.equal(((await own.json()) as { delivered: number }).delivered, 1)
  const run = await fetch(`${service.url}/execute/${run_id}?wait=20`, { headers: as("ann") })
  assert.equal(((await run.json()) as Ended).status, "completed")
})

const hookSecret = "0123456789abcdef0123"

test("deliveries to a webhook are events: for runs of the trigger caller, or of everyone, kept once, and told nothing", async () => {
  const webhook = (name: string, more: string): string => `
webhook ${name} {
    verify: github
    secret: secrets.hook
    when: body.type == "charge.succeeded"
    event {
        name: "payment.settled"
        key: body.order
        data { status: "settled", amount: body.amount }
        ${more}
    }
}
`
  const folder = folderOf({
    "order.wire": `secrets { hook: string }\n${webhook("settled", "keep_seconds: 600")}${webhook("shared", "keep_seconds: 600\n to: all_callers")}${source()}`,
  })
  const keys = { API_KEYS: "ann:key-of-ann-0123456789,bob:key-of-bob-0123456789", TRIGGER_CALLER: "ann" }
  const service = await startService({ ...keys, WORKFLOWS: folder, SECRET_HOOK: hookSecret })
  const deliver = (name: string, body: object) => {
    const text = JSON.stringify(body)
    const signature = `sha256=${createHmac("sha256", hookSecret).update(text).digest("hex")}`
    return service.post(`/hooks/order/${name}`, text, { "x-hub-signature-256": signature })
  }
  const as = (name: string) => ({ authorization: `Bearer key-of-${name}-0123456789` })
  const start = async (name: string, order: string): Promise<string> => {
    const headers = { ...as(name), prefer: "respond-async" }
    const response = await service.post("/workflows/order/execute", { input: { order } }, headers)
    assert.equal(response.status, 202)
    return ((await response.json()) as { run_id: string }).run_id
  }
  const endOf = async (name: string, run_id: string): Promise<Ended> => {
    for (;;) {
      const found = (await (
        await fetch(`${service.url}/execute/${run_id}?wait=20`, { headers: as(name) })
      ).json()) as Ended
      if (!["running", "waiting", "queued"].includes(found.status)) return found
    }
  }
  const charge = (order: string, amount: unknown) => ({ type: "charge.succeeded", order, amount })
  assert.equal((await deliver("settled", { type: "other" })).status, 204)
  const early = await deliver("settled", charge("E", 3))
  assert.deepEqual([early.status, await early.json()], [202, { delivered: 0, kept: true }])
  const again = await deliver("settled", charge("E", 3))
  assert.deepEqual([again.status, await again.json()], [202, { delivered: 0, kept: true }])
  assert.equal((await endOf("ann", await start("ann", "E"))).output?.["amount"], 3)
  const run = await start("ann", "F")
  const waiting = async (name: string): Promise<number> => {
    const page = (await (await service.get("/waits", as(name))).json()) as { waits: unknown[] }
    return page.waits.length
  }
  while ((await waiting("ann")) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  const misfit = await deliver("settled", charge("F", "five"))
  assert.deepEqual([misfit.status, await misfit.json()], [202, { delivered: 0, kept: true }])
  const taken = await deliver("settled", charge("F", 5))
  assert.deepEqual([taken.status, await taken.json()], [202, { delivered: 1, kept: false }])
  assert.equal((await endOf("ann", run)).output?.["amount"], 5)
  const others = await deliver("shared", charge("G", 9))
  assert.deepEqual(await others.json(), { delivered: 0, kept: true })
  assert.equal((await endOf("bob", await start("bob", "G"))).output?.["amount"], 9)
  const { triggers } = (await (await service.get("/triggers", as("ann"))).json()) as {
    triggers: { name: string; event?: string }[]
  }
  assert.deepEqual(
    triggers.map(({ name, event }) => [name, event]),
    [
      ["settled", "payment.settled"],
      ["shared", "payment.settled"],
    ],
  )
  const metrics = await (await service.get("/metrics", as("ann"))).text()
  assert.match(metrics, /wire_events_total\{outcome="kept"\} [1-9]/)
  assert.match(metrics, /wire_events_total\{outcome="delivered"\} 1/)
})

test("a re-run takes over a wait that ended by an event, and waits anew where it had expired", async () => {
  const service = await startService()
  const run = await begin(service, source(), { order: "R" })
  await service.post("/events", { name: "payment.settled", key: "R", data: settled })
  await ended(service, run.run_id)
  const again = await service.post(`/execute/${run.run_id}/rerun`, {})
  assert.deepEqual([again.status, ((await again.json()) as { amount: number }).amount], [200, 5])
  const late = source('\n    expires_seconds: 1\n    on_expiry: { status: "late", amount: 0, note: null }')
  const expired = await begin(service, late, { order: "L" })
  assert.equal((await ended(service, expired.run_id)).output?.["status"], "late")
  const anew = await service.post(`/execute/${expired.run_id}/rerun`, {})
  assert.equal(anew.status, 202)
})

test("a cancel ends the wait with its run, and the wait takes nothing after it", async () => {
  const service = await startService()
  const run = await begin(service, source(), { order: "K" })
  assert.equal((await service.post(`/execute/${run.run_id}/cancel`, {})).status, 202)
  assert.equal((await ended(service, run.run_id)).status, "cancelled")
  const sent = await service.post("/events", { name: "payment.settled", key: "K", data: settled })
  assert.equal(((await sent.json()) as { delivered: number }).delivered, 0)
})
