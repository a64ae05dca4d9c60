import assert from "node:assert/strict"
import { createHmac } from "node:crypto"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { BudgetsAnswer, SpendingAnswer } from "../../../src/api/spending.ts"
import { fakeBackend, json, type Behaviour } from "../../support/fake-backend.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, oneAgent, startService } from "./start-service.ts"

/** An answer that counts 10 tokens of input and 5 of output. */
const counted = (output_tokens = 5): ReturnType<typeof json> =>
  json({
    object: "response",
    status: "completed",
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"x"}' }] }],
    usage: { input_tokens: 10, output_tokens, input_tokens_details: {}, output_tokens_details: {} },
  })

/** An answer of 500 tokens, cut off where fewer are allowed. */
const long: Behaviour = ({ body }) => {
  const most = Number(body["max_output_tokens"] ?? 1e9)
  const isCut = most < 500
  const text = '{"message":"x"}'
  return json({
    object: "response",
    status: isCut ? "incomplete" : "completed",
    ...(isCut && { incomplete_details: { reason: "max_output_tokens" } }),
    output: [
      { type: "message", role: "assistant", content: [{ type: "output_text", text: text.slice(0, isCut ? 5 : 50) }] },
    ],
    usage: {
      input_tokens: 10,
      output_tokens: Math.min(500, most),
      input_tokens_details: {},
      output_tokens_details: {},
    },
  })
}

const month = 744 * 3600

