import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { parseFrame } from "../contract/http/read-stream.ts"
import {
  call,
  checkKilledProcess,
  inBackground,
  isAlive,
  linesOf,
  model,
  pidOf,
  serving,
  source,
  start,
  startRun,
  statusOf,
  until,
  type Answer,
} from "../support/several-processes.ts"
import { folderWith, runWire } from "./run-wire.ts"

// `wire serve --processes 2`: real processes, real connections.

const asking = `
ask name { question: "Who are you?"  output { name: string } }
output { name: ask.name.name }
`

const processesOf = (body: string): unknown => (JSON.parse(body) as JsonObject)["processes"]

describe("wire serve --processes", async () => {
  // It takes long to start: what can be tried on one service is.
  const auditFile = join(folderWith({}), "audit.jsonl")
  const service = await start({ WIRE_AUDIT_FILE: auditFile })
  const { address } = service

  test("all processes answer on one port, with one log, one /metrics and one audit trail", async () => {
    assert.match(service.output(), /processes +2 \(WIRE_PROCESSES\)/)
    const hello = { workflow_source: 'output { m: "hello" }' }
    const ended = (): JsonObject[] => linesOf(service).filter(({ msg }) => msg === "run ended")
    const pids = (): Set<unknown> => new Set(ended().map(({ pid }) => pid))
    // Connections go to the processes in turns, if both are as quick.
    let runs = 0
    await until("runs of both", async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(`${address}/execute`, hello)))
      for (const { status, body } of answers) assert.deepEqual([status, body], [200, '{"m":"hello"}'])
      runs += answers.length
      await until("their lines", () => ended().length === runs)
      return pids().size === 2
    })
    assert.ok(!pids().has(service.child.pid))
    for (let n = 0; n < 4; n++) {
      const { body } = await call(`${address}/metrics`)
      assert.match(body, new RegExp(`^wire_runs_total\\{status="completed"\\} ${runs}$`, "m"))
      assert.match(body, /^wire_processes 2$/m)
    }
    assert.deepEqual(processesOf((await call(`${address}/healthz`)).body), { up: 2, of: 2 })
    await until("a line of each", () => readFileSync(auditFile, "utf8").trim().split("\n").length === runs)
    const verified = await runWire(["audit", "verify", auditFile])
    assert.equal(verified.code, 0, verified.err)
  })

  test("cancel requests, streams and answers of people reach a run in another process", async () => {
    model.hold()
    let elsewhere = 0
    for (let n = 0; n < 300 && elsewhere === 0; n++) {
      const run_id = await startRun(address, source())
      const stream = call(`${address}/execute/${run_id}/events`, undefined, { "last-event-id": "1" })
      await until("its first call", () => model.asked === n + 1)
      // Connections go to the processes in turns.
      if (n % 2 === 1) await call(`${address}/healthz`)
      assert.equal((await call(`${address}/execute/${run_id}/cancel`, {})).status, 202)
      const events = (await stream).body.split("\n\n").flatMap((frame) => parseFrame(frame) ?? [])
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_, at) => at + 2),
      )
      assert.equal(events.at(-1)?.type, "workflow_cancelled")
      await until("the line", () => pidOf(service, "cancel requested", run_id) !== undefined)
      if (pidOf(service, "cancel requested", run_id) !== pidOf(service, "run admitted", run_id)) elsewhere++
    }
    assert.ok(elsewhere > 0, "no request came to another process")
    for (let n = 0; n < 3; n++) {
      const run_id = await startRun(address, asking)
      await until("it waits", async () => (await statusOf(address, run_id)) === "waiting")
      const questions = (await call(`${address}/execute/${run_id}/questions`)).body
      const [question] = (JSON.parse(questions) as { questions: { id: string }[] }).questions
      const url = `${address}/execute/${run_id}/questions/${question?.id ?? ""}`
      const { status, body } = await call(url, { answer: { name: "Ada" } })
      assert.ok(status < 300, body)
      await until("its end", async () => (await statusOf(address, run_id)) === "completed")
    }
    model.answer()
  })

  test("SIGTERM waits for the runs of all processes", async () => {
    model.hold()
    const runs = Array.from({ length: 4 }, () => call(`${address}/execute`, { workflow_source: source() }))
    await until("all have called", () => model.asked === 4)
    service.child.kill("SIGTERM")
    await until("both drain", () => linesOf(service).filter(({ msg }) => msg === "service stops").length === 2)
    model.answer()
    for (const { status } of await Promise.all(runs)) assert.equal(status, 200)
    assert.deepEqual(await service.ended, { code: 0, signal: null })
    const verified = await runWire(["audit", "verify", auditFile])
    assert.equal(verified.code, 0, verified.err)
  })

  test("the limits of runs and the share of a caller are those of all processes together; kill -9 of the parent ends them", async () => {
    model.hold()
    const limited = await start({
      WIRE_API_KEYS: "ann:a-key-of-ann-0123456,bob:a-key-of-bob-0123456,eve:a-key-of-eve-0123456",
      WIRE_MAX_RUNS: "4",
      WIRE_MAX_QUEUED: "2",
    })
    const asked = (key: string): { readonly authorization: string } => ({
      authorization: `Bearer a-key-of-${key}-0123456`,
    })
    const execute = (key: string, more: Readonly<Record<string, string>> = inBackground): Promise<Answer> =>
      call(`${limited.address}/execute`, { workflow_source: source() }, { ...more, ...asked(key) })
    const statusesOf = (answers: readonly Answer[]): number[] =>
      answers.map(({ status }) => status).toSorted((a, b) => a - b)
    // Half of the four places, and half of those to wait in.
    const ann = await Promise.all(Array.from({ length: 6 }, () => execute("ann")))
    assert.deepEqual(statusesOf(ann), [202, 202, 202, 429, 429, 429])
    const bob = await Promise.all(Array.from({ length: 3 }, () => execute("bob")))
    assert.deepEqual(statusesOf(bob), [202, 202, 202])
    // All places are taken.
    const eve = await Promise.all(Array.from({ length: 4 }, () => execute("eve")))
    assert.deepEqual(statusesOf(eve), [503, 503, 503, 503])
    for (const { body } of eve) assert.match(body, /The service is at capacity/)
    await until("two of each run", () => model.open === 4)
    model.answer()
    await until("all calls", () => model.asked === 12)
    assert.equal(model.most, 4)
    const active = async (): Promise<string> => (await call(`${limited.address}/metrics`, undefined, asked("eve"))).body
    await until("all have ended", async () => /^wire_runs_total\{status="completed"\} 6$/m.test(await active()))
    // All places are free again.
    for (let n = 0; n < 8; n++) assert.equal((await execute("eve", {})).status, 200)
    const pids = serving(limited) as number[]
    limited.child.kill("SIGKILL")
    await until("they end", () => !pids.some(isAlive))
  })

  test("kill -9 of a process during 20 runs: the other takes them up, and another process takes its place", () =>
    checkKilledProcess({}))

  test("what it cannot do is one sentence", async () => {
    const memory = await runWire(["serve", "--processes", "2", "--store", "memory", "--port", "0"])
    assert.deepEqual(
      [memory.code, memory.err],
      [
        2,
        "WIRE_STORE is memory, which only one process can have: set WIRE_PROCESSES to 1, or WIRE_STORE to sqlite or another store that processes share.\n",
      ],
    )
    const none = await runWire(["serve", "--processes", "0"])
    assert.deepEqual(
      [none.code, none.err],
      [2, '--processes is "0": it must be a whole number from 1 to 256, or auto.\n'],
    )
    const folder = folderWith({ file: "" })
    const refused = await runWire(["serve", "--processes", "2", "--port", "0", "--data-dir", join(folder, "file", "x")])
    assert.equal(refused.code, 1)
    assert.match(refused.err, /^WIRE_DATA_DIR is ".*": it must be a folder that can be written to \(.*\)\.\n$/)
  })
})
