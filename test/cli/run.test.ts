import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { describe, test } from "node:test"
import { within } from "../support/within.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { builtWire } from "../support/built-wire.ts"
import { fakeBackend, says } from "../support/fake-backend.ts"

const head = (model: string): string => `provider p from openai { endpoint: "demo" }
model m from p { id: "${model}" }
`

const hello = `${head("demo")}
input { name: string  more: maybe { n: integer  tags: [string] } }
secrets { token: string }
provider q from openai { endpoint: "demo"  api_key: secrets.token }
model n from q { id: "demo" }
agent reply { model: model.n  instruction: "Greet {{ input.name }}."  output { message: string } }
output { message: agent.reply.message  name: input.name  more: input.more }
`

const plain = `${head("demo")}
agent reply { model: model.m  instruction: "Greet Ada."  output { message: string } }
output { message: agent.reply.message }
`

const slow = `${head("demo-slow")}
agent each for n in [1, 2, 3] { model: model.m  instruction: "{{ n }}"  output { message: string } }
output { all: agent.each }
`

const folder = (): string =>
  folderWith({
    "hello.wire": hello,
    "plain.wire": plain,
    "slow.wire": slow,
    "wrong.wire": "output { a: agent.nobody.x }\n",
    "unknown.wire": plain.replace('id: "demo"', 'id: "demo-9"'),
    "caller.wire":
      'workflow greet from "./plain.wire" {}\ndynamic { twice: [call workflow.greet for n in [1, 2]] }\noutput { twice: dynamic.twice }\n',
    "input.json": '{ "name": "Ada", "more": null }',
  })

