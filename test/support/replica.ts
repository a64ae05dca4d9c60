import { isoTime } from "../../src/base/iso-time.ts"
import { spawn, type ChildProcess } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { builtWire } from "./built-wire.ts"
import { within } from "./within.ts"

// Replicas of the service, each a process of its own, and clients that follow runs at whatever replica is there.

export interface Replica {
  readonly name: string
  /** Where it listens; empty while it does not. */
  readonly address: string
  readonly running: boolean
  /** What it wrote to standard error, in all its lives. */
  readonly errors: string
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Resolves to its exit code; null when it was killed. */
  ended(): Promise<number | null>
}

export function replica(name: string, env: Readonly<Record<string, string>>): Replica {
  let child: ChildProcess | null = null
  let address = ""
  let errors = ""
  let exit: Promise<number | null> = Promise.resolve(null)
  return {
    name,
    get address() {
      return address
    },
    get running() {
      return child !== null
    },
    get errors() {
      return errors
    },
    async start() {
      const started = spawn(process.execPath, [builtWire, "serve", "--port", "0"], {
        env: { ...process.env, WIRE_LOG_LEVEL: "error", WIRE_PLAYGROUND: "off", WIRE_DEMO: "off", ...env },
        stdio: ["ignore", "pipe", "pipe"],
      })
      child = started
      exit = once(started, "exit").then(([code]) => {
        if (child === started) {
          child = null
          address = ""
        }
        return code as number | null
      })
      started.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text))
      let output = ""
      const listening = new Promise<string>((resolve) => {
        started.stdout.setEncoding("utf8").on("data", (text: string) => {
          output += text
          const found = /listens on (\S+)/.exec(output)?.[1]
          if (found !== undefined) resolve(found)
        })
      })
      const early = exit.then((code): never => {
        throw new Error(`${name} ended with code ${code} before it listened:\n${errors}`)
      })
      early.catch(() => undefined)
      const found = await within(60_000, `the start of ${name}`, Promise.race([listening, early]))
      if (child === started) address = found
    },
    signal(signal) {
      child?.kill(signal)
    },
    ended: () => exit,
  }
}

export function replicaEnvironment(store: string): Record<string, string> {
  return { WIRE_STORE: store, WIRE_ENCRYPTION_KEY: randomBytes(32).toString("hex"), WIRE_EGRESS: "private" }
}

export interface SeenEvent {
  readonly id: number
  readonly type: string
  readonly data: Record<string, unknown>
}

/** A client that starts a run with a key and follows it to its end, at whatever replica is there. */
export async function followRun(
  body: object,
  key: string,
  pick: () => string,
  signal: AbortSignal,
): Promise<{ readonly run_id: string; readonly events: readonly SeenEvent[]; readonly connections: number }> {
  const events: SeenEvent[] = []
  let run_id = ""
  let connections = 0
  let doing = ""
  let trouble = ""
  while (!signal.aborted) {
    const address = pick()
    try {
      if (address === "") throw new Error("no replica is there")
      connections++
      doing = `asked ${address} at ${isoTime(Date.now())}`
      const silence = new AbortController()
      const answer = await ask(
        address,
        run_id,
        events.at(-1)?.id ?? 0,
        body,
        key,
        AbortSignal.any([signal, silence.signal]),
      )
      doing = `reading from ${address} since ${isoTime(Date.now())}`
      run_id = answer.headers.get("x-service-run-id") ?? run_id
      if (answer.status >= 400 && answer.status < 500) throw new Refusal(`${answer.status} ${await answer.text()}`)
      if (answer.status !== 200 || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`)
      for await (const event of eventsOf(answer.body, silence)) {
        events.push(event)
        if (/^workflow_(completed|failed|cancelled)$/.test(event.type)) return { run_id, events, connections }
      }
    } catch (error) {
      if (error instanceof Refusal) throw error
      trouble = String(error)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const last = events.at(-1)
  throw new Error(
    `Run ${run_id} (${key}) did not end; last event ${last?.id} ${last?.type}; ${connections} connections, ${doing}, ${trouble}`,
  )
}

class Refusal extends Error {}

function ask(address: string, run_id: string, after: number, body: object, key: string, signal: AbortSignal) {
  if (run_id === "") {
    const headers = { accept: "text/event-stream", "content-type": "application/json", "idempotency-key": key }
    return fetch(`${address}/execute`, { method: "POST", headers, body: JSON.stringify(body), signal })
  }
  const headers = { accept: "text/event-stream", "last-event-id": String(after) }
  return fetch(`${address}/execute/${run_id}/events`, { headers, signal })
}

/** Events as they come. A paused replica sends nothing: after a while the client connects to another one. */
async function* eventsOf(body: ReadableStream<Uint8Array>, silence: AbortController): AsyncGenerator<SeenEvent> {
  let text = ""
  let timer = setTimeout(() => silence.abort(), 4_000)
  try {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), 4_000)
      text += chunk
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const block = text.slice(0, end)
        text = text.slice(end + 2)
        const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1]
        const [id, type, data] = [field("id"), field("event"), field("data")]
        if (id !== undefined && type !== undefined && data !== undefined) {
          yield { id: Number(id), type, data: JSON.parse(data) as Record<string, unknown> }
        }
      }
    }
  } finally {
    clearTimeout(timer)
  }
}