describe("budgets", async () => {
  const folder = await mkdtemp(join(tmpdir(), "budgets-"))
  after(() => rm(folder, { recursive: true }))
  const file = join(folder, "budgets.json")
  const budgets = {
    callers: {
      ann: { tokens_per_day: 100_000, runs_per_month: 1_000 },
      bob: { runs_per_month: 2 },
      cy: { tokens_per_month: 20 },
      dan: { tokens_per_month: 700 },
      fay: { tokens_per_month: 600 },
      gus: { tokens_per_month: 600 },
      "*": { cost_per_month: 5 },
    },
  }
  const write = (changed: object): Promise<void> =>
    writeFile(file, JSON.stringify({ callers: { ...budgets.callers, ...changed } }))
  await write({})
  const keys = ["ann", "bob", "cy", "dan", "eve", "fay", "gus"]
    .map((name) => `${name}:key-of-${name}-0123456789`)
    .join(",")
  const service = await startService({ API_KEYS: keys, OPERATOR_KEYS: "op:key-of-op-0123456789", BUDGETS: file })
  const as = (name: string): Record<string, string> => ({ authorization: `Bearer key-of-${name}-0123456789` })
  const run = (name: string, source: string, more: object = {}, headers = {}): Promise<Response> =>
    service.post("/execute", { workflow_source: source, input: ada, ...more }, { ...as(name), ...headers })
  const shown = async (name: string): Promise<BudgetsAnswer["budgets"]> =>
    ((await (await service.get("/budgets", as(name))).json()) as BudgetsAnswer).budgets
  const spent = async (name: string, query: string): Promise<SpendingAnswer["spending"]> =>
    ((await (await service.get(`/spending?${query}`, as(name))).json()) as SpendingAnswer).spending

  it("count what calls used, once, and what is deleted stays", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => counted())
    const response = await run("ann", oneAgent(backend.endpoint))
    assert.equal(response.status, 200)
    const mine = await shown("ann")
    assert.deepEqual(
      mine.map(({ path, limit, used, reserved }) => ({ path, limit, used, reserved })),
      [
        { path: "callers.ann.tokens_per_day", limit: 100_000, used: 15, reserved: 0 },
        { path: "callers.ann.runs_per_month", limit: 1_000, used: 1, reserved: 0 },
      ],
    )
    assert.match(mine[0]?.resets_at ?? "", /T00:00:00\.000Z$/)
    const id = response.headers.get("x-service-run-id") ?? ""
    assert.equal((await fetch(`${service.url}/execute/${id}`, { method: "DELETE", headers: as("ann") })).status, 204)
    assert.equal((await shown("ann"))[0]?.used, 15)
    const [day] = await spent("ann", "by=day")
    assert.deepEqual(day, { day: new Date().toISOString().slice(0, 10), runs: 1, tokens: 15, cost: 0 })
    assert.deepEqual(await spent("ann", "by=model"), [{ model: "test-model", runs: 1, tokens: 15, cost: 0 }])
    assert.deepEqual(await spent("bob", "by=caller"), [])
    assert.equal(asked[0]?.["max_output_tokens"], 8192)
  })

  it("refuse a run that may not begin, and say until when", async (t) => {
    const { backend } = await fakeBackend(t, () => counted())
    const source = oneAgent(backend.endpoint)
    const both = await Promise.all([run("bob", source), run("bob", source), run("bob", source)])
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 200, 429],
    )
    const refused = await run("bob", source)
    const retry = Number(refused.headers.get("retry-after"))
    assert.ok(retry > 0 && retry <= month, String(retry))
    const { kind, issues } = await errorOf(refused)
    assert.equal(kind, "budget_exceeded")
    const { path, limit, used } = issues[0] as { path: string; limit?: number; used?: number }
    assert.deepEqual({ path, limit, used }, { path: "callers.bob.runs_per_month", limit: 2, used: 2 })
  })

  it("cut the output of a call, and fail one that does not fit any more", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => counted(600))
    const cut = await run("dan", oneAgent(backend.endpoint))
    assert.equal(cut.status, 200)
    const most = Number(asked[0]?.["max_output_tokens"])
    assert.ok(most > 0 && most < 700, String(most))
    const error = await errorOf(await run("dan", oneAgent(backend.endpoint)))
    assert.equal(error.kind, "limit_exceeded")
    assert.equal(error.issues[0]?.path, "callers.dan.tokens_per_month")
    assert.equal(asked.length, 1)
  })

  it("are the reason where they cut an answer off", async (t) => {
    const { backend, asked } = await fakeBackend(t, long)
    const error = await errorOf(await run("fay", oneAgent(backend.endpoint)))
    assert.deepEqual([error.status, error.kind], [422, "limit_exceeded"])
    assert.equal(error.issues[0]?.path, "callers.fay.tokens_per_month")
    assert.match(error.message, /^The next model call needs \d+ tokens, and \d+ are left of the budget of 600 /)
    assert.equal(asked.length, 1, "a second answer could not be twice as long")
    const limited = { options: { limits: { tokens: 600 } } }
    const ofRun = await errorOf(await run("ann", oneAgent(backend.endpoint), limited))
    assert.deepEqual([ofRun.kind, ofRun.issues[0]?.path], ["limit_exceeded", "options.limits.tokens"])
    // The workflow itself sets it: the reason is the workflow's.
    const own = oneAgent(backend.endpoint).replace("max_retries: 0", "max_retries: 0 max_tokens: 20")
    assert.match((await errorOf(await run("ann", own))).message, /a larger max_tokens may help/)
  })

  it("let a run wait whose answer they cut off, and count the answer", async (t) => {
    const { backend, asked } = await fakeBackend(t, long)
    const waiting = await run("gus", oneAgent(backend.endpoint), { options: { on_budget: "wait" } })
    assert.equal(waiting.status, 202, await waiting.clone().text())
    const { run_id } = (await waiting.json()) as { run_id: string }
    const [{ used, reserved } = { used: 0, reserved: 0 }] = await shown("gus")
    assert.ok(used > 10 && used < 510, String(used))
    assert.equal(reserved, 0)
    await write({ gus: { tokens_per_month: 20_000 } })
    const events = await allEvents(
      await service.get(`/execute/${run_id}/events`, { ...as("gus"), accept: "text/event-stream" }),
    )
    const last = events.at(-1)
    assert.equal(last?.type, "workflow_completed")
    assert.equal(asked.length, 2)
    const { input_tokens, output_tokens } = last.data["usage"] as { input_tokens: number; output_tokens: number }
    assert.equal(input_tokens + output_tokens, used + 510)
    assert.deepEqual(
      events.filter(({ type }) => type === "agent_retried").map(({ data }) => data["reason"]),
      [`The answer was cut off after ${used - 10} tokens: limits and budgets left no more`],
    )
  })

  it("let a run wait that wants to, until the file allows more", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => counted())
    const waiting = await run("cy", oneAgent(backend.endpoint), { options: { on_budget: "wait" } })
    assert.equal(waiting.status, 202)
    const { run_id, budget } = (await waiting.json()) as {
      run_id: string
      budget?: { path: string; resets_at: string }
    }
    assert.equal(budget?.path, "callers.cy.tokens_per_month")
    assert.match(budget.resets_at, /-01T00:00:00\.000Z$/)
    assert.equal(asked.length, 0)
    await write({ cy: { tokens_per_month: 2_000 } })
    const events = await allEvents(
      await service.get(`/execute/${run_id}/events`, { ...as("cy"), accept: "text/event-stream" }),
    )
    assert.equal(events.at(-1)?.type, "workflow_completed")
    const continued = events.find(({ type }) => type === "run_continued")
    assert.equal(continued?.data["budget"], "callers.cy.tokens_per_month")
    assert.equal(asked.length, 1)
  })

  it("on cost go by the operator's prices where a caller sent the source", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => counted())
    const priced = oneAgent(backend.endpoint).replace('"test-model"', '"test-model" price { input: 0 output: 0 }')
    const error = await errorOf(await run("eve", priced))
    assert.equal(error.kind, "input_error")
    assert.equal(error.issues[0]?.code, "unpriced-model")
    assert.equal(asked.length, 0)
  })

  it("show operators all of them", async () => {
    const all = await shown("op")
    assert.ok(all.some(({ path }) => path === "callers.bob.runs_per_month"))
    const [everyone] = all.filter(({ path }) => path === "callers.*.cost_per_month")
    assert.equal(everyone?.caller, "eve")
    const callers = await spent("op", "by=caller")
    assert.ok(callers.some(({ caller, runs }) => caller === "bob" && runs === 2))
  })

  it("stop the start where their file is wrong", async () => {
    const wrong = join(folder, "wrong.json")
    await writeFile(wrong, JSON.stringify({ callers: { ann: { cost_per_week: 1 } } }))
    await assert.rejects(
      startService({ BUDGETS: wrong }),
      /WIRE_BUDGETS is ".*": the file has a wrong budget at "callers\.ann\.cost_per_week": known are cost_per_hour, /,
    )
  })
})

