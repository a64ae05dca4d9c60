import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { ensureStreams, wantedStreams } from "../../src/adapters/nats/streams.ts"
import { realSurroundings } from "../../src/adapters/nats/transport.ts"
import { directTransport, SimulatedBroker } from "../simulation/simulated-broker.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { noProofs, defaultSizes } from "../support/nats-store.ts"
import { Random } from "../support/random.ts"
import { within } from "../support/within.ts"

// The simulation is worth as much as its broker is like the real one: both are asked the same, and answer the same.

const rounds = 600
let cluster: NatsCluster

before(async () => {
  cluster = await startNats(1)
})
after(() => cluster.close())

test("the simulated broker answers as the real one does", { timeout: 600_000 }, async () => {
  const names = namesOf("same")
  const read = readAddress(cluster.url)
  assert.ok(read.ok)
  const real = await Broker.connect(read.address, noProofs, names)
  try {
    await ensureStreams(real.transport.manager, names, defaultSizes, { clustered: false, named: 1 })
    const streams = wantedStreams(names, defaultSizes, 1)
    const simulated = new Broker(
      names,
      directTransport(new SimulatedBroker(() => performance.now(), { now: () => Date.now() }, streams)),
      realSurroundings,
    )
    const received: [string[], string[]] = [[], []]
    for (const [index, broker] of [real, simulated].entries()) {
      for (const subject of ["same.live.>", "same.alive.*"]) {
        broker.listen(subject, (message) => received[index]?.push(`${message.subject} ${text(message.data)}`))
      }
    }
    await real.flush()
    const random = new Random(1)
    for (let round = 0; round < rounds; round++) {
      const ask = randomRequest(random, round)
      const answers = await Promise.all([ask.send(real), ask.send(simulated)])
      assert.deepEqual(answers[1], answers[0], `round ${round}: ${ask.what}`)
    }
    const last = "same.alive.last"
    await Promise.all([real.put(last, Buffer.from("end")), simulated.put(last, Buffer.from("end"))])
    const isOver = (): boolean => received[0].includes(`${last} end`)
    await within(30_000, "the last announcement", until(isOver))
    assert.ok(received[1].length > 30)
    // Announcements of several subscriptions of one connection come in any order among them.
    assert.deepEqual(received[1].toSorted(), received[0].toSorted())
  } finally {
    await real.close()
  }
})

interface Ask {
  readonly what: string
  send(broker: Broker): Promise<unknown>
}

function randomRequest(random: Random, round: number): Ask {
  const subjects = [
    `same.rows.run.r${random.below(3)}`,
    `same.rows.wait.r${random.below(2)}.q${random.below(3)}`,
    `same.rows.open.r.${random.below(3)}.r${random.below(2)}.1.held`,
    `same.rows.cancel.r${random.below(3)}`,
  ]
  const alive = `same.alive.s${random.below(2)}`
  const [stream, subject] = random.chance(0.2)
    ? (["alive", alive] as const)
    : (["rows", random.pick(subjects)] as const)
  const data = Buffer.from(`${round}`)
  const filter = random.pick([subject, `same.${stream}.>`, subject.replace(/[^.]+$/, "*"), `same.${stream}.*.*`])
  const seq = random.below(round + 2)
  const replaces = stream === "rows" && random.chance(0.3) ? ({ replaces: true } as const) : {}
  const others = random.chance(0.5) ? subjects : subjects.slice(0, 2)
  const asks: readonly Ask[] = [
    { what: `put ${subject}`, send: (broker) => broker.write([{ subject, data, ...replaces }]) },
    { what: `put ${subject} once`, send: (broker) => broker.write([{ subject, data, expected: 0 }]) },
    { what: `replace ${subject} ${seq}`, send: (broker) => broker.write([{ subject, data, expected: seq }]) },
    {
      what: `write a batch`,
      send: (broker) => broker.write(others.map((one) => ({ subject: one, data, ...replaces }))),
    },
    {
      what: `write a batch that expects, with ${seq}`,
      send: async (broker) => {
        const found = await Promise.all(others.map((one) => broker.row(one)))
        const expected = (index: number): number => (index === 1 && round % 3 === 0 ? seq : (found[index]?.seq ?? 0))
        return broker.write(others.map((one, index) => ({ subject: one, data, expected: expected(index) })))
      },
    },
    { what: `get ${subject}`, send: async (broker) => shown(await broker.get(stream, subject, "sure")) },
    { what: `get near ${subject}`, send: async (broker) => shown(await broker.get(stream, subject, "near")) },
    { what: `next ${subject} ${seq}`, send: async (broker) => shown(await broker.next(subject, seq)) },
    { what: `next of any ${seq}`, send: async (broker) => shown(await broker.next("same.rows.>", seq)) },
    {
      what: `page ${subject} ${seq}`,
      send: async (broker) => (await broker.page(subject, seq, { count: 3, bytes: 100_000 })).map(shown),
    },
    {
      what: `count ${filter}`,
      send: async (broker) => ({ ...(await broker.count(stream, filter)) }),
    },
    { what: `erase ${subject}`, send: (broker) => broker.erase(stream, subject) },
    { what: `erase ${subject} ${seq}`, send: (broker) => broker.erase(stream, subject, seq) },
    { what: `drop the history of ${subject}`, send: (broker) => broker.dropHistory(subject) },
    ...(random.chance(0.1)
      ? [{ what: `purge ${filter}`, send: (broker: Broker) => broker.purge(stream, filter) }]
      : []),
  ]
  return random.pick(asks)
}

function shown(stored: { readonly subject: string; readonly seq: number; readonly data: Uint8Array } | null): unknown {
  return stored === null ? null : { ...stored, data: text(stored.data) }
}

function text(data: Uint8Array): string {
  return Buffer.from(data).toString()
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
