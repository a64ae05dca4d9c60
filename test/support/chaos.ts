import assert from "node:assert/strict"
import { followRun, replica, replicaEnvironment, type Replica, type SeenEvent } from "./replica.ts"
import { startServer } from "./http-server.ts"
import { within } from "./within.ts"

// Three replicas on a store that they share, many runs; meanwhile replicas are killed, paused and restarted, and what keeps the store is killed and paused,
// one at a time, all by a chance that a seed decides. The model lives in this process and counts.

/** What keeps the store that the replicas share. */
export interface Keeper {
  /** `WIRE_STORE`. */
  readonly store: string
  /** Makes trouble while `going`, writes down what it did, and leaves everything running. */
  trouble(random: () => number, going: () => boolean, deeds: string[]): Promise<void>
  /** Looks at everything that is stored in the end. */
  faults(runs: number, deeds: string[]): Promise<string[]>
  close(): Promise<void>
}

export interface ChaosOptions {
  readonly keeper: () => Promise<Keeper>
  readonly seed: number
  readonly runs: number
  /** How long there is trouble. */
  readonly ms: number
  /** Replicas have trouble of their own, too, unless they are left alone. */
  readonly replicas?: "left alone"
}

export interface ChaosReport {
  readonly runs: number
  readonly deeds: readonly string[]
  readonly reconnects: number
  /** Calls of the model, and how many a run without trouble would have made. */
  readonly calls: number
  readonly agents: number
  /** Times that a run was taken up again. */
  readonly resumed: number
  /** What went wrong: a run that was lost, cut or duplicated, a call by a process that had lost its run. */
  readonly faults: readonly string[]
}

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

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export function oneOf<T>(random: () => number, all: readonly T[]): T {
  const found = all[Math.floor(random() * all.length)]
  if (found === undefined) throw new Error("There is nothing to choose from")
  return found
}

export async function runChaos({ keeper: startKeeper, seed, runs, ms, ...how }: ChaosOptions): Promise<ChaosReport> {
  const calls: { readonly n: number; readonly agent: string; readonly at: number }[] = []
  const model = await startServer((request, response) => {
    const [, agent = "", n = ""] = /(first|second|third) of (\d+)\./.exec(request.body) ?? []
    calls.push({ n: Number(n), agent, at: Date.now() })
    const content = [{ type: "output_text", text: JSON.stringify({ message: `${agent} done` }) }]
    const answer = {
      output: [{ type: "message", role: "assistant", content }],
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer)), 800)
  })
  const keeper = await startKeeper()
  const environment = { ...replicaEnvironment(keeper.store), WIRE_MAX_RUNS: "60" }
  const replicas = [1, 2, 3].map((number) => replica(`replica-${number}`, environment))
  const deeds: string[] = []
  const faults: string[] = []
  let stopped = false
  try {
    await Promise.all(replicas.map((one) => one.start()))
    const started = performance.now()
    const going = (): boolean => performance.now() - started < ms && !stopped
    const trouble = Promise.all([
      how.replicas === "left alone" ? null : troubleReplicas(replicas, chance(seed), going, deeds),
      keeper.trouble(chance(seed + 1), going, deeds),
    ])
    trouble.catch(() => undefined)
    // All runs end. How soon depends on the machine: a client whose request got lost waits for minutes before it asks again.
    const giveUp = AbortSignal.timeout(ms + 600_000)
    const clients = Array.from({ length: runs }, async (_, n) => {
      const random = chance(seed * 1_000 + n)
      const pick = (): string => {
        const there = replicas.filter(({ address }) => address !== "")
        return there.length === 0 ? "" : oneOf(random, there).address
      }
      await wait((n / runs) * ms * 0.9)
      return { n, ...(await followRun(body(model.origin, n), keyOf(seed, n), pick, giveUp)) }
    })
    const outcomes = await Promise.allSettled(clients)
    stopped = true
    await trouble
    const ended = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []))
    for (const outcome of outcomes) if (outcome.status === "rejected") faults.push(String(outcome.reason))

    let resumed = 0
    for (const { n, run_id, events } of ended) {
      resumed += events.filter(({ type }) => type === "run_resumed").length
      // What the client saw is the log, wherever it is read.
      for (const { name, address } of replicas) {
        const log = await within(30_000, `the log of run ${n} at ${name}`, logOf(address, run_id))
        if (JSON.stringify(log) !== JSON.stringify(events)) {
          faults.push(`run ${n} has ${log.length} events at ${name}, and the client saw ${events.length}`)
        }
      }
      faults.push(...faultsOf(n, events, calls))
      // One key is one run, at every replica.
      for (const { name, address } of replicas) {
        const again = await askAgain(address, body(model.origin, n), keyOf(seed, n))
        if (again !== run_id) faults.push(`the key of run ${n} gives another run at ${name}`)
      }
    }
    faults.push(...(await keeper.faults(runs, deeds)))
    return {
      runs,
      deeds,
      reconnects: ended.reduce((sum, { connections }) => sum + connections - 1, 0),
      calls: calls.length,
      agents: runs * agents.length,
      resumed,
      faults,
    }
  } finally {
    stopped = true
    for (const one of replicas) one.signal("SIGKILL")
    await Promise.all(replicas.map((one) => one.ended()))
    await keeper.close()
    await model.close()
  }
}