describe("budgets of workflows that triggers start", async () => {
  const folder = await mkdtemp(join(tmpdir(), "budgets-"))
  after(() => rm(folder, { recursive: true }))
  const file = join(folder, "budgets.json")
  const allow = (runs: number): Promise<void> =>
    writeFile(file, JSON.stringify({ workflows: { "flows/greet": { runs_per_month: runs } } }))
  await allow(1)
  await mkdir(join(folder, "flows", "flows"), { recursive: true })
  const source = `
input { name: string }
secrets { hook_secret: string }
webhook asked {
    verify: github
    secret: secrets.hook_secret
    input { name: body.name }
}
schedule nightly {
    cron: "0 3 * * *"
    timezone: "UTC"
    input { name: due.at }
}
output { name: input.name }
`
  await writeFile(join(folder, "flows", "flows", "greet.wire"), source)
  const service = await startService({
    BUDGETS: file,
    WORKFLOWS: join(folder, "flows"),
    SECRET_HOOK_SECRET: "0123456789abcdef0123",
  })
  const deliver = (id: string): Promise<Response> => {
    const body = JSON.stringify({ name: id })
    const digest = createHmac("sha256", "0123456789abcdef0123").update(body).digest("hex")
    const headers = { "x-hub-signature-256": `sha256=${digest}`, "x-github-delivery": id }
    return service.post("/hooks/flows/greet/asked", body, headers)
  }

  it("refuse deliveries with 429, which are not remembered, and what starts by hand", async () => {
    assert.equal((await deliver("one")).status, 202)
    const refused = await deliver("two")
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get("retry-after")) > 1)
    const { kind, issues } = await errorOf(refused)
    assert.deepEqual({ kind, issues }, { kind: "budget_exceeded", issues: [] })
    const started = await service.post("/triggers/flows/greet/nightly/run", "")
    assert.equal(started.status, 429)
    assert.equal((await errorOf(started)).issues[0]?.path, "workflows.flows/greet.runs_per_month")
    // The same delivery as before is its run, whatever the budget says.
    assert.equal((await deliver("one")).status, 202)
    await allow(2)
    // Polled: the file is looked at once a second.
    let again = await deliver("two")
    for (const end = Date.now() + 30_000; again.status === 429 && Date.now() < end; again = await deliver("two")) {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.equal(again.status, 202)
  })
})
