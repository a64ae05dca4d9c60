import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { after, describe, it } from "node:test"
import { Webhook } from "standardwebhooks"
import { startServer, type Received } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { ada, errorOf, heldAgent, hello, oneAgent, startService } from "./start-service.ts"

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const older = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

interface Notification {
  readonly type: string
  readonly status: string
  readonly attempts: number
  readonly last_error: string | null
}

interface RunRecord {
  readonly run_id: string
  readonly status: string
  readonly last_event_id: number
  readonly notifications: readonly Notification[]
}

type Behaviour = (response: ServerResponse, attempt: number) => unknown

const answer =
  (status: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    response.writeHead(status, headers).end()

/** A receiver of notifications, with a path for each behaviour. */
class Receiver {
  readonly #behaviours = new Map<string, Behaviour>()
  readonly #received = new Map<string, Received[]>()
  readonly #waiting = new Set<() => void>()
  origin = ""
  close: () => Promise<void> = async () => {}

  static async start(): Promise<Receiver> {
    const receiver = new Receiver()
    const server = await startServer((request, response) => receiver.#take(request, response))
    receiver.origin = server.origin
    receiver.close = () => server.close()
    return receiver
  }

  on(path: string, behave: Behaviour): string {
    this.#behaviours.set(path, behave)
    return `${this.origin}${path}`
  }

  received(path: string): readonly Received[] {
    return this.#received.get(path) ?? []
  }

  /** The first requests on a path, once there are so many. */
  async first(path: string, count: number): Promise<readonly Received[]> {
    const enough = new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.received(path).length < count) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
    await within(40_000, `request ${count} on ${path}`, enough)
    return this.received(path)
  }

  #take(request: Received, response: ServerResponse): void {
    const all = [...this.received(request.url), request]
    this.#received.set(request.url, all)
    this.#behaviours.get(request.url)?.(response, all.length)
    for (const look of this.#waiting) look()
  }
}

const headersOf = ({ headers }: Received): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

describe("notifications", async () => {
  const receiver = await Receiver.start()
  after(() => receiver.close())
  const service = await startService({
    NOTIFY_ORIGINS: `https://example.com, ${receiver.origin}`,
    NOTIFY_SECRET: `${secret},${older}`,
    API_KEYS: "ann:ann-key-0123456789",
  })
  const ann = { authorization: "Bearer ann-key-0123456789" }

  const run = async (body: object, notify: object, headers: Record<string, string> = {}): Promise<string> => {
    const request = { input: ada, ...body, options: { notify } }
    const response = await service.post("/execute", request, { ...ann, ...headers })
    assert.notEqual(response.status, 422, await response.clone().text())
    await response.text()
    return response.headers.get("x-service-run-id") ?? ""
  }

  const record = async (run_id: string): Promise<RunRecord> =>
    (await (await service.get(`/execute/${run_id}`, ann)).json()) as RunRecord

  /** The one notification of a run, when it has come this far. */
  const notificationOf = async (run_id: string, is: (seen: Notification) => boolean): Promise<Notification> => {
    const deadline = Date.now() + 120_000
    for (;;) {
      const [seen, ...more] = (await record(run_id)).notifications
      assert.deepEqual(more, [])
      if (seen !== undefined && is(seen)) return seen
      if (Date.now() > deadline) throw new Error(`The notification stays ${JSON.stringify(seen)}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  it("sends a signed message without content when the run completes", async () => {
    const url = receiver.on("/done", answer(204))
    const run_id = await run({ workflow_source: hello }, { url })
    const [request] = await receiver.first("/done", 1)
    assert.ok(request !== undefined)
    assert.equal(request.method, "POST")
    assert.match(request.headers["content-type"] ?? "", /^application\/json/)
    // The official library checks id, time and signature: with the new secret and with the old one.
    for (const known of [secret, older]) new Webhook(known).verify(request.body, headersOf(request))
    assert.throws(() => new Webhook("whsec_bm90IHRoZSByaWdodCBvbmUgYXQgYWxs").verify(request.body, headersOf(request)))
    assert.throws(() => new Webhook(secret).verify(`${request.body} `, headersOf(request)))
    const message = JSON.parse(request.body) as { type: string; timestamp: string; data: object }
    assert.deepEqual(Object.keys(message), ["type", "timestamp", "data"])
    assert.equal(message.type, "run.completed")
    assert.ok(Math.abs(Date.parse(message.timestamp) - Date.now()) < 60_000)
    assert.deepEqual(message.data, { run_id, caller: "ann", status: "completed", last_event_id: 5 })
    const seen = await notificationOf(run_id, ({ status }) => status !== "pending")
    assert.deepEqual(seen, { type: "run.completed", status: "delivered", attempts: 1, last_error: null })
  })

  it("tells of failures and cancels, and only of what was asked for", async () => {
    const url = receiver.on("/ends", answer(200))
    const failed = await run({ workflow_source: oneAgent("http://127.0.0.1:1/v1") }, { url, events: ["failed"] })
    const [first] = await receiver.first("/ends", 1)
    assert.match(first?.body ?? "", /"type":"run.failed".*"status":"failed"/)
    assert.ok(first?.body.includes(failed))
    const quiet = await run({ workflow_source: hello }, { url, events: ["failed", "cancelled", "waiting"] })
    assert.deepEqual((await record(quiet)).notifications, [])
    const prefer = { prefer: "respond-async" }
    const cancelled = await run({ workflow_source: (await heldAgent()).source }, { url, events: ["cancelled"] }, prefer)
    await service.post(`/execute/${cancelled}/cancel`, "", ann)
    const [, second] = await receiver.first("/ends", 2)
    assert.ok(second?.body.includes(cancelled))
    assert.match(second?.body ?? "", /"type":"run.cancelled"/)
    await notificationOf(cancelled, ({ status }) => status === "delivered")
    assert.equal(receiver.received("/ends").length, 2)
  })

  it("tells that a run waits for people, and how it goes on", async () => {
    const url = receiver.on("/waits", answer(200))
    const source = `ask review { question: "Publish?"  output { publish: boolean } } output { done: ask.review.publish }`
    const run_id = await run({ workflow_source: source, input: {} }, { url }, { prefer: "respond-async" })
    const [waits] = await receiver.first("/waits", 1)
    const { type, data } = JSON.parse(waits?.body ?? "") as { type: string; data: object }
    assert.equal(type, "run.waiting")
    assert.deepEqual(data, { run_id, caller: "ann", status: "waiting", last_event_id: 4 })
    const held = (await (await service.get(`/execute/${run_id}?wait=60`, ann)).json()) as RunRecord
    assert.equal(held.status, "waiting")
    await service.post(`/execute/${run_id}/cancel`, "", ann)
    const [, ends] = await receiver.first("/waits", 2)
    assert.match(ends?.body ?? "", /"type":"run.cancelled"/)
    assert.notEqual(ends?.headers["webhook-id"], waits?.headers["webhook-id"])
    const ended = (await (await service.get(`/execute/${run_id}?wait=60`, ann)).json()) as RunRecord
    assert.deepEqual(
      ended.notifications.map((seen) => seen.type),
      ["run.waiting", "run.cancelled"],
    )
  })

  it("tries again after about 5 s, with the same id; a receiver that is slow is no failure", async () => {
    const came: number[] = []
    const looked = Promise.withResolvers<void>()
    // The second answer comes two seconds late, and not before the test has looked at the failure of the first.
    const url = receiver.on("/flaky", (response, attempt) => {
      came.push(performance.now())
      if (attempt === 1) response.writeHead(500).end()
      else setTimeout(() => void looked.promise.then(() => response.writeHead(200).end()), 2_000)
    })
    const run_id = await run({ workflow_source: hello }, { url })
    const waiting = await notificationOf(run_id, ({ last_error }) => last_error !== null)
    looked.resolve()
    const { type, status, last_error } = waiting
    assert.deepEqual([type, status, last_error], ["run.completed", "pending", "The receiver answered 500"])
    const [first, second] = await receiver.first("/flaky", 2)
    const took = (came[1] ?? 0) - (came[0] ?? 0)
    assert.ok(took > 2_500, `the second attempt came after ${took} ms`)
    assert.equal(second?.headers["webhook-id"], first?.headers["webhook-id"])
    assert.equal(second?.body, first?.body)
    assert.ok(second !== undefined)
    new Webhook(secret).verify(second.body, headersOf(second))
    const seen = await notificationOf(run_id, ({ status }) => status === "delivered")
    assert.equal(seen.attempts, 2)
  })

  it("gives up when the receiver answers 410", async () => {
    const url = receiver.on("/gone", answer(410))
    const run_id = await run({ workflow_source: hello }, { url })
    const seen = await notificationOf(run_id, ({ status }) => status !== "pending")
    assert.deepEqual(seen, {
      type: "run.completed",
      status: "gave_up",
      attempts: 1,
      last_error: "The receiver answered 410",
    })
    assert.equal(receiver.received("/gone").length, 1)
  })

  it("follows no redirect", async () => {
    const elsewhere = await Receiver.start()
    const target = elsewhere.on("/private", answer(200))
    for (const status of [301, 302, 303, 307, 308]) {
      const path = `/moved/${status}`
      const url = receiver.on(path, answer(status, { location: target }))
      const run_id = await run({ workflow_source: hello }, { url })
      const seen = await notificationOf(run_id, ({ last_error }) => last_error !== null)
      assert.deepEqual([seen.status, seen.last_error], ["pending", `The receiver answered ${status}`])
    }
    assert.equal(elsewhere.received("/private").length, 0)
    await elsewhere.close()
  })

  it("waits 10 s for a receiver that hangs", async () => {
    const url = receiver.on("/hangs", () => undefined)
    const run_id = await run({ workflow_source: hello }, { url })
    await receiver.first("/hangs", 1)
    const from = performance.now()
    const { last_error } = await notificationOf(run_id, (seen) => seen.last_error !== null)
    assert.equal(last_error, "No complete response within 10000 ms")
    assert.ok(performance.now() - from > 5_000)
  })

  it("refuses what the operator does not allow", async () => {
    const body = { workflow_source: hello, input: ada }
    for (const url of ["https://elsewhere.example/x", "http://example.com/x", "https://example.com:8443/x"]) {
      const error = await errorOf(await service.post("/execute", { ...body, options: { notify: { url } } }, ann))
      assert.deepEqual([url, error.status, error.kind], [url, 422, "input_error"])
      assert.equal(error.issues[0]?.path, "options.notify.url")
      assert.match(error.message, /WIRE_NOTIFY_ORIGINS/)
    }
    for (const url of ["nonsense", "", "file:///etc/passwd", "https://ann:pw@example.com/x"]) {
      const error = await errorOf(await service.post("/execute", { ...body, options: { notify: { url } } }, ann))
      assert.deepEqual([url, error.status, error.kind], [url, 422, "input_error"])
    }
    const url = "https://example.com/x"
    for (const notify of [{}, { url: 1 }, { url, events: [] }, { url, events: ["done"] }, { url, more: 1 }, "x"]) {
      const error = await errorOf(await service.post("/execute", { ...body, options: { notify } }, ann))
      assert.deepEqual([error.status, error.kind], [400, "invalid_request"])
    }
    const plain = await service.post("/execute", { ...body, options: { notify: null } }, ann)
    assert.equal(plain.status, 200)
  })

  it("is part of the idempotency fingerprint", async () => {
    const url = receiver.on("/once", answer(200))
    const body = (notify: object | null) => ({ workflow_source: hello, input: ada, options: { notify } })
    const key = { ...ann, "idempotency-key": "notify-1" }
    const first = await service.post("/execute", body({ url }), key)
    assert.equal(first.status, 200)
    assert.equal((await service.post("/execute", body(null), key)).status, 409)
    assert.equal((await service.post("/execute", body({ url, events: ["failed"] }), key)).status, 409)
    const events = ["waiting", "failed", "cancelled", "completed"]
    const same = await service.post("/execute", body({ url, events }), key)
    assert.equal(same.headers.get("idempotency-replayed"), "true")
    await receiver.first("/once", 1)
  })
})

describe("notifications without a secret", async () => {
  const service = await startService({ NOTIFY_ORIGINS: "https://example.com" })

  it("are refused with the name of the setting", async () => {
    const options = { notify: { url: "https://example.com/x" } }
    const error = await errorOf(await service.post("/execute", { workflow_source: hello, input: ada, options }))
    assert.deepEqual([error.status, error.kind], [422, "input_error"])
    assert.match(error.message, /WIRE_NOTIFY_SECRET/)
  })
})

describe("notifications to a private address under a public policy", async () => {
  const receiver = await Receiver.start()
  after(() => receiver.close())
  const service = await startService({ NOTIFY_ORIGINS: receiver.origin, NOTIFY_SECRET: secret, EGRESS: "public" })

  it("are refused by egress", async () => {
    const url = receiver.on("/inside", answer(200))
    const body = { workflow_source: hello, input: ada, options: { notify: { url } } }
    const response = await service.post("/execute", body)
    const run_id = response.headers.get("x-service-run-id") ?? ""
    const deadline = Date.now() + 60_000
    for (;;) {
      const { notifications } = (await (await service.get(`/execute/${run_id}`)).json()) as RunRecord
      const [seen] = notifications
      if (seen !== undefined && seen.last_error !== null) {
        assert.equal(seen.status, "pending")
        assert.match(seen.last_error, /127\.0\.0\.1|private|loopback/)
        break
      }
      assert.ok(Date.now() < deadline, JSON.stringify(notifications))
    }
    assert.equal(receiver.received("/inside").length, 0)
  })
})
