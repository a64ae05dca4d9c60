import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { apiError, fakeBackend, json, messageItem, response, says } from "../support/fake-backend.ts"
import { soakTest } from "../support/strength.ts"
import { folderWith, runWire } from "./run-wire.ts"

const provider = (endpoint: string, retries = 0): string => `provider p from openai {
    endpoint: "${endpoint}"
    inference { output_retries: ${retries}  max_retries: 0 }
}
model m from p { id: "m"  price { input: 1  output: 2 } }
model k from p { id: "k" }
`

interface Report {
  readonly tests: readonly { readonly usage: JsonObject; readonly failures: readonly JsonObject[] }[]
}

/** Records the tests of a folder, then plays them: both give the same. The recording is what it returns. */
async function recordedThenPlayed(cwd: string, asked: readonly JsonObject[]): Promise<string> {
  const recorded = await runWire(["test", "--record", "--reporter", "json"], { cwd })
  assert.equal(recorded.code, 0, recorded.out + recorded.err)
  const file = join(cwd, "a.test.recording.json")
  const text = readFileSync(file, "utf8")
  const requests = asked.length
  const played = await runWire(["test", "--reporter", "json"], { cwd })
  assert.equal(played.code, 0, played.out + played.err)
  const [before, after] = [recorded, played].map(({ out }) =>
    (JSON.parse(out) as Report).tests.map(({ usage }) => usage),
  )
  assert.deepEqual(after, before)
  // All of it is there, and used.
  assert.equal((await runWire(["test", "--record"], { cwd })).code, 0)
  assert.equal(readFileSync(file, "utf8"), text)
  assert.equal(asked.length, requests)
  return text
}

const failing = `agent a {
    model: model.m
    instruction: "A"
    output { t: string }
    require length(result.t) < 3
}
output { t: agent.a.t }
`

const failures: readonly (readonly [string, string, string])[] = [
  [
    "a requirement, of an agent that is skipped",
    failing.replace("< 3", "< 3\n    on_failure: skip").replace("agent.a.t", "agent.a?.t"),
    "expect skipped agent.a && output.t == null && rejections agent.a == 1 && calls agent.a == 2",
  ],
  [
    "a requirement, of an agent that fails the run",
    failing,
    `expect error.kind == "output_error" && rejections agent.a == 1 && calls agent.a == 2
    expect error.issues == [{ path: "agent.a.require[0]", message: "Required: length(result.t) < 3" }]`,
  ],
  [
    "the type",
    failing.replace("t: string", "t: [integer]"),
    `expect error.kind == "output_error" && rejections agent.a == 0 && calls agent.a == 2
    expect error.message contains "agent.a.output.t: expected"`,
  ],
]

for (const [what, source, expectation] of failures) {
  test(`an answer that fails by ${what} is recorded, and fails the same way when it is played`, async (t) => {
    const { backend, asked } = await fakeBackend(t, () => says('{"t":"long"}'))
    const cwd = folderWith({
      "a.wire": `${provider(backend.endpoint, 1)}${source}`,
      "a.test.wire": `test "x" { ${expectation} }\ntest "the same, at the same time" { ${expectation} }\n`,
    })
    await recordedThenPlayed(cwd, asked)
    assert.equal(asked.length, 2, "both tests share one exchange")
  })
}

test("a model whose answer fails is recorded before the model that is asked after it", async (t) => {
  const { backend, asked } = await fakeBackend(t, ({ body }) =>
    says(body["model"] === "m" ? '{"t":"long"}' : '{"t":"ok"}'),
  )
  const cwd = folderWith({
    "a.wire": `${provider(backend.endpoint)}${failing.replace("model.m", "[model.m, model.k]")}`,
    "a.test.wire": `test "x" { expect output.t == "ok" && calls agent.a == 2  samples: 2 }\n`,
  })
  await recordedThenPlayed(cwd, asked)
  assert.equal(asked.length, 4, "each sample has its own answers")
})

test("a refusal and an answer that was cut off are the model's own; a backend that is busy is not", async (t) => {
  const refusal = { ...messageItem(""), content: [{ type: "refusal", refusal: "No." }] }
  const { backend, asked } = await fakeBackend(t, ({ body }) => {
    const input = JSON.stringify(body["input"])
    if (input.includes("Refuse")) return json(response([refusal]))
    if (input.includes("Cut")) {
      return json(response([], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }))
    }
    return apiError(429, "Too many requests")
  })
  const agent = (name: string, text: string): string => `agent ${name} {
    model: model.m
    instruction: "${text}"
    output { t: string }
    on_failure: skip
}
`
  const source = `${provider(backend.endpoint)}${agent("r", "Refuse")}${agent("c", "Cut")}`
  const cwd = folderWith({
    "a.wire": `${source}output { t: [agent.r?.t, agent.c?.t] }\n`,
    "a.test.wire": `test "x" { expect skipped agent.r && skipped agent.c }\n`,
  })
  const text = await recordedThenPlayed(cwd, asked)
  assert.match(text, /The model refused to answer/)
  assert.match(text, /The answer is incomplete \(max_output_tokens\)/)
  writeFileSync(
    join(cwd, "a.wire"),
    `${source}${agent("b", "Busy")}output { t: [agent.r?.t, agent.c?.t, agent.b?.t] }\n`,
  )
  for (const count of [3, 4]) {
    assert.equal((await runWire(["test", "--record"], { cwd })).code, 0)
    assert.equal(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), text)
    assert.equal(asked.length, count, "it is asked again")
  }
})

