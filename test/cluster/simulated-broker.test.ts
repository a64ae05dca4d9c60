import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf, type StreamName } from "../../src/adapters/nats/names.ts"
import { ensureStreams, wantedStreams } from "../../src/adapters/nats/streams.ts"
import { realSurroundings } from "../../src/adapters/nats/transport.ts"
import { directTransport, SimulatedBroker } from "../simulation/simulated-broker.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { noProofs, usualSizes } from "../support/nats-store.ts"
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
    await ensureStreams(real.transport.manager, names, usualSizes, { clustered: false, named: 1 })
    const streams = wantedStreams(names, usualSizes, 1)
    const simulated = new Broker(
      names,
      directTransport(new SimulatedBroker(() => performance.now(), { now: () => Date.now() }, streams)),
      realSurroundings,
    )
    const received: [string[], string[]] = [[], []]
    for (const [index, broker] of [real, simulated].entries()) {
      for (const subject of ["same.live.*.*", "same.said.cancel.*", "same.alive.*", "same.told.news.*.*"]) {
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
  const [stream, subject] = random.pick<readonly [StreamName, string]>([
    ["log", `same.log.r${random.below(2)}.${random.below(4)}`],
    ["log", `same.log.r${random.below(2)}.0.piece.${random.below(2)}`],
    ["keys", `same.keys.cancel.r${random.below(3)}`],
    ["open", `same.open.${random.below(3)}.r${random.below(2)}`],
    ["alive", `same.alive.s${random.below(2)}`],
    ["ask", `same.ask.news.r${random.below(2)}.q${random.below(3)}`],
    ["ask", `same.ask.woken.r${random.below(2)}.q${random.below(2)}`],
  ])
  const data = Buffer.from(`${round}`)
  const filter = random.pick([subject, `same.${stream}.>`, subject.replace(/[^.]+$/, "*"), `same.${stream}.*.*`])
  const seq = random.below(round + 2)
  const asks: readonly Ask[] = [
    { what: `put ${subject}`, send: (broker) => broker.put(subject, data) },
    { what: `putOnce ${subject}`, send: (broker) => broker.putOnce(subject, data) },
    { what: `replace ${subject} ${seq}`, send: (broker) => broker.replace(subject, data, seq) },
    {
      what: `replace the newest of ${subject}`,
      send: async (broker) => {
        const found = await broker.getFromLeader(stream, subject)
        return found === null ? null : broker.replace(subject, data, found.seq)
      },
    },
    { what: `get ${subject}`, send: async (broker) => shown(await broker.get(stream, subject, "sure")) },
    { what: `get near ${subject}`, send: async (broker) => shown(await broker.get(stream, subject, "near")) },
    { what: `next ${stream} ${seq}`, send: async (broker) => shown(await broker.next(stream, seq)) },
    {
      what: `count ${filter}`,
      send: async (broker) => ({ ...(await broker.count(stream, filter)) }),
    },
    { what: `erase ${subject}`, send: (broker) => broker.erase(stream, subject) },
    { what: `erase ${subject} ${seq}`, send: (broker) => broker.erase(stream, subject, seq) },
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
