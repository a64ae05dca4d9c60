import assert from "node:assert/strict"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, it } from "node:test"
import type { ReleaseAnswer } from "../../../src/api/releases.ts"
import type { RunAnswer, RunsAnswer } from "../../../src/api/runs.ts"
import type { WorkflowsAnswer } from "../../../src/api/workflows.ts"
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
