import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { ada, hello } from "../contract/http/start-service.ts"
import { folderWith, runWire, startWire } from "./run-wire.ts"

interface Line {
  readonly act: string
  readonly run_id: string
  readonly caller: string | null
  readonly at: string
  readonly prev: string
  readonly [more: string]: unknown
}

const linesIn = (path: string): Line[] =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)

const asks =
  'ask review {\n    question: "Publish?"\n    output { publish: boolean }\n}\noutput { published: ask.review.publish }\n'
const secretive =
  'secrets { token: string }\nprovider p from openai { endpoint: "demo" api_key: secrets.token }\nmodel m from p { id: "demo" }\nagent a {\n    model: model.m\n    instruction: "Hello."\n    output { message: string }\n}\noutput { m: agent.a.message }\n'

test("the audit trail of a service, over a kill", async () => {
  const folder = folderWith({ "workflows/secretive.wire": secretive })
  const path = join(folder, "audit.jsonl")
  const env = {
    WIRE_PORT: "0",
    WIRE_DATA_DIR: join(folder, "data"),
    WIRE_WORKFLOWS: join(folder, "workflows"),
    WIRE_SECRET_TOKEN: "very-secret-token",
    WIRE_API_KEYS: "ann:key-of-ann-0123456789",
    WIRE_OPERATOR_KEYS: "ops:key-of-ops-0123456789",
    WIRE_AUDIT_FILE: path,
    WIRE_LOG_LEVEL: "info",
  }
  const of = (name: string) => ({ authorization: `Bearer key-of-${name}-0123456789` })
  const first = await startWire(["serve"], env)
  const call = async (address: string, method: string, url: string, body: unknown, name = "ann") => {
    const response = await fetch(`${address}${url}`, {
      method,
      headers: { ...of(name), ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { id: response.headers.get("x-service-run-id") ?? "", text }
  }
  const done = await call(first.address, "POST", "/execute", { workflow_source: hello, input: ada })
  const named = await call(first.address, "POST", "/workflows/secretive/execute", {})
  const asking = await call(first.address, "POST", "/execute", { workflow_source: asks })
  const { questions } = JSON.parse(asking.text) as { questions: { id: string }[] }
  const question = questions[0]?.id ?? ""
  await call(first.address, "POST", `/execute/${asking.id}/questions/${question}`, {
    answer: { publish: true },
    by: "Ann",
  })
  first.child.kill("SIGKILL")
  await first.ended
  assert.match(first.output(), /"audit":true,"act":"started"/)
  const second = await startWire(["serve"], env)
  const waiting = await call(second.address, "POST", "/execute", { workflow_source: asks })
  await call(second.address, "POST", `/execute/${waiting.id}/cancel`, undefined, "ops")
  await call(second.address, "DELETE", `/execute/${done.id}`, undefined, "ops")
  second.child.kill("SIGTERM")
  await second.ended
  const lines = linesIn(path)
  assert.deepEqual(
    lines
      .map(({ act, run_id, caller }) => [act, run_id, caller])
      .filter(([act, run]) => act !== "started" || run !== ""),
    [
      ["started", done.id, "ann"],
      ["read_secrets", named.id, "ann"],
      ["started", named.id, "ann"],
      ["started", asking.id, "ann"],
      ["answered", asking.id, "ann"],
      ["started", waiting.id, "ann"],
      ["cancelled", waiting.id, "ops"],
      ["deleted", done.id, "ops"],
    ],
  )
  assert.deepEqual(lines[1]?.["secrets"], ["token"])
  assert.equal(lines[1]?.["workflow"], "secretive")
  assert.deepEqual([lines[4]?.["question"], lines[4]?.["by"]], [question, "Ann"])
  assert.equal(lines[0]?.prev, "0".repeat(64))
  assert.doesNotMatch(readFileSync(path, "utf8"), /very-secret-token|key-of-|Ada/)

  const good = await runWire(["audit", "verify", path])
  assert.deepEqual([good.code, good.err], [0, ""])
  assert.match(good.out, /^All 8 lines fit. Last hash: [\da-f]{64}\n$/)
  writeFileSync(path, readFileSync(path, "utf8").replace('"caller":"ops"', '"caller":"ann"'))
  const bad = await runWire(["audit", "verify", path])
  assert.equal(bad.code, 1)
  assert.match(bad.err, /audit\.jsonl:8: its `prev` is not the hash of line 7/)
  const json = JSON.parse((await runWire(["audit", "verify", path, "--json"])).out) as { problem: { line: number } }
  assert.equal(json.problem.line, 8)
  const none = await runWire(["audit", "verify", join(folder, "none")])
  assert.deepEqual([none.code, none.err], [1, `${join(folder, "none")} cannot be read (ENOENT).\n`])
})

test("a file that cannot be written refuses the start", async () => {
  const folder = folderWith({ "other.json": '{"a": 1}' })
  for (const [file, reason] of [
    [folder, /EISDIR/],
    [join(folder, "none", "audit.jsonl"), /ENOENT/],
    [join(folder, "other.json"), /not an audit trail/],
  ] as const) {
    const env = { WIRE_PORT: "0", WIRE_STORE: "memory", WIRE_AUDIT_FILE: file }
    const { code, err } = await runWire(["serve"], { env })
    assert.equal(code, 1)
    assert.match(err, /^WIRE_AUDIT_FILE is /)
    assert.match(err, reason)
  }
})