/** As a service manager does it: a store that cannot be reached at this moment ends the start. */
async function startAgain(one: Replica): Promise<void> {
  for (const deadline = performance.now() + 120_000; ; await wait(500)) {
    try {
      return await one.start()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

async function troubleReplicas(
  replicas: readonly Replica[],
  random: () => number,
  going: () => boolean,
  deeds: string[],
): Promise<void> {
  while (going()) {
    const victim = oneOf(random, replicas)
    const deed = random()
    if (deed < 0.4) {
      deeds.push(`kill ${victim.name}`)
      victim.signal("SIGKILL")
      await victim.ended()
      await startAgain(victim)
    } else if (deed < 0.85) {
      deeds.push(`pause ${victim.name}`)
      victim.signal("SIGSTOP")
      await wait(3_000 + random() * 3_000)
      victim.signal("SIGCONT")
    } else {
      deeds.push(`restart ${victim.name}`)
      victim.signal("SIGTERM")
      assert.equal(await within(60_000, `the end of ${victim.name}`, victim.ended()), 0, victim.errors)
      await startAgain(victim)
    }
    await wait(200 + random() * 1_000)
  }
}

const keyOf = (seed: number, n: number): string => `run-${seed}-${n}`

const body = (origin: string, n: number): object => ({
  workflow_source: source,
  input: { endpoint: `${origin}/v1`, n },
  secrets: { key: "sk-chaos-0123456789" },
})

function faultsOf(
  n: number,
  log: readonly SeenEvent[],
  calls: readonly { readonly n: number; readonly agent: string; readonly at: number }[],
): string[] {
  const faults: string[] = []
  if (log.some(({ id }, index) => id !== index + 1)) faults.push(`run ${n} has gaps or repeats`)
  const ends = log.filter(({ type }) => /^workflow_(completed|failed|cancelled)$/.test(type))
  if (ends.length !== 1) faults.push(`run ${n} has ${ends.length} ends`)
  if (log.at(-1)?.type !== "workflow_completed") faults.push(`run ${n} ended with ${JSON.stringify(log.at(-1))}`)
  for (const agent of agents) {
    const completed = log.filter(({ type, data }) => type === "agent_completed" && data["agent"] === agent)
    if (completed.length !== 1) faults.push(`${agent} of run ${n} completed ${completed.length} times`)
    const at = Date.parse(String(completed[0]?.data["at"]))
    for (const call of calls) {
      if (call.n !== n || call.agent !== agent || call.at <= at) continue
      faults.push(`${agent} of run ${n} was called ${call.at - at} ms after its end`)
    }
  }
  return faults
}

async function logOf(address: string, run_id: string): Promise<SeenEvent[]> {
  const response = await fetch(`${address}/execute/${run_id}/events`, { headers: { accept: "text/event-stream" } })
  const text = await response.text()
  return [...text.matchAll(/^id: ?(\d+)\nevent: ?(\S+)\ndata: ?(.*)$/gm)].map(([, id, type, data]) => ({
    id: Number(id),
    type: type ?? "",
    data: JSON.parse(data ?? "null") as Record<string, unknown>,
  }))
}

async function askAgain(address: string, asked: object, key: string): Promise<string> {
  const headers = { accept: "text/event-stream", "content-type": "application/json", "idempotency-key": key }
  const signal = AbortSignal.timeout(30_000)
  const response = await fetch(`${address}/execute`, { method: "POST", headers, body: JSON.stringify(asked), signal })
  await response.text()
  return response.headers.get("x-service-run-id") ?? `${response.status}`
}
