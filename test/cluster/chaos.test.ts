import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { after, before, test } from "node:test"
import { followRun, startCluster, type TestCluster } from "../support/cluster.ts"
import { startServer, type TestServer } from "../support/http-server.ts"
import { natsServers } from "../support/nats-server.ts"
import { within } from "../support/within.ts"

// Three brokers, three replicas, many runs; meanwhile replicas are killed and stopped, brokers killed and started again, all
// by chance with a seed that is printed (`CHAOS_SEED`). The model lives in this process and counts.

const runs = Number(process.env["CHAOS_RUNS"] ?? 200)
const chaosMs = Number(process.env["CHAOS_MS"] ?? 40_000)
const agents = ["first", "second", "third"]

const source = `
input { endpoint: string  n: number }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key }
model m from p { id: "m" }
agent first { model: model.m  instruction: "first of {{ input.n }}."  output { message: string } }
agent second { model: model.m  instruction: "second of {{ input.n }}. {{ agent.first.message }}"  output { message: string } }
agent third { model: model.m  instruction: "third of {{ input.n }}. {{ agent.second.message }}"  output { message: string } }
output { message: agent.third.message }
`

interface Call {
  readonly n: number
  readonly agent: string
  readonly at: number
}

let model: TestServer
let cluster: TestCluster
const calls: Call[] = []

before(async () => {
  model = await startServer((request, response) => {
    const [, agent = "", n = ""] = /(first|second|third) of (\d+)\./.exec(request.body) ?? []
    calls.push({ n: Number(n), agent, at: Date.now() })
    const content = [{ type: "output_text", text: JSON.stringify({ message: `${agent} done` }) }]
    const answer = {
      output: [{ type: "message", role: "assistant", content }],
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)), 800)
  })
  cluster = await startCluster(3, natsServers()[0], { WIRE_MAX_RUNS: "60" })
})

after(async () => {
  await cluster.close()
  await model.close()
})

/** Mulberry32: small, and the same everywhere. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test(`${runs} runs while replicas and brokers die`, { timeout: 170_000 }, async (t) => {
  const seed = Number(process.env["CHAOS_SEED"] ?? randomInt(2 ** 31))
  t.diagnostic(`seed ${seed}`)
  const { replicas, broker } = cluster
  const pick = () => {
    const there = replicas.filter(({ address }) => address !== "")
    return there[Math.floor(Math.random() * there.length)]?.address ?? ""
  }
  const giveUp = AbortSignal.timeout(150_000)
  let stopped = false
  const deeds: string[] = []
  const started = performance.now()
  const going = () => performance.now() - started < chaosMs && !stopped
  const replicaTroubles = async (random: () => number) => {
    while (going()) {
      const victim = replicas[Math.floor(random() * replicas.length)]
      const deed = random()
      if (victim === undefined) continue
      if (deed < 0.5) {
        deeds.push(`kill ${victim.name}`)
        victim.signal("SIGKILL")
        await victim.ended()
        await victim.start()
      } else if (deed < 0.85) {
        deeds.push(`stop ${victim.name}`)
        victim.signal("SIGSTOP")
        await wait(4_000 + random() * 1_500)
        victim.signal("SIGCONT")
      } else {
        deeds.push(`restart ${victim.name}`)
        victim.signal("SIGTERM")
        assert.equal(await victim.ended(), 0, victim.errors)
        await victim.start()
      }
      await wait(200 + random() * 1_000)
    }
  }
  const brokerTroubles = async (random: () => number) => {
    while (going()) {
      await wait(2_000 + random() * 4_000)
      const node = broker.nodes[Math.floor(random() * broker.nodes.length)]
      if (node === undefined) continue
      deeds.push(`kill ${node.name}`)
      await node.kill()
      await wait(500 + random() * 2_500)
      await node.start()
    }
  }
  const chaos = Promise.all([replicaTroubles(chance(seed)), brokerTroubles(chance(seed + 1))])
  const body = (n: number) => ({
    workflow_source: source,
    input: { endpoint: `${model.origin}/v1`, n },
    secrets: { key: "sk-chaos-0123456789" },
  })
  const clients = Array.from({ length: runs }, async (_, n) => {
    await wait((n / runs) * chaosMs * 0.9)
    return { n, ...(await followRun(body(n), `run-${seed}-${n}`, pick, giveUp)) }
  })
  const outcomes = await Promise.allSettled(clients)
  stopped = true
  await chaos
  t.diagnostic(deeds.join(", "))
  const failed = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []))
  assert.deepEqual(failed, [])

  let reconnects = 0
  for (const outcome of outcomes) {
    if (outcome.status !== "fulfilled") continue
    const { n, run_id, events, connections } = outcome.value
    reconnects += connections - 1
    // What the client saw is the log, gap-free and without repeats.
    const log = await within(20_000, `the log of run ${n}`, logOf(pick(), run_id))
    assert.deepEqual(events, log, `run ${n}`)
    assert.deepEqual(
      log.map(({ id }) => id),
      log.map((_, index) => index + 1),
    )
    assert.equal(log.filter(({ type }) => /^workflow_(completed|failed|cancelled)$/.test(type)).length, 1)
    assert.equal(log.at(-1)?.type, "workflow_completed", JSON.stringify(log.at(-1)))
    // No agent was called after the log said that it had completed, and none completed twice.
    for (const agent of agents) {
      const completed = log.filter(({ type, data }) => type === "agent_completed" && data["agent"] === agent)
      assert.equal(completed.length, 1, `${agent} of run ${n}`)
      const at = Date.parse(String(completed[0]?.data["at"]))
      const own = calls.filter((call) => call.n === n && call.agent === agent)
      assert.ok(own.length >= 1)
      for (const call of own)
        assert.ok(call.at <= at, `${agent} of run ${n} was called ${call.at - at} ms after its end`)
    }
  }
  t.diagnostic(`${reconnects} reconnects, ${calls.length} model calls for ${runs * agents.length} agents`)
})

async function logOf(address: string, run_id: string) {
  const response = await fetch(`${address}/execute/${run_id}/events`, { headers: { accept: "text/event-stream" } })
  const text = await response.text()
  return [...text.matchAll(/^id: ?(\d+)\nevent: ?(\S+)\ndata: ?(.*)$/gm)].map(([, id, type, data]) => ({
    id: Number(id),
    type: type ?? "",
    data: JSON.parse(data ?? "null") as Record<string, unknown>,
  }))
}
