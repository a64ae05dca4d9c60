import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "node:test"
import type { BudgetsAnswer } from "../../src/api/spending.ts"
import { fakeBackend, json } from "../support/fake-backend.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { replica, replicaEnvironment } from "../support/replica.ts"

const limit = 30_000
const most = 200
/** What the service estimates for the input of a call is more than this. */
const input = 20

const source = (endpoint: string): string => `
input { items: [string] }
provider backend from openai { endpoint: "${endpoint}" inference { max_retries: 0 output_retries: 0 } }
model m from backend { id: "test-model" inference { max_tokens: ${most} } }
agent reply for item in input.items {
    model: model.m
    instruction: "Say {{ item }}"
    output { message: string }
}
output { done: length(agent.reply) }
`

interface Outcome {
  readonly used: number
  readonly reserved: number
  /** What the backend has billed, and the largest reservation of a call. */
  readonly billed: number
  readonly errors: readonly string[]
}

it("a budget over three replicas is spent to within one call's reservation, and past it by estimates alone", async (t) => {
  const server = await startPostgres({ config: ["fsync=off"] })
  t.after(() => server.close())
  const folder = await mkdtemp(join(tmpdir(), "budgets-"))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, "budgets.json")
  await writeFile(file, JSON.stringify({ callers: { "*": { tokens_per_month: limit } } }))
  const spend = async (schema: string, inputTokens: number, kills: boolean): Promise<Outcome> => {
    let billed = 0
    const { backend } = await fakeBackend(t, () => {
      const output = 20 + (billed % 150)
      billed += inputTokens + output
      return json({
        object: "response",
        status: "completed",
        output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"x"}' }] }],
        usage: {
          input_tokens: inputTokens,
          output_tokens: output,
          input_tokens_details: {},
          output_tokens_details: {},
        },
      })
    })
    const env = {
      ...replicaEnvironment(server.url()),
      WIRE_POSTGRES_SCHEMA: schema,
      WIRE_BUDGETS: file,
      WIRE_HOST: "127.0.0.1",
      WIRE_RATE_LIMIT: "0",
    }
    const replicas = ["a", "b", "c"].map((name) => replica(`${schema} ${name}`, env))
    for (const one of replicas) await one.start()
    const errors: string[] = []
    const body = JSON.stringify({
      workflow_source: source(backend.endpoint),
      input: { items: Array.from({ length: 10 }, (_, n) => `item ${n}`) },
    })
    const run = async (n: number): Promise<void> => {
      const { address } = replicas[n % replicas.length] ?? { address: "" }
      try {
        const response = await fetch(`${address}/execute`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        })
        const answer = (await response.json()) as { error?: { kind: string } }
        errors.push(answer.error?.kind ?? "")
      } catch {
        errors.push("connection")
      }
    }
    for (let round = 0; round < 20 && !errors.includes("budget_exceeded"); round++) {
      const runs = Array.from({ length: 9 }, (_, n) => run(n))
      if (kills && round === 0) {
        replicas[0]?.signal("SIGKILL")
        await replicas[0]?.ended()
        await replicas[0]?.start()
      }
      await Promise.all(runs)
      if (errors.includes("limit_exceeded")) break
    }
    const shown = async (): Promise<{ readonly used: number; readonly reserved: number }> => {
      const answer = (await (await fetch(`${replicas[1]?.address}/budgets`)).json()) as BudgetsAnswer
      const { used = 0, reserved = 0 } = answer.budgets[0] ?? {}
      return { used, reserved }
    }
    let now = await shown()
    // Polled: runs of a process that died are taken over, and idle slices given back.
    for (const end = Date.now() + 60_000; now.reserved > 0 && Date.now() < end; now = await shown()) {
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    for (const one of replicas) {
      one.signal("SIGTERM")
      await one.ended()
    }
    return { ...now, billed, errors }
  }

  const exact = await spend("exact", input, false)
  t.diagnostic(JSON.stringify({ ...exact, errors: exact.errors.length }))
  assert.ok(exact.errors.includes("limit_exceeded"), exact.errors.join())
  assert.equal(exact.reserved, 0)
  // Calls that the end of their run cuts off count with their reservations.
  assert.ok(exact.billed <= exact.used && exact.used <= limit, JSON.stringify(exact))
  // One call that is made at all reserves its input and one token.
  assert.ok(exact.used > limit - 500, String(exact.used))

  const killed = await spend("killed", input, true)
  t.diagnostic(JSON.stringify({ ...killed, errors: killed.errors.length }))
  assert.equal(killed.reserved, 0)
  // What was cut off counts with its reservation, which is more than anybody billed.
  assert.ok(killed.billed <= killed.used && killed.used <= limit, JSON.stringify(killed))
  assert.ok(killed.used > limit - 500, String(killed.used))

  // A backend that counts more input than was estimated.
  const over = await spend("over", 1_000, false)
  t.diagnostic(JSON.stringify({ ...over, errors: over.errors.length }))
  assert.ok(over.used > limit - 500 && over.used < limit + 3 * 50 * 1_000, JSON.stringify(over))
})
