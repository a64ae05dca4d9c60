import assert from "node:assert/strict"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import type { NatsServer } from "../../scripts/nats-servers.mjs"
import { oneOf, wait, type Keeper } from "./chaos.ts"
import { startNats, type NatsNode } from "./nats-server.ts"
import { noProofs } from "./nats-store.ts"
import { within } from "./within.ts"

/** Three brokers. */
export async function natsKeeper(server: NatsServer): Promise<Keeper> {
  const cluster = await startNats(3, "", server)
  const { nodes, url } = cluster
  return {
    store: url,
    trouble: (random, going, deeds) => troubleBrokers(nodes, random, going, deeds),
    async faults(runs, deeds) {
      let differing = await copiesThatDiffer(nodes)
      if (differing.length > 0) {
        // A copy that has fallen behind is no loss, for a majority has everything. What an operator would do: start its node again.
        deeds.push(`late: ${differing.join("; ")}`)
        for (const node of nodes) {
          await node.kill("SIGTERM")
          await node.start()
        }
        differing = await copiesThatDiffer(nodes)
      }
      return [...differing, ...(await runsInBroker(url, runs))]
    },
    async close() {
      for (const node of nodes) node.resume()
      await cluster.close()
    },
  }
}

async function troubleBrokers(
  nodes: readonly NatsNode[],
  random: () => number,
  going: () => boolean,
  deeds: string[],
): Promise<void> {
  while (going()) {
    await wait(500 + random() * 2_500)
    const node = oneOf(random, nodes)
    if (random() < 0.35) {
      deeds.push(`kill ${node.name}`)
      await node.kill()
      await wait(500 + random() * 2_500)
      await node.start()
    } else {
      deeds.push(`pause ${node.name}`)
      node.pause()
      await wait(1_000 + random() * 5_000)
      node.resume()
    }
  }
}

interface CopyState {
  readonly messages: number
  readonly first_seq: number
  readonly last_seq: number
  readonly num_subjects?: number
}

/** Waits until the three copies of each stream agree, each as its own node reports it. */
async function copiesThatDiffer(nodes: readonly NatsNode[]): Promise<string[]> {
  const deadline = performance.now() + 60_000
  for (;;) {
    const states = await Promise.all(nodes.map(copiesOf))
    const names = [...new Set(states.flatMap((state) => [...state.keys()]))]
    const differing = names.filter((name) => new Set(states.map((state) => state.get(name))).size !== 1)
    if (names.length > 0 && differing.length === 0) return []
    if (performance.now() > deadline) {
      return differing.map((name) => `copies of ${name} differ: ${states.map((state) => state.get(name)).join(" | ")}`)
    }
    await wait(250)
  }
}

async function copiesOf(node: NatsNode): Promise<Map<string, string>> {
  const response = await fetch(`${node.monitor}/jsz?streams=true`)
  const report = (await response.json()) as {
    account_details?: { stream_detail?: { name: string; state: CopyState }[] }[]
  }
  const streams = (report.account_details ?? []).flatMap(({ stream_detail = [] }) => stream_detail)
  return new Map(
    streams
      // Processes go on saying there that they live.
      .filter(({ name }) => !name.endsWith("_ALIVE"))
      .map(({ name, state: { messages, first_seq, last_seq, num_subjects = 0 } }) => [
        name,
        JSON.stringify({ messages, first_seq, last_seq, num_subjects }),
      ]),
  )
}

async function noneOpen(broker: Broker): Promise<void> {
  while ((await broker.list("rows", broker.names.anyOpen)).length > 0) await wait(250)
}

/** As many runs as there were keys, none of them open. */
async function runsInBroker(url: string, runs: number): Promise<string[]> {
  const read = readAddress(url)
  assert.ok(read.ok)
  const broker = await Broker.connect(read.address, noProofs, namesOf("wire"))
  try {
    const made = (await broker.list("rows", broker.names.run("*"))).length
    return [
      ...(made === runs ? [] : [`${made} runs were made for ${runs} keys`]),
      // Entries of runs that ended while the broker was in trouble are removed later, by the next process that looks for work.
      ...(await within(60_000, "the end of the last open run", noneOpen(broker)).then(
        () => [],
        async () => [`${(await broker.list("rows", broker.names.anyOpen)).length} runs are still open`],
      )),
    ]
  } finally {
    await broker.close()
  }
}
