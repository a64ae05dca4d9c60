import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fakeBackend, says } from "../support/fake-backend.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

const workflow = (endpoint: string): string => `input { least: integer }
provider p from openai { endpoint: "${endpoint}"  inference { output_retries: 1 } }
model m from p { id: "m" }
agent post {
    model: model.m
    instruction: "Post."
    output { n: integer }
    require result.n >= input.least else "At least {{ input.least }}, not {{ result.n }}."
}
output { n: agent.post.n }
`

const tests = `test "sent back once" {
    input { least: 3 }
    expect output.n == 5 && rejections agent.post == 1 && calls agent.post == 2
}
`

test("outputs that were sent back are recorded, and played as they were", async (t) => {
  const { backend, asked } = await fakeBackend(t, (_, n) => says(n % 2 === 1 ? '{"n":1}' : '{"n":5}'))
  const cwd = folderWith({ "a.wire": workflow(backend.endpoint), "a.test.wire": tests })
  for (const [more, requests] of [
    [["--live"], 2],
    [["--record"], 4],
    [[], 4],
  ] as const) {
    const { code, out, err } = await runWire(["test", ...more], { cwd })
    assert.equal(code, 0, out + err)
    assert.equal(asked.length, requests)
  }
  const recording = readFileSync(join(cwd, "a.test.recording.json"), "utf8")
  assert.match(recording, /At least 3, not 1\./)
})

soakTest("what was recorded with other requirements does not answer", async (t) => {
  const { backend } = await fakeBackend(t, () => says('{"n":5}'))
  const cwd = folderWith({
    "a.wire": workflow(backend.endpoint),
    "a.test.wire": tests.replace("rejections agent.post == 1 && calls agent.post == 2", "rejections agent.post == 0"),
  })
  assert.equal((await runWire(["test", "--record"], { cwd })).code, 0)
  const stricter = folderWith({
    "a.wire": workflow(backend.endpoint).replace(">=", ">"),
    "a.test.wire": readFileSync(join(cwd, "a.test.wire"), "utf8"),
    "a.test.recording.json": readFileSync(join(cwd, "a.test.recording.json"), "utf8"),
  })
  const { code, out, err } = await runWire(["test"], { cwd: stricter })
  assert.equal(code, 1, out + err)
  assert.match(out + err, /agent\.post asks what is not recorded/)
})

soakTest("a result that a test gives is judged once; the output that fails the agent is not counted", async (t) => {
  const { backend, asked } = await fakeBackend(t, () => says('{"n":1}'))
  const cwd = folderWith({
    "a.wire": workflow(backend.endpoint),
    "a.test.wire": `test "given" {
    input { least: 3 }
    given agent.post: { n: 2 }
    expect error.kind == "output_error" && error.message == "At least 3, not 2." && rejections agent.post == 0
    expect error.issues == [{ path: "agent.post.require[0]", message: "At least 3, not 2." }]
}
test "live" {
    input { least: 3 }
    expect error.kind == "output_error" && rejections agent.post == 1
}
`,
  })
  const { code, out, err } = await runWire(["test", "--live"], { cwd })
  assert.equal(code, 0, out + err)
  assert.equal(asked.length, 2)
})

test("only outputs of an agent are sent back", async () => {
  const cwd = folderWith({
    "a.wire": `ask q { question: "?"  output { n: integer } }\noutput { n: ask.q.n }`,
    "a.test.wire": `test "x" { given ask.q: { n: 1 }  expect rejections ask.q == 0 }\n`,
  })
  const { out, err } = await runWire(["check", "."], { cwd })
  assert.match(out + err, /Only outputs of an agent are sent back/)
})
