import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, describe, test } from "node:test"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { ensureStreams } from "../../src/adapters/nats/streams.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { ann, aQuestion, asked, waits } from "../contract/run-store/asking.ts"
import { created, leaseMs } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores, noProofs, defaultSizes } from "../support/nats-store.ts"
import { startProxy, type Passage } from "../support/tcp-proxy.ts"
import { within } from "../support/within.ts"

// A process that dies at one exact step while a run begins to wait and something comes for it: its connection to the broker ends
// with the request of that step. Another process must still find the run.

let broker: NatsCluster
before(async () => {
  broker = await startNats(1)
})
after(() => broker.close())

interface Scene {
  readonly clock: ManualClock
  /** Dies when its connection does. */
  readonly dying: RunStore
  readonly other: RunStore
  /** The dying store's requests that match are its last. `first` runs before such a request reaches the broker. */
  dieWith(request: RegExp, first?: () => Promise<void>): Promise<void>
}

async function scene(body: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock()
  let watch: (sent: string) => Passage | Promise<Passage> = () => "pass"
  const proxy = await startProxy(broker.nodes[0]?.port ?? 0, (sent) => watch(sent))
  const open = natsStores(broker.url, clock)
  const [other, dying] = [await open(), await open({ address: { ...addressOf(proxy.port) } })]
  const dieWith = (request: RegExp, first?: () => Promise<void>): Promise<void> =>
    new Promise((resolve, reject) => {
      watch = async (sent) => {
        if (!request.test(sent)) return "pass"
        await first?.().catch(reject)
        resolve()
        return "pass, then cut"
      }
    })
  try {
    await body({ clock, dying, other, dieWith })
  } finally {
    await proxy.close()
    await Promise.all([other.close(), dying.close()])
  }
}

function addressOf(port: number) {
  return { servers: [`127.0.0.1:${port}`], user: null, password: null, token: null, tls: false }
}

/** What a process that dies asks for is never answered, or refused when the test ends. */
function abandoned(asked: Promise<unknown>): void {
  asked.catch(() => undefined)
}

/** Another process takes the run up, at the latest when the leases of the dead one have run out. */
async function isFound({ other, clock }: Scene, run_id: string): Promise<{ readonly woken: boolean }> {
  let [claim] = await other.claim("owner-2", 10, leaseMs)
  if (claim === undefined) {
    clock.advance(leaseMs)
    ;[claim] = await other.claim("owner-2", 10, leaseMs)
  }
  assert.ok(claim?.run_id === run_id)
  return claim
}

describe("a process that dies while a run begins to wait", { concurrency: true }, () => {
  const steps = {
    "with the batch that parks the run": /PUB [^ ]*\.rows\.run\./,
    "when it removes the entry of the run among those that it works on": /STREAM\.PURGE\.[^ ]*_ROWS /,
  }
  for (const [when, request] of Object.entries(steps)) {
    test(`${when}: an answer that came before wakes it`, () =>
      scene(async (on) => {
        const lease = await created(on.dying)
        await on.dying.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock))])
        assert.equal((await on.other.questions.answer(lease.run_id, "q1", ann))?.stored, true)
        const died = on.dieWith(request)
        abandoned(on.dying.append(lease, [waits(2, ["q1"], on.clock)]))
        await within(30_000, "the step", died)
        // It is parked and woken, or its owner died before it was parked, which had not seen the answer.
        await isFound(on, lease.run_id)
      }))
  }

  test("an answer comes while the run begins to wait, and the process that brings it dies: it counts whole or not at all", () =>
    scene(async (on) => {
      const lease = await created(on.other)
      await on.other.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock))])
      const died = on.dieWith(new RegExp(`PUB [^ ]*\\.rows\\.outcome\\.${lease.run_id}\\.q1`), () =>
        on.other.append(lease, [waits(2, ["q1"], on.clock)]),
      )
      abandoned(on.dying.questions.answer(lease.run_id, "q1", ann))
      await within(30_000, "the outcome", died)
      // The run was changed since that process read it, so that nothing of its answer is stored.
      assert.equal((await on.other.questions.one(lease.run_id, "q1"))?.status, "open")
      assert.deepEqual(await on.other.claim("owner-2", 10, leaseMs), [])
      assert.equal((await on.other.questions.answer(lease.run_id, "q1", ann))?.stored, true)
      assert.equal((await isFound(on, lease.run_id)).woken, true)
    }))

  test("a cancel comes while the run begins to wait, and the process that brings it dies: it counts whole or not at all", () =>
    scene(async (on) => {
      const lease = await created(on.other)
      const died = on.dieWith(new RegExp(`PUB [^ ]*\\.rows\\.cancel\\.${lease.run_id}`), () =>
        on.other.append(lease, [asked(1, aQuestion(lease.run_id, "q1", on.clock)), waits(2, ["q1"], on.clock)]),
      )
      abandoned(on.dying.requestCancel(lease.run_id))
      await within(30_000, "the cancel", died)
      assert.deepEqual(await on.other.claim("owner-2", 10, leaseMs), [])
      assert.equal(await on.other.requestCancel(lease.run_id), true)
      assert.equal((await isFound(on, lease.run_id)).woken, true)
    }))
})

test("a list of many subjects is kept for a moment, one of few is not", { timeout: 600_000 }, async () => {
  const names = namesOf(`l${randomBytes(6).toString("hex")}`)
  const [node] = broker.nodes
  const connected = await Broker.connect(addressOf(node?.port ?? 0), noProofs, names)
  try {
    await ensureStreams(connected.transport.manager, names, defaultSizes, { clustered: false, named: 1 })
    const add = (number: number) => connected.put(names.parked("ann", String(number), 1), new Uint8Array(1))
    const list = () => connected.listRecent("rows", names.parked("*", "*", "*"), 3_600_000)
    for (let count = 1; count <= 3; count++) {
      await add(count)
      assert.equal((await list()).length, count)
    }
    await Promise.all(Array.from({ length: 200 }, (_, index) => add(index + 1)))
    const many = await list()
    assert.equal(many.length, 200)
    await add(201)
    assert.equal(await list(), many)
    assert.equal((await connected.listRecent("rows", names.parked("*", "*", "*"), 0)).length, 201)
  } finally {
    await connected.close()
  }
})
