import assert from "node:assert/strict"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import type { ReleaseAnswer } from "../../../src/api/releases.ts"
import type { RunAnswer, RunsAnswer } from "../../../src/api/runs.ts"
import type { WorkflowsAnswer } from "../../../src/api/workflows.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { allEvents } from "./read-stream.ts"
import { errorOf, startService, type TestService } from "./start-service.ts"

const current = `input {
    customer: string
    n: integer
}

output {
    part: 12 / (input.n + 1)
    side: "current"
}
`
/** A planted regression: it fails for even numbers. */
const next = (release: string, divisor = "input.n % 2"): string => `input {
    customer: string
    n: integer
}

release {
    ${release}
}

output {
    part: 12 / (${divisor})
    side: "candidate"
}
`

/** Of the current version all are short, of the candidate none. */
const scored = (text: string): string => `${text}
score short {
    value: length(output.side) < 8
}

score size {
    value: length(output.side)
}
`

const release = async (service: TestService, name = "split"): Promise<ReleaseAnswer> =>
  (await (await service.get(`/workflows/${name}/release`)).json()) as ReleaseAnswer

async function until(
  service: TestService,
  name: string,
  fits: (answer: ReleaseAnswer) => boolean,
): Promise<ReleaseAnswer> {
  const look = async (): Promise<ReleaseAnswer> => {
    for (;;) {
      const answer = await release(service, name)
      if (fits(answer)) return answer
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return within(30_000, "the release", look())
}

async function sideOf(service: TestService, name: string, customer: string, n: number): Promise<string> {
  const response = await service.post(`/workflows/${name}/execute`, { input: { customer, n } })
  const body = (await response.json()) as { side?: string }
  return response.status === 200 ? (body.side ?? "") : "failed"
}

describe("a candidate", async () => {
  const folder = folderOf({
    "split.wire": current,
    "split.next.wire": next("share: 0.5\n    by: input.customer", "input.n + 2"),
    "deep/stops.wire": current,
    "deep/stops.next.wire": next("share: 0.5\n    stop_when: failed > 0.1 && current.failed < 0.1"),
    "judged.wire": scored(current),
    "judged.next.wire": scored(
      next(
        "share: 0.5\n    stop_when: scores.short.true < 0.5 && current.scores.short.true == 1 && scores.size > 8",
        "input.n + 2",
      ),
    ),
    "broken.wire": current,
    "broken.next.wire": "agent {",
    "differs.wire": current,
    "differs.next.wire": next("share: 1").replace("n: integer", "n: integer\n    more: string"),
    "alone.next.wire": next("share: 1"),
    "plain.wire": current,
  })
  const service = await startService({ WORKFLOWS: folder, METRICS: "on" })

  it("gets its share of the runs by name, and a value of `by` stays on its side", async () => {
    const customers = Array.from({ length: 60 }, (_, index) => `customer ${index}`)
    const sides = await Promise.all(customers.map((customer) => sideOf(service, "split", customer, 1)))
    const share = sides.filter((side) => side === "candidate").length
    // Nobody is so unlucky: 60 throws of a coin.
    assert.ok(share > 10 && share < 50, String(share))
    assert.deepEqual(await Promise.all(customers.map((customer) => sideOf(service, "split", customer, 2))), sides)
    // While the share grows, whoever was with the candidate stays with it.
    const before = await release(service)
    writeFileSync(join(folder, "split.next.wire"), next("share: 0.8\n    by: input.customer", "input.n + 2"))
    const after = await until(service, "split", ({ share }) => share === 0.8)
    assert.equal(after.version, before.version)
    const later = await Promise.all(customers.map((customer) => sideOf(service, "split", customer, 1)))
    for (const [index, side] of sides.entries()) if (side === "candidate") assert.equal(later[index], side)
    assert.ok(later.filter((side) => side === "candidate").length > share)
  })

  it("has its side in records, lists, events and metrics", async () => {
    const { runs } = (await (await service.get("/runs?release=candidate&limit=100")).json()) as RunsAnswer
    assert.ok(runs.length > 0)
    assert.ok(runs.every((run) => run.release === "candidate" && run.workflow === "split"))
    const [first] = runs
    const record = (await (await service.get(`/execute/${first?.run_id}`)).json()) as RunAnswer
    assert.equal(record.release, "candidate")
    assert.equal(record.version, (await release(service)).version)
    const [started] = await allEvents(await service.get(`/execute/${first?.run_id}/events`))
    assert.deepEqual(started?.data, { release: "candidate" })
    const { runs: others } = (await (await service.get("/runs?release=current&limit=100")).json()) as RunsAnswer
    assert.ok(others.length > 0 && others.every((run) => run.release === "current"))
    assert.equal((await errorOf(await service.get("/runs?release=next"))).kind, "invalid_request")
    await service.post("/workflows/plain/execute", { input: { customer: "c", n: 1 } })
    const { runs: plain } = (await (await service.get("/runs?workflow=plain")).json()) as RunsAnswer
    assert.ok(plain.every((run) => run.release === undefined))
    const metrics = await (await service.get("/metrics")).text()
    assert.match(metrics, /wire_runs_total\{status="completed",workflow="split",release="candidate"\} \d+/)
    assert.match(metrics, /wire_release_stopped\{workflow="split"\} 0/)
  })

  it("stops by itself when its rule holds, goes on by hand, and begins anew with its file", async () => {
    const name = "deep/stops"
    for (let n = 0; n < 200; n++) {
      await sideOf(service, name, "c", n)
      if ((await release(service, name)).state === "stopped") break
    }
    const stopped = await until(service, name, ({ state }) => state === "stopped")
    assert.ok(stopped.candidate.runs >= 20 && (stopped.candidate.failed ?? 0) > 0.1, JSON.stringify(stopped))
    assert.equal(stopped.current.failed, 0)
    assert.match(await (await service.get("/metrics")).text(), /wire_release_stopped\{workflow="deep\/stops"\} 1/)
    for (let n = 0; n < 20; n++) assert.equal(await sideOf(service, name, "c", 0), "current")
    const resumed = await service.post(`/workflows/${name}/release`, { action: "resume" })
    const { state, candidate } = (await resumed.json()) as ReleaseAnswer
    assert.deepEqual([state, candidate.runs], ["running", 0])
    const answer = await service.post(`/workflows/${name}/release`, { action: "stop" })
    assert.equal(((await answer.json()) as ReleaseAnswer).state, "stopped")
    writeFileSync(join(folder, "deep/stops.next.wire"), `${next("share: 1", "input.n + 3")}\n`)
    await until(service, name, (found) => found.state === "running" && found.share === 1)
    assert.equal(await sideOf(service, name, "c", 0), "candidate")
    rmSync(join(folder, "deep/stops.next.wire"))
    await within(
      30_000,
      "the end of the candidate",
      (async () => {
        while ((await service.get(`/workflows/${name}/release`)).status !== 404)
          await new Promise((resolve) => setTimeout(resolve, 20))
      })(),
    )
    assert.equal(await sideOf(service, name, "c", 0), "current")
  })

  it("stops by what scores say of both sides", async () => {
    const sides = new Map<string, number>()
    for (let n = 0; n < 200; n++) {
      const side = await sideOf(service, "judged", "c", n)
      sides.set(side, (sides.get(side) ?? 0) + 1)
      if ((await release(service, "judged")).state === "stopped") break
    }
    const stopped = await until(service, "judged", ({ state }) => state === "stopped")
    assert.equal(stopped.candidate.failed, 0)
    assert.ok(stopped.candidate.runs >= 20 && stopped.current.runs >= 20, JSON.stringify(stopped))
    assert.equal(sides.get("failed"), undefined)
  })

  it("gets nothing where it is wrong, and holds nothing back", async () => {
    for (const [name, code] of [
      ["broken", "syntax-error"],
      ["differs", "incompatible-candidate"],
    ] as const) {
      const { state, issues } = await release(service, name)
      assert.equal(state, "incompatible")
      assert.ok(
        issues.some((issue) => issue.code === code),
        JSON.stringify(issues),
      )
      for (let n = 0; n < 10; n++) assert.equal(await sideOf(service, name, "c", n), "current")
    }
    const { workflows } = (await (await service.get("/workflows")).json()) as WorkflowsAnswer
    const found = workflows.filter(({ name }) => name.includes("next"))
    assert.deepEqual(
      found.map(({ name, valid, issues }) => [name, valid, issues.map((issue) => issue.code)]),
      [["alone.next", false, ["orphan-candidate"]]],
    )
    assert.equal((await service.post("/workflows/alone.next/execute", { input: {} })).status, 404)
    assert.equal((await service.get("/workflows/plain/release")).status, 404)
    assert.equal((await service.post("/workflows/split/release", { action: "go" })).status, 400)
    assert.equal((await service.post("/workflows/nothing/release", { action: "stop" })).status, 404)
  })
})

describe("a release, where there are keys", async () => {
  const folder = folderOf({ "split.wire": current, "split.next.wire": next("share: 0", "input.n + 2") })
  const keys = { API_KEYS: "ann:ann-key-0123456789abcdef", OPERATOR_KEYS: "ops:ops-key-0123456789abcdef" }
  const service = await startService({ WORKFLOWS: folder, ...keys })
  const as = (key: string) => ({ authorization: `Bearer ${key}-key-0123456789abcdef` })

  it("is for operators", async () => {
    assert.equal((await service.get("/workflows/split/release", as("ann"))).status, 403)
    assert.equal((await service.post("/workflows/split/release", { action: "stop" }, as("ann"))).status, 403)
    assert.equal((await service.get("/workflows/split/release", as("ops"))).status, 200)
    assert.equal((await service.post("/workflows/split/release", { action: "stop" }, as("ops"))).status, 200)
    assert.equal((await service.post("/workflows/split/execute", { input: {} }, as("ops"))).status, 403)
    assert.equal(
      (await service.post("/workflows/split/execute", { input: { customer: "c", n: 1 } }, as("ann"))).status,
      200,
    )
  })
})

/** An API that counts what acts, and a workflow that reads, acts, and asks a priced demo model. */
const shadowed = (origin: string, more: string, call: string): string => `input {
    customer: string
    n: integer
}
${more}
provider demo from openai { endpoint: "demo" }
model m from demo { id: "demo"  price { input: 1  output: 2 } }
api shop { endpoint: "${origin}" }
tool look from api.shop."GET /orders/{id}" { input { id: string } output { state: string } gives: trusted }
tool pay from api.shop."POST /pay" { input { sum: integer } output { paid: integer } gives: trusted }
tool tell from api.shop."POST /tell" { input { text: string } output { told: boolean } requires: none  gives: trusted }
agent greet { model: model.m  instruction: "Greet {{ input.customer }}."  output { words: string } }
output {
    state: call tool.look { input { id: input.customer } }
    paid: call tool.pay { on_failure: skip  input { sum: ${call} } }
    told: call tool.tell { input { text: "${call}" } }
    words: agent.greet.words
    n: ${call}
}
`

describe("a shadow", async () => {
  const api = await startServer(({ method, body }, response) => {
    const sent = method === "POST" ? (JSON.parse(body) as { sum?: number }) : {}
    const answer = method === "GET" ? { state: "open" } : "sum" in sent ? { paid: sent.sum } : { told: true }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer))
  })
  const folder = folderOf({
    "pays.wire": shadowed(api.origin, "", "input.n"),
    "pays.next.wire": shadowed(
      api.origin,
      "release { shadow: 1  agree_on: [output.paid]  stop_when: agreement < 0.7 }",
      "input.n + input.n % 2",
    ),
    "asks.wire": `input { n: integer }
ask ok { question: "Ok?"  output { go: boolean } }
output { go: ask.ok.go }`,
    "asks.next.wire": `input { n: integer }
release { shadow: 1 }
ask ok { question: "Well?"  output { go: boolean  why: maybe string } }
ask more when input.n > 1 { question: "More?"  output { go: boolean } }
output { go: ask.ok.go  why: ask.ok.why }`,
  })
  const service = await startService({
    WORKFLOWS: folder,
    METRICS: "on",
    EGRESS: "private",
    SHADOW_COST_PER_DAY: "100",
    KEEP_REQUESTS: "on",
  })
  const acts = (): number => api.received.filter(({ method, url }) => method === "POST" && url === "/pay").length
  const shadows = async (workflow: string, count: number): Promise<RunsAnswer["runs"]> => {
    const look = async (): Promise<RunsAnswer["runs"]> => {
      for (;;) {
        const answer = await service.get(`/runs?release=shadow&workflow=${workflow}&status=ended&limit=100`)
        const { runs } = (await answer.json()) as RunsAnswer
        if (runs.filter(({ scores }) => scores?.some(({ name }) => name === "agreement")).length >= count) return runs
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    return within(30_000, "the shadows", look())
  }
  const scoresOf = (run: RunsAnswer["runs"][number]): Record<string, unknown> =>
    Object.fromEntries((run.scores ?? []).map(({ name, value }) => [name, value]))

  it("makes no call that acts, and is compared with the run that it shadows", async () => {
    const run = async (n: number): Promise<string> => {
      const response = await service.post("/workflows/pays/execute", { input: { customer: "ann", n } })
      assert.equal(response.status, 200, await response.clone().text())
      return response.headers.get("x-service-run-id") ?? ""
    }
    const even = await run(2)
    const odd = await run(3)
    const runs = await shadows("pays", 2)
    assert.deepEqual([acts(), runs.length], [2, 2])
    const of = (run_id: string): RunsAnswer["runs"][number] =>
      runs.find((one) => one.shadow_of === run_id) ?? assert.fail(`no shadow of ${run_id}`)
    // The same calls get the same results; another one is not made.
    assert.deepEqual(scoresOf(of(even)), { agreement: "agrees" })
    assert.deepEqual(scoresOf(of(odd)), { agreement: "disagrees", skipped_effects: 1 })
    const reads = api.received.filter(({ method }) => method === "GET").length
    const told = api.received.filter(({ url }) => url === "/tell").length
    // What reads is the same, and is not read again. What does nothing that matters is made, for its arguments are others.
    assert.deepEqual([reads, told], [2, 4])
    const answer = await release(service, "pays")
    assert.deepEqual(
      [answer.agreement, answer.candidate.skipped_effects, answer.shadows, answer.disagreements],
      [
        0.5,
        1,
        { compared: 2, inconclusive: 0 },
        [{ run_id: odd, shadow_run_id: of(odd).run_id, paths: ["output.paid"] }],
      ],
    )
    const record = (await (await service.get(`/execute/${of(odd).run_id}`)).json()) as RunAnswer
    assert.deepEqual([record.release, record.shadow_of, record.status], ["shadow", odd, "completed"])
    const { runs: all } = (await (await service.get("/runs?workflow=pays&limit=100")).json()) as RunsAnswer
    assert.deepEqual(new Set(all.map(({ run_id }) => run_id)), new Set([even, odd]))
    const metrics = await (await service.get("/metrics")).text()
    assert.match(metrics, /wire_cost_total\{[^}]*workflow="pays",release="shadow"[^}]*\} 0\.\d+/)
    const again = await service.post(`/execute/${of(odd).run_id}/rerun`, {})
    assert.equal(again.status, 409)
    assert.equal((await service.post(`/execute/${odd}/rerun`, {})).status, 200)
    const { runs: still } = (await (await service.get("/runs?release=shadow&workflow=pays")).json()) as RunsAnswer
    assert.equal(still.length, 2)
    assert.equal((await fetch(`${service.url}/execute/${odd}`, { method: "DELETE" })).status, 204)
    assert.equal((await service.get(`/execute/${of(odd).run_id}`)).status, 410)
  })

  it("gets recorded answers where they fit, and is inconclusive where it asks more", async () => {
    for (const n of [1, 2]) {
      const response = await service.post("/workflows/asks/execute", { input: { n } }, { prefer: "respond-async" })
      const { run_id } = (await response.json()) as { run_id: string }
      const { questions } = await within(
        30_000,
        "a question",
        (async () => {
          for (;;) {
            const found = await service.get(`/execute/${run_id}/questions`)
            const body = (await found.json()) as { questions: { id: string }[] }
            if (body.questions.length > 0) return body
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        })(),
      )
      const path = `/execute/${run_id}/questions/${questions[0]?.id}`
      assert.equal((await service.post(path, { answer: { go: true } })).status, 200)
    }
    const runs = await shadows("asks", 2)
    const found = runs.map((run) => `${String(scoresOf(run)["agreement"])} ${run.status}`)
    assert.deepEqual(new Set(found), new Set(["agrees completed", "inconclusive cancelled"]))
    const { questions } = (await (await service.get("/questions?status=open")).json()) as { questions: unknown[] }
    assert.deepEqual(questions, [])
  })

  it("stops the candidate where it disagrees too often", async () => {
    for (let n = 1; n <= 45 && (await release(service, "pays")).state === "running"; n += 2) {
      await service.post("/workflows/pays/execute", { input: { customer: "ann", n } })
      await shadows("pays", Math.min(20, (n + 1) / 2))
    }
    const stopped = await until(service, "pays", ({ state }) => state === "stopped")
    assert.ok((stopped.agreement ?? 1) < 0.7 && stopped.shadows.compared >= 20, JSON.stringify(stopped))
  })
})

describe("a shadow, where nothing may be spent on it", async () => {
  const source = "output { one: 1 }\n"
  const folder = folderOf({ "s.wire": source, "s.next.wire": `release { shadow: 1 }\n${source}` })
  const service = await startService({ WORKFLOWS: folder })

  it("is not made", async () => {
    for (let n = 0; n < 5; n++) assert.equal((await service.post("/workflows/s/execute", { input: {} })).status, 200)
    const { runs } = (await (await service.get("/runs?release=shadow")).json()) as RunsAnswer
    assert.deepEqual(runs, [])
    assert.equal((await release(service, "s")).agreement, null)
  })
})
