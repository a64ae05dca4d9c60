import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { Webhook } from "standardwebhooks"
import { startWire } from "../cli/run-wire.ts"
import { ada, hello } from "../contract/http/start-service.ts"
import { startServer } from "../support/http-server.ts"
import { within } from "../support/within.ts"

// The service dies between the delivery of a notification and its record: the notification is delivered again under the same id.

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

test("killed while it delivers, the service delivers again under the same id", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "wire-notify-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const delivered = Promise.withResolvers<void>()
  const receiver = await startServer((_request, response) => {
    if (receiver.received.length === 1) {
      // The receiver has the message. Its answer never arrives.
      first.child.kill("SIGKILL")
      return
    }
    response.writeHead(200).end()
    delivered.resolve()
  })
  t.after(() => receiver.close())
  const settings = {
    WIRE_PORT: "0",
    WIRE_DATA_DIR: folder,
    WIRE_LOG_LEVEL: "error",
    WIRE_NOTIFY_ORIGINS: receiver.origin,
    WIRE_NOTIFY_SECRET: secret,
  }
  const first = await startWire(["serve"], settings)
  const started = await fetch(`${first.address}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({
      workflow_source: hello,
      input: ada,
      options: { notify: { url: `${receiver.origin}/hook` } },
    }),
  })
  const { run_id } = (await started.json()) as { run_id: string }
  await within(30_000, "the end of the first service", first.ended)

  const second = await startWire(["serve"], settings)
  await within(40_000, "the second delivery", delivered.promise)
  const [one, two, ...more] = receiver.received
  assert.ok(one !== undefined && two !== undefined)
  assert.deepEqual(more, [])
  assert.equal(two.headers["webhook-id"], one.headers["webhook-id"])
  assert.equal(two.body, one.body)
  for (const { body, headers } of [one, two]) {
    new Webhook(secret).verify(body, headers as Record<string, string>)
  }
  const deadline = Date.now() + 60_000
  for (;;) {
    const record = (await (await fetch(`${second.address}/execute/${run_id}`)).json()) as { notifications: unknown[] }
    const delivery = { type: "run.completed", status: "delivered", attempts: 2, last_error: null }
    if (JSON.stringify(record.notifications) === JSON.stringify([delivery])) break
    assert.ok(Date.now() < deadline, JSON.stringify(record.notifications))
  }
  second.child.kill("SIGTERM")
  await within(30_000, "the end of the second service", second.ended)
})
