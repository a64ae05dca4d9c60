import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { test } from "node:test"
import { replica, type Replica } from "./replica.ts"
import { startServer } from "./http-server.ts"
import { within } from "./within.ts"

// Replicas on one store, and one whose clock is an hour ahead or behind for ten seconds: it is set while the replica runs, or is wrong when it starts.

const hourMs = 3_600_000
const wrongMs = 10_000
const soon = 120_000

const scheduled = `schedule timer { cron: "* * * * *" }
output { done: true }
`

const asking = `ask ok { question: "Is it so?"  expires_seconds: 1_200  output { yes: boolean } }
output { yes: ask.ok.yes }
`

const calling = (endpoint: string): string => `provider p from openai { endpoint: "${endpoint}" }
model m from p { id: "m" }
agent one { model: model.m  instruction: "Go."  output { message: string } }
output { message: agent.one.message }
`

interface ListedRun {
  readonly run_id: string
  readonly status: string
  readonly trigger?: { readonly due_at: string | null }
}

async function get<T>(at: Replica, path: string): Promise<T> {
  const response = await fetch(`${at.address}${path}`)
  assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`)
  return (await response.json()) as T
}

async function begin(at: Replica, source: string, key: string, options: object = {}): Promise<string> {
  const stop = new AbortController()
  const headers = { accept: "text/event-stream", "content-type": "application/json", "idempotency-key": key }
  const body = JSON.stringify({ workflow_source: source, options })
  const response = await fetch(`${at.address}/execute`, { method: "POST", headers, body, signal: stop.signal })
  if (response.status !== 200) assert.fail(await response.text())
  const run_id = response.headers.get("x-service-run-id") ?? ""
  stop.abort()
  return run_id
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const looking = async (): Promise<T> => {
    for (;;) {
      const found = await look()
      if (found !== null) return found
      await sleep(200)
    }
  }
  return within(soon, what, looking())
}

/** `env` has the store. */
export function checkWrongClock(
  on: string,
  open: () => Promise<{ env: Record<string, string>; close(): Promise<void> }>,
) {
  for (const [direction, shift] of [
    ["ahead", hourMs],
    ["behind", -hourMs],
  ] as const) {
    test(`a replica whose clock is an hour ${direction} for ten seconds: ${on}`, { timeout: 600_000 }, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "wireworks-clock-"))
      const workflows = join(folder, "workflows")
      const store = await open()
      mkdirSync(workflows)
      writeFileSync(join(workflows, "timed.wire"), scheduled)
      const held: ServerResponse[] = []
      const model = await startServer((_, response) => void held.push(response))
      const env = { ...store.env, WIRE_WORKFLOWS: workflows, WIRE_EGRESS: "private", WIRE_LOG_LEVEL: "warn" }
      const shifted = (name: string): Replica =>
        replica(name, {
          ...env,
          NODE_OPTIONS: `--import=${join(import.meta.dirname, "shifted-clock.mjs")}`,
          SHIFTED_CLOCK: join(folder, name),
        })
      const set = (name: string, ms: number): void => writeFileSync(join(folder, name), String(ms))
      const right = replica("right", env)
      const [jumps, starts] = [shifted("jumps"), shifted("starts")]
      try {
        await right.start()
        set("jumps", 0)
        await jumps.start()
        const asked = await begin(right, asking, "asked")
        // Its process is killed, and the one whose clock is wrong takes it over.
        const taken = await begin(jumps, calling(`${model.origin}/v1`), "taken", { timeout_ms: 300_000 })
        await until("the call", async () => held[0] ?? null)
        set("starts", shift)
        set("jumps", shift)
        await starts.start()
        await sleep(wrongMs / 2)
        assert.match(jumps.errors, /the clock of this machine is wrong/)
        const metrics = await (await fetch(`${starts.address}/metrics`)).text()
        const offset = Number(/^wire_clock_offset_seconds (\S+)$/m.exec(metrics)?.[1])
        assert.ok(Math.abs(offset - shift / 1000) < 5, `wire_clock_offset_seconds ${offset}`)
        // The right one is gone as well, for as long as it takes: only a wrong clock is there.
        right.signal("SIGKILL")
        jumps.signal("SIGKILL")
        await Promise.all([right.ended(), jumps.ended()])
        const again = await until("the call of the next owner", async () => held[1] ?? null)
        again.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({
            output: [
              { type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"done"}' }] },
            ],
          }),
        )
        const ended = await until("the end of the run that was taken over", async () => {
          const run = await get<{ status: string }>(starts, `/execute/${taken}`)
          return run.status === "running" || run.status === "queued" ? null : run
        })
        assert.equal(ended.status, "completed")
        starts.signal("SIGKILL")
        await starts.ended()
        await right.start()
        const back = Date.now()
        assert.equal((await get<{ status: string }>(right, `/execute/${asked}`)).status, "waiting")
        const [trigger] = (await get<{ triggers: { next_at: string }[] }>(right, "/triggers")).triggers
        const next = Date.parse(trigger?.next_at ?? "")
        assert.ok(next > back - 1_000 && next <= back + 61_000, `next_at ${trigger?.next_at}`)
        const started = await until("the next due time", async () => {
          const { runs } = await get<{ runs: ListedRun[] }>(right, "/runs?workflow=timed")
          return runs.some((run) => Date.parse(run.trigger?.due_at ?? "") >= next) ? runs : null
        })
        const late = Date.now() - next
        for (const { trigger: of } of started) {
          assert.ok(Date.parse(of?.due_at ?? "") <= Date.now() + 1_000, `${of?.due_at} was started early`)
        }
        t.diagnostic(`due at ${trigger?.next_at}, seen ${late} ms later; ${started.length} scheduled runs`)
        assert.ok(late < 30_000)
      } finally {
        for (const one of [right, jumps, starts]) one.signal("SIGKILL")
        await Promise.all([right, jumps, starts].map((one) => one.ended()))
        await model.close()
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
}
