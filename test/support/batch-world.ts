import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { compile } from "../../src/compile.ts"
import { demoBatchPath } from "../../src/demo/demo-batches.ts"
import type { DemoReply } from "../../src/demo/demo-reply.ts"
import { createDemoModel, demoRoute } from "../../src/demo/handle-demo.ts"
import type { LogEvent } from "../../src/log/events.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { Egress } from "../../src/ports/egress.ts"
import type { ModelBatches } from "../../src/ports/model-batches.ts"
import type { RunOptions, RunStore } from "../../src/ports/store.ts"
import { wrapStore } from "../../src/ports/wrap-store.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { defaultOptions } from "./run-plan.ts"
import { within } from "./within.ts"

// Batches in a world of a vendor over HTTP, and of processes that die. Time goes two hundred times as fast: a vendor is asked after 50 ms.

const speed = 200

/** Goes faster than the machine's. */
export const fastClock: Clock = {
  now: () => Date.UTC(2026, 10, 15) + systemClock.monotonic() * speed,
  monotonic: () => systemClock.monotonic() * speed,
  sleep: (ms, signal) => systemClock.sleep(ms / speed, signal),
}

/** What a vendor does to a request. `reply`: what it would have answered. */
export type Fault = (request: VendorRequest, reply: () => Promise<DemoReply>) => Promise<DemoReply | "hang up"> | null

export interface VendorRequest {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** A vendor, and what was bought of it: by the ticket in the instruction. */
export class BatchVendorServer {
  readonly bought = new Map<string, number>()
  readonly requests: VendorRequest[] = []
  fault: Fault = () => null
  readonly #model
  readonly #now: () => number
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  constructor(batchSeconds = 5, aheadMs = 0) {
    this.#now = () => fastClock.now() + aheadMs
    this.#model = createDemoModel({ batchSeconds, now: this.#now })
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** How many requests of a kind there were. */
  count(method: string, path: RegExp): number {
    return this.requests.filter((one) => one.method === method && path.test(one.path)).length
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const { method = "", url = "" } = request
    const body = Buffer.concat(chunks).toString()
    const asked = { method, path: url, body }
    this.requests.push(asked)
    const reply = () => this.#reply(asked)
    const made = await (this.fault(asked, reply) ?? reply())
    if (made === "hang up") return void response.destroy()
    response.writeHead(made.status, { date: new Date(this.#now()).toUTCString(), ...made.headers }).end(textOf(made))
  }

  async #reply({ method, path, body }: VendorRequest): Promise<DemoReply> {
    const batch = demoBatchPath(path)
    if (batch !== null) {
      const query = new URLSearchParams(path.split("?")[1])
      const reply = await this.#model.batch({ method, path: batch, query, body })
      // A batch is bought when it is made.
      if (method === "POST" && batch === "/messages/batches" && reply.status === 200) this.#buy(body)
      if (method === "POST" && batch === "/batches" && reply.status === 200) await this.#buyFile(body)
      return reply
    }
    const route = demoRoute(path)
    if (route === null) return { status: 404, headers: {}, body: "{}" }
    this.#buy(body)
    return this.#model.handle({ route, body })
  }

  async #buyFile(text: string): Promise<void> {
    const { input_file_id: id } = JSON.parse(text) as { readonly input_file_id: string }
    const path = `/files/${id}/content`
    const file = await this.#model.batch({ method: "GET", path, query: new URLSearchParams(), body: "" })
    this.#buy(textOf(file))
  }

  #buy(text: string): void {
    for (const [ticket] of text.matchAll(/ticket-\d+-/g)) this.bought.set(ticket, (this.bought.get(ticket) ?? 0) + 1)
  }
}

export function textOf({ body }: DemoReply): string {
  return typeof body === "string" ? body : ""
}

/** A loop over `input.tickets` in batches. */
export function batchSource(endpoint: string, more = "", kind = "openai"): string {
  return `input { tickets: [string] }
provider llm from ${kind} { endpoint: "${endpoint}" }
model fast from llm { id: "demo" price { input: 1 output: 2 batch: 0.5 } }
agent label for ticket in input.tickets {
    model: model.fast
    instruction: "Which team? {{ ticket }}"
    batch { within_hours: 24 }
    output { team: enum { billing, product } }
    ${more}
}
output { teams: agent.label }`
}

export function tickets(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `ticket-${index}-`)
}

/** Dies at a step: nothing of it happens any more. */
export class Mortal {
  steps = 0
  readonly #diesAt: number
  /** The step at which it dies is still done. */
  readonly #doneAtDeath: boolean

