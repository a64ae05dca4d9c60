import assert from "node:assert/strict"
import { createHmac, randomBytes } from "node:crypto"
import { after, test } from "node:test"
import { replica, type Replica } from "./replica.ts"
import { within } from "./within.ts"
import { folderOf } from "./workflow-folder.ts"

const secret = "0123456789abcdef0123"
const week = 604_800

const workflow = `
input { order: string }
secrets { hook: string }
webhook settled {
    verify: github
    secret: secrets.hook
    event {
        name: "payment.settled"
        key: body.order
        data { status: "settled", amount: body.amount }
    }
}
wait moment { seconds: 0.3 }
wait paid {
    after: wait.moment
    event: "payment.settled"
    key: input.order
    expires_seconds: ${week}
    output { status: string amount: number }
}
output { amount: wait.paid.amount }
`

interface Run {
  readonly status: string
  readonly output?: { readonly amount: number }
  readonly waiting_for?: { readonly waits: readonly { readonly event?: string; readonly key?: string }[] }
}

/** Runs wait for payments, while the processes that serve are killed: the event comes by a webhook at one, and before the run at another. */
export function checkWaitingForPayment(what: string, open: () => Promise<Record<string, string>>, count: 1 | 2): void {
  test(`${what}: a payment that comes by a webhook, after a kill, and one that came before the run`, async () => {
    const settings = Object.entries(await open()).map(([name, value]) => [`WIRE_${name}`, value] as const)
    const env = Object.fromEntries([
      ...settings,
      ["WIRE_WORKFLOWS", folderOf({ "order.wire": workflow })],
      ["WIRE_SECRET_HOOK", secret],
    ])
    const replicas = Array.from({ length: count }, (_, index) => replica(`replica ${index + 1}`, env))
    after(() => {
      for (const one of replicas) if (one.running) one.signal("SIGKILL")
    })
    for (const one of replicas) await one.start()
    const [first, last] = [replicas[0] as Replica, replicas.at(-1) as Replica]
    const json = async <T>(at: Replica, path: string, body?: object): Promise<T> => {
      const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
      const response = await fetch(`${at.address}${path}`, {
        ...sent,
        headers: { "content-type": "application/json", prefer: "respond-async" },
      })
      return (await response.json()) as T
    }
    const until = async (at: Replica, run_id: string, fits: (run: Run) => boolean): Promise<Run> => {
      for (;;) {
        const run = await json<Run>(at, `/execute/${run_id}`)
        if (fits(run)) return run
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const { run_id } = await json<{ run_id: string }>(first, "/workflows/order/execute", { input: { order: "A-17" } })
    const parked = await within(
      60_000,
      "the run waits for its payment",
      until(first, run_id, ({ status, waiting_for }) => status === "waiting" && waiting_for?.waits[0]?.key === "A-17"),
    )
    assert.equal(parked.waiting_for?.waits[0]?.event, "payment.settled")
    for (const one of replicas) {
      one.signal("SIGKILL")
      await one.ended()
    }
    for (const one of replicas) await one.start()
    const delivery = JSON.stringify({ order: "A-17", amount: 5 })
    const signature = `sha256=${createHmac("sha256", secret).update(delivery).digest("hex")}`
    const delivered = await fetch(`${last.address}/hooks/order/settled`, {
      method: "POST",
      body: delivery,
      headers: { "content-type": "application/json", "x-hub-signature-256": signature },
    })
    assert.deepEqual([delivered.status, await delivered.json()], [202, { delivered: 1, kept: false }])
    const paid = await within(
      60_000,
      "the run ends",
      until(first, run_id, ({ status }) => status === "completed"),
    )
    assert.equal(paid.output?.amount, 5)
    const event = { name: "payment.settled", key: "B-1", data: { status: "settled", amount: 7 }, keep_seconds: 600 }
    const kept = await json<{ kept: boolean }>(last, "/events", { ...event, id: randomBytes(8).toString("hex") })
    assert.equal(kept.kept, true)
    last.signal("SIGKILL")
    await last.ended()
    await last.start()
    const early = await json<{ run_id: string }>(first, "/workflows/order/execute", { input: { order: "B-1" } })
    const taken = await within(
      60_000,
      "it ends",
      until(last, early.run_id, ({ status }) => status === "completed"),
    )
    assert.equal(taken.output?.amount, 7)
    assert.deepEqual(await json(first, "/events"), { events: [], next: null })
    for (const one of replicas) {
      one.signal("SIGTERM")
      await one.ended()
    }
  })
}