describe("wire run", () => {
  test("prints the result as JSON, and how it went on standard error", async () => {
    const { code, out, err } = await runWire(["run", "plain.wire"], { cwd: folder() })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { message: "Hello, Ada." })
    assert.match(
      err,
      /^reply: started \(demo\)\nreply: done in \d+\.\d s, \d+ tokens\nDone in \d+\.\d s, \d+ tokens\.\n$/,
    )
    const quiet = await runWire(["run", "plain.wire", "--quiet"], { cwd: folder() })
    assert.deepEqual([quiet.code, quiet.out, quiet.err], [0, out, ""])
  })

  test("runs the workflows that a file calls, with the demo model; a limit on cost needs the prices of all", async () => {
    const cwd = folder()
    const { code, out } = await runWire(["run", "caller.wire"], { cwd })
    assert.deepEqual([code, JSON.parse(out)], [0, { twice: [{ message: "Hello, Ada." }, { message: "Hello, Ada." }] }])
    const unpriced = await runWire(["run", "caller.wire", "--limit", "cost=1"], { cwd })
    assert.match(unpriced.err, /model\.m has no price/)
  })

  test("--limit bounds the run, as options.limits of a request does", async () => {
    const cwd = folder()
    const few = await runWire(["run", "slow.wire", "--quiet", "--limit", "model_calls=1"], { cwd })
    assert.equal(few.code, 1)
    assert.match(few.err, /limit_exceeded: .*options\.limits\.model_calls/)
    for (const [limit, sentence] of [
      ["money=1", /must be one of cost, tokens, model_calls, tool_calls, time_seconds/],
      ["cost=1", /model\.m has no price/],
    ] as const) {
      const { code, err } = await runWire(["run", "plain.wire", "--limit", limit], { cwd })
      assert.equal(code, 2, limit)
      assert.match(err, sentence)
    }
  })

  test("input and secrets from the command line, the workflow from standard input", async () => {
    const cwd = folder()
    const args = ["run", "-", "-i", "input.json", "--set", "name=Bo", "--secret", "token=env:MY_TOKEN"]
    const { code, out, err } = await runWire(args, { cwd, env: { MY_TOKEN: "sk-from-a-variable" }, input: hello })
    assert.equal(code, 0, err)
    assert.deepEqual(JSON.parse(out), { message: "Hello, Bo.", name: "Bo", more: null })
  })

  test("problems are reported on standard error, with an exit code that says whose mistake it is", async () => {
    const cwd = folder()
    const cases: [string[], number, RegExp][] = [
      [["hello.wire", "--set", "name=Ada"], 2, /input_error: .*secrets\.token/],
      [["hello.wire", "--secret", "token=sk-plain-value"], 2, /name=env:VARIABLE/],
      [["plain.wire", "--timeout", "soon"], 2, /--timeout is "soon"/],
      [["wrong.wire"], 1, /wrong\.wire:1:19: error: [^]*Not run: 1 error\./],
      [["unknown.wire"], 1, /provider_error: .*404/],
    ]
    const ended = await Promise.all(cases.map(([args]) => runWire(["run", ...args], { cwd })))
    for (const [index, [args, code, message]] of cases.entries()) {
      const { code: found, out, err } = ended[index] ?? assert.fail()
      assert.equal(found, code, `${args.join(" ")}: ${err}`)
      assert.match(err, message)
      assert.equal(out, "")
      assert.ok(!err.includes("sk-"), err)
    }
  })

  test("a wrong setting is a mistake of the user, in a sentence", async () => {
    const env = { WIRE_EGRESS: "10.0.0.0/99" }
    const { code, err } = await runWire(["run", "plain.wire"], { cwd: folder(), env })
    assert.equal(code, 2, err)
    assert.match(err, /^WIRE_EGRESS holds "10\.0\.0\.0\/99", which is not a host[^\n]*\n$/)
  })

  test("--events prints every event as a line of JSON", async () => {
    const { code, out } = await runWire(["run", "plain.wire", "--events", "--deltas", "-q"], { cwd: folder() })
    assert.equal(code, 0)
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number; event: string; data: object })
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index + 1),
    )
    assert.equal(events[0]?.event, "workflow_started")
    assert.ok(events.some(({ event }) => event === "agent_delta"))
    assert.equal(events.at(-1)?.event, "workflow_completed")
  })

  test("a time limit ends the run", async () => {
    const { code, err } = await runWire(["run", "slow.wire", "--timeout", "50ms"], { cwd: folder() })
    assert.equal(code, 1)
    assert.match(err, /timeout: The run took longer than 50 ms/)
  })

  test("a reader that stops early stops the run, and no more models are called", async (t) => {
    // The first model answers when the reader is gone; there are many more to ask.
    const gone = Promise.withResolvers<void>()
    const { backend, asked } = await fakeBackend(t, () => (response, request) => {
      void gone.promise.then(() => says('{"message":"x"}')(response, request))
    })
    const numbers = Array.from({ length: 50 }, (_, index) => index).join(", ")
    const source = `provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "x" }
agent each for n in [${numbers}] { model: model.m  instruction: "{{ n }}"  output { message: string } }
output { all: agent.each }
`
    const args = [builtWire, "run", "many.wire", "--events", "--max-concurrency", "1"]
    const child = spawn(process.execPath, args, { cwd: folderWith({ "many.wire": source }), stdio: "pipe" })
    t.after(() => child.kill("SIGKILL"))
    await within(30_000, "the first event", once(child.stdout, "data"))
    child.stdout.destroy()
    gone.resolve()
    child.stderr.resume()
    const [code] = (await within(30_000, "the end", once(child, "exit"))) as [number | null]
    assert.equal(code, 130)
    assert.ok(asked.length < 10, `${asked.length} calls`)
  })

  test("a reader that is gone before the last events is no error", async (t) => {
    const called = Promise.withResolvers<void>()
    const shown = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (response, request) => {
      called.resolve()
      void gone.promise.then(() => says('{"message":"x"}')(response, request))
    })
    const source = `provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "x" }
agent one { model: model.m  instruction: "Hi."  output { message: string } }
output { message: agent.one.message }
`
    const args = [builtWire, "run", "one.wire", "--events"]
    const child = spawn(process.execPath, args, { cwd: folderWith({ "one.wire": source }), stdio: "pipe" })
    t.after(() => child.kill("SIGKILL"))
    let err = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text
      if (err.includes("started")) shown.resolve()
    })
    // All that is written after this is written at once, and then the store is closed.
    await within(30_000, "the call", Promise.all([called.promise, shown.promise]))
    child.stdout.destroy()
    gone.resolve()
    await within(30_000, "the end", once(child, "close"))
    assert.doesNotMatch(err, /bug|StoreFailure/)
  })

  test("Ctrl+C cancels the run", async (t) => {
    const { backend } = await fakeBackend(t, () => () => {})
    const source = `provider p from openai { endpoint: "${backend.endpoint}" }
model m from p { id: "x" }
agent held { model: model.m  instruction: "Wait."  output { message: string } }
output { message: agent.held.message }
`
    const cwd = folderWith({ "held.wire": source })
    const child = spawn(process.execPath, [builtWire, "run", "held.wire"], { cwd, stdio: "pipe" })
    t.after(() => child.kill("SIGKILL"))
    let err = ""
    let interrupted = false
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text
      // Once: a second press quits at once.
      if (!interrupted && err.includes("started")) interrupted = child.kill("SIGINT")
    })
    const [code] = (await within(30_000, "the end", once(child, "close"))) as [number | null]
    assert.equal(code, 130)
    assert.match(err, /Cancelling; press Ctrl\+C again to quit at once\nCancelled\.\n$/)
  })
})