  constructor(diesAt = Number.POSITIVE_INFINITY, doneAtDeath = false) {
    this.#diesAt = diesAt
    this.#doneAtDeath = doneAtDeath
  }

  get isDead(): boolean {
    return this.steps >= this.#diesAt
  }

  async step<T>(work: () => Promise<T>): Promise<T> {
    if (this.isDead) return never()
    this.steps++
    if (!this.isDead) return work().then((value) => (this.isDead ? never() : value))
    if (this.#doneAtDeath) void work().catch(() => undefined)
    return never()
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}

/** A service in this process, on a store that it shares with others. */
export class BatchService {
  readonly runs: Runs
  readonly mortal: Mortal
  readonly store: RunStore
  readonly bugs: unknown[] = []
  readonly #egress: Egress
  readonly #plan: (source: string) => Plan

  constructor(shared: RunStore, mortal = new Mortal(), plant: (batches: ModelBatches) => ModelBatches = (own) => own) {
    this.mortal = mortal
    const counted = new Set(["append", "parkAgain"])
    this.store = wrapStore(shared, (name, method) => {
      if (/(^|\.)on[A-Z]/.test(name) || name === "follow" || name === "close") return null
      return (...args) =>
        mortal.isDead
          ? never()
          : counted.has(name)
            ? mortal.step(() => method(...args) as Promise<unknown>)
            : method(...args)
    })
    this.#egress = createEgress({ policy: { kind: "private" } })
    const egress: Egress = {
      ...this.#egress,
      request: (request) => mortal.step(() => this.#egress.request(request)),
      fetch: () => never(),
      close: () => this.#egress.close(),
    }
    const model = createModelClient({ api: modelApi, egress, clock: fastClock, random: systemRandom, demo: null })
    this.#plan = (source) => {
      const { plan, diagnostics } = compile(source)
      if (plan === undefined) throw new Error(JSON.stringify(diagnostics))
      return plan
    }
    this.runs = new Runs(
      {
        store: this.store,
        model,
        batches: plant(model.batches),
        tools: new InProcessTools({}),
        clock: fastClock,
        random: systemRandom,
        bug: (error) => this.bugs.push(error),
      },
      async ({ source }) => ({ plan: this.#plan(source) }),
      { owner: `process ${Math.random()}`, leaseMs: 20_000, maxRuns: 10, maxQueued: 10, limits: defaultLimits },
    )
  }

  async begin(source: string, count: number, options: Partial<RunOptions> = {}): Promise<string> {
    const request = {
      source,
      input: { tickets: tickets(count) },
      secrets: {},
      options: { ...defaultOptions, use_cache: false, ...options },
    }
    const admission = await this.runs.admit(this.#plan(source), { caller: "", request, idempotency: null })
    if (admission.outcome !== "created") throw new Error(admission.outcome)
    return admission.run_id
  }

  async close(): Promise<void> {
    if (!this.mortal.isDead) await this.runs.drain(0)
    await this.#egress.close()
  }
}

export function sharedStore(): RunStore {
  return new MemoryStore(fastClock)
}

/** The events of a run until its end. */
export async function eventsOf(store: RunStore, run_id: string, ms = 60_000): Promise<LogEvent[]> {
  const events: LogEvent[] = []
  const stop = new AbortController()
  const following = (async () => {
    for await (const event of store.follow(run_id, 0, stop.signal)) events.push(event)
  })()
  try {
    await within(ms, "the end of the run", following)
  } finally {
    stop.abort()
  }
  return events
}
