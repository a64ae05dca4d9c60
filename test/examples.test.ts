import assert from "node:assert/strict"
import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { describe, test } from "node:test"
import type { JsonObject } from "../src/base/json-value.ts"
import { validateValue } from "../src/types/validate-value.ts"
import { RunWaiting, WireworksClient } from "./support/built-client.ts"
import { compile } from "../src/compile.ts"
import { formatText } from "../src/syntax/format.ts"
import { startService } from "./contract/http/start-service.ts"
import { runWire } from "./cli/run-wire.ts"
import { startEverything } from "./support/everything-server.ts"

// What we show to people who want to learn the language: right, canonical, and as good as it says.

const root = dirname(import.meta.dirname)
const names = globSync("examples/*.wire", { cwd: root })
  .filter((path) => !path.endsWith(".test.wire"))
  .map((path) => basename(path, ".wire"))
  .toSorted()
const sourceOf = (name: string): string => readFileSync(join(root, "examples", `${name}.wire`), "utf8")
const inputOf = (name: string): JsonObject =>
  JSON.parse(readFileSync(join(root, "examples", `${name}.input.json`), "utf8")) as JsonObject

/** Code files that examples use. */
const modules = Object.fromEntries(
  globSync("examples/lib/*.js", { cwd: root }).map((path) => {
    return [path.slice("examples/".length), readFileSync(join(root, path), "utf8")]
  }),
)

/** Need a key, a program that npm does not bring, or the network. */
const notRun = new Set(["openai", "local-models", "imported-api"])

test("there is something to learn from, and it begins with hello", () => {
  assert.ok(names.length >= 12)
  assert.ok(names.includes("hello"))
})

for (const name of names) {
  describe(`examples/${name}.wire`, () => {
    const source = sourceOf(name)
    const { diagnostics, plan } = compile(source, { modules })

    test("has no problems, not even small ones", () => {
      assert.deepEqual(
        diagnostics.map(({ path, message }) => `${path}: ${message}`),
        [],
      )
      assert.ok(plan !== undefined && plan.nodes.length > 1)
    })

    test("says at its top what it shows", () => assert.match(source, /^\/\/ [A-Z][^\n]{30,}/))

    test("is in canonical form", () => assert.deepEqual(formatText(source), { formatted: source, changed: false }))

    test("has an input beside it that fits", () => {
      assert.ok(existsSync(join(root, "examples", `${name}.input.json`)))
      assert.ok(plan !== undefined)
      assert.deepEqual(validateValue(inputOf(name), plan.input, plan.types, "input"), [])
    })
  })
}

/** The output of a run that waits for people, who say yes to everything. */
async function answered(client: WireworksClient, error: unknown): Promise<unknown> {
  if (!(error instanceof RunWaiting)) throw error
  const { run_id } = error.run
  for (;;) {
    for (const { id, kind, status, digest, schema } of await client.questions(run_id)) {
      if (status !== "open") continue
      const toSend = { send: true, title: "The Owl Papers", note: "Shorter, please." }
      const yes = JSON.stringify(schema).includes('"publish"') ? { publish: true } : toSend
      await client.answer(
        run_id,
        id,
        kind === "ask" ? { answer: yes } : { answer: { approve: true, note: null }, ...(digest && { digest }) },
      )
    }
    const {
      status,
      output,
      error: failed,
      waiting_for,
      batches,
      last_event_id,
    } = await client.run(run_id, { wait: 30 })
    for (const { event, key } of waiting_for?.waits ?? []) {
      if (event !== undefined)
        await client.sendEvent({ name: event, key: key ?? "", data: { status: "settled", amount: 42 } })
    }
    assert.ok(status !== "failed" && status !== "cancelled", failed?.message)
    if (status === "completed") return output
    // A run that waits for a batch is answered at once, and its next event comes when the batch has ended.
    if (batches.some((each) => each.status === "in_progress"))
      for await (const _ of client.follow(run_id, { after: last_event_id })) break
  }
}

test("every example has tests, and they pass", async () => {
  for (const name of names) assert.ok(existsSync(join(root, "examples", `${name}.test.wire`)), name)
  const { code, out, err } = await runWire(["test", "examples"], { cwd: root })
  assert.equal(code, 0, out + err)
  assert.equal((await runWire(["check", "examples"], { cwd: root })).code, 0)
  assert.equal((await runWire(["fmt", "--check", "examples"], { cwd: root })).code, 0)
})

test("examples run on the demo model, and their results are of their types", async (t) => {
  const service = await startService({ CODE: "all" })
  const everything = await startEverything("streamableHttp")
  try {
    for (const name of names.filter((each) => !notRun.has(each))) {
      await t.test(name, async () => {
        const { plan } = compile(sourceOf(name), { modules })
        const given = inputOf(name)
        const own: Readonly<Record<string, object>> = {
          "mcp-tools": { server: everything.url },
          payment: { thinking_seconds: 0 },
        }
        const input = { ...given, ...own[name] }
        const client = new WireworksClient({ baseUrl: service.url })
        const output = await client
          .execute({ workflow_source: sourceOf(name), input, ...(sourceOf(name).includes('.js"') && { modules }) })
          .then((executed) => executed.output)
          .catch((error: unknown) => answered(client, error))
        assert.ok(plan !== undefined)
        const misfits = validateValue(output, plan.output, plan.types, "output")
        assert.deepEqual(misfits, [], JSON.stringify(output))
      })
    }
  } finally {
    await everything.stop()
  }
})