test("a failure is asked for anew where the answer may be sent back more often", async (t) => {
  const { backend, asked } = await fakeBackend(t, (_, n) => says(n < 3 ? '{"t":"long"}' : '{"t":"ok"}'))
  const cwd = folderWith({
    "a.wire": `${provider(backend.endpoint)}${failing}`,
    "a.test.wire": `test "x" { expect error.kind == "output_error" }\n`,
  })
  await recordedThenPlayed(cwd, asked)
  writeFileSync(join(cwd, "a.wire"), `${provider(backend.endpoint, 1)}${failing}`)
  writeFileSync(join(cwd, "a.test.wire"), `test "x" { expect output.t == "ok" }\n`)
  const missed = await runWire(["test"], { cwd })
  assert.equal(missed.code, 1)
  assert.match(missed.out, /The same request is recorded, but not the answer to this asking\./)
  await recordedThenPlayed(cwd, asked)
  assert.equal(asked.length, 3)
})

/** Events without what differs from one run to the next. */
function comparable(events: string): JsonObject[] {
  const dropped = new Set(["at", "started_at", "duration_ms", "call_id"])
  return events
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line, (key, value: unknown) => (dropped.has(key) ? undefined : value)) as JsonObject)
}

test("wire run records such a run, and replays it with the same events", async (t) => {
  const { backend } = await fakeBackend(t, ({ body }, n) => {
    if (body["model"] === "m") return says(n === 1 ? '{"u":1}' : '{"t":"long canary-77aa12"}')
    return says(JSON.stringify(body["input"]).includes("Answer again") ? '{"t":"long"}' : '{"t":"longer"}')
  })
  const source = `secrets { key: string }
${provider(backend.endpoint, 1).replace("inference", "api_key: secrets.key\n    inference")}${failing
    .replace("model.m", "[model.m, model.k]")
    .replace("< 3", "< 3\n    on_failure: skip")
    .replace("agent.a.t", "agent.a?.t")}`
  for (const text of [source, source.replace("on_failure: skip", "").replace("agent.a?.t", "agent.a.t")]) {
    const cwd = folderWith({ "a.wire": text })
    const args = ["run", "a.wire", "--events"]
    const recorded = await runWire([...args, "--secret", "key=env:KEY", "--record", "r.json"], {
      cwd,
      env: { KEY: "canary-77aa12" },
    })
    assert.ok(!readFileSync(join(cwd, "r.json"), "utf8").includes("canary-77aa12"))
    const played = await runWire([...args, "--replay", "r.json"], { cwd })
    assert.equal(played.code, recorded.code, played.err)
    assert.deepEqual(comparable(played.out), comparable(recorded.out))
    const types = comparable(played.out).map(({ event }) => event)
    assert.equal(types.filter((type) => type === "agent_retried").length, 2)
    assert.equal(types.filter((type) => type === "agent_fallback").length, 1)
  }
})

test("of a run that ends while a model answers, only what was answered is recorded", async (t) => {
  const held = Promise.withResolvers<void>()
  const { backend, asked } = await fakeBackend(t, ({ body }) => {
    if (JSON.stringify(body["input"]).includes("Hold")) return () => held.resolve()
    return (reply, raw) => void held.promise.then(() => says('{"t":"long"}')(reply, raw))
  })
  const cwd = folderWith({
    "a.wire": `${provider(backend.endpoint)}agent h { model: model.m  instruction: "Hold"  output { t: string } }
${failing.replace("output { t: agent.a.t }", "output { t: [agent.a.t, agent.h.t] }")}`,
  })
  const { code, err } = await runWire(["run", "a.wire", "-q", "--record", "r.json"], { cwd })
  assert.equal(code, 1, err)
  assert.equal(asked.length, 2)
  const { exchanges } = JSON.parse(readFileSync(join(cwd, "r.json"), "utf8")) as {
    exchanges: Record<string, { answers: { kind: string }[] }>
  }
  assert.deepEqual(
    Object.values(exchanges).map(({ answers }) => answers.map(({ kind }) => kind)),
    [["failed"]],
  )
})

soakTest("--live and other models keep what they kept: nothing, and exchanges of their own", async (t) => {
  const { backend, asked } = await fakeBackend(t, () => says('{"t":"long"}'))
  const cwd = folderWith({
    "a.wire": `${provider(backend.endpoint)}${failing}`,
    "a.test.wire": `test "x" { expect error.kind == "output_error" }\n`,
  })
  const text = await recordedThenPlayed(cwd, asked)
  assert.equal((await runWire(["test", "--live"], { cwd })).code, 0)
  assert.equal(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), text)
  const args = ["test", "--record", "--model", "m=one", "--model", "m=two"]
  assert.equal((await runWire(args, { cwd })).code, 0)
  assert.equal(asked.length, 4)
  assert.equal((await runWire(args, { cwd })).code, 0)
  assert.equal(asked.length, 4)
})
