import assert from "node:assert/strict"
import { join } from "node:path"
import { readFileSync, writeFileSync } from "node:fs"
import { describe, test } from "node:test"
import { fakeBackend, says } from "../support/fake-backend.ts"
import { folderWith, runWire } from "./run-wire.ts"

const secret = { env: { KEY: "canary-51f0c9d2" } }
const withKey = ["--secret", "key=env:KEY"]

function workflow(endpoint: string): string {
  return `input { mail: string }
secrets { key: string }
provider p from openai { endpoint: "${endpoint}"  api_key: secrets.key }
model fast from p { id: "fast-1" }
model careful from p { id: "careful-1"  inference { temperature: 0.9 } }
agent read { model: model.fast  instruction: "Read {{ input.mail }}"  output { topic: string } }
agent reply {
    model: model.fast { inference { temperature: 0.5  max_tokens: 100 } }
    instruction: "Answer {{ agent.read.topic }}"
    output { text: string  polite: boolean }
}
agent sign { model: model.fast  instruction: "Sign {{ agent.reply.text }}"  output { name: string } }
output { reply: agent.reply.text  polite: agent.reply.polite }
`
}

const tests = `test "it is polite" {
    input { mail: "Hello" }
    given agent.read: { topic: "greeting" }
    given agent.sign: { name: "Ada" }
    expect output.polite
    expect length(output.reply) < 40
}
test "rows" for row in "rows.jsonl" {
    input { mail: row }
    given agent.read: { topic: row }
    given agent.sign: { name: "Ada" }
    expect output.polite
}
`

/** Says what it was asked, politely unless it is to be rude. */
function backend(t: Parameters<typeof fakeBackend>[0]): ReturnType<typeof fakeBackend> {
  return fakeBackend(t, ({ body }) => {
    const asked = JSON.stringify(body)
    return says(
      JSON.stringify({ text: asked.includes("long") ? "word ".repeat(20) : "Yes.", polite: !asked.includes("rude") }),
    )
  })
}

interface Row {
  readonly test: string
  readonly row?: object
  readonly output: { readonly reply: string } | null
  readonly passed: boolean
  readonly failed: readonly string[]
  readonly tokens: number
  readonly cost: number | null
  readonly ms: number
}

describe("wire test --variants", () => {
  test("each variant of an agent is asked, and nothing but it", async (t) => {
    const { asked, server } = await backend(t)
    const variants = [
      { name: "same", agent: "reply", instruction: 'Say "yes" \\ or no\nto {{ agent.read.topic ?? "nothing" }}' },
      { name: "rude", agent: "agent.reply", system: "Be rude", inference: { temperature: 0.1 } },
      { name: "long", agent: "reply", model: ["careful"], instruction: "Be long" },
      { name: "other", source: workflow(`${server.origin}/v1`).replace("Answer", "Reply to"), agent: "reply" },
    ]
    const cwd = folderWith({
      "a.wire": workflow(`${server.origin}/v1`),
      "a.test.wire": tests,
      "rows.jsonl": '"one"\n"two"\n',
      "variants.json": JSON.stringify(variants),
    })
    const args = ["test", "--variants", "variants.json", ...withKey]
    const { code, out, err } = await runWire([...args, "--json"], { cwd, ...secret })
    assert.equal(code, 1, `${out}${err}`)
    const found = JSON.parse(out) as {
      readonly variants: readonly { readonly name: string; readonly rows: readonly Row[] }[]
      readonly as_written: readonly Row[]
    }
    assert.deepEqual(
      found.variants.map(({ name, rows }) => [name, rows.map(({ passed }) => passed)]),
      [
        ["same", [true, true, true]],
        ["rude", [false, false, false]],
        ["long", [false, true, true]],
        ["other", [true, true, true]],
      ],
    )
    assert.deepEqual(
      found.as_written.map(({ passed }) => passed),
      [true, true, true],
    )
    const row = found.variants[2]?.rows[0]
    assert.deepEqual(row?.failed.length, 1)
    assert.equal(row?.output?.reply, "word ".repeat(20))
    assert.ok((row?.tokens ?? 0) > 0 && (row?.ms ?? -1) >= 0 && row?.cost === null)
    assert.deepEqual(found.variants[0]?.rows[1]?.row, { file: "rows.jsonl", line: 1 })

    const bodies = asked.map((body) => JSON.stringify(body))
    assert.ok(bodies.every((body) => !body.includes("Read ") && !body.includes("Sign ")))
    assert.ok(bodies.some((body) => body.includes(JSON.stringify('Say "yes" \\ or no\nto greeting').slice(1, -1))))
    const rude = asked.find((body) => JSON.stringify(body).includes("Be rude"))
    assert.deepEqual([rude?.["temperature"], rude?.["max_output_tokens"]], [0.1, 100])
    const long = asked.find((body) => JSON.stringify(body).includes("Be long"))
    assert.deepEqual([long?.["model"], long?.["temperature"]], ["careful-1", 0.9])

    const table = await runWire([...args, "-t", "polite"], { cwd, ...secret })
    assert.equal(table.code, 1)
    assert.match(table.out, /as written +same +rude +long +other\n/)
    assert.match(table.out, /^rude: it is polite: /m)
    assert.match(table.out, /^long: it is polite: .*length/m)
    assert.doesNotMatch(table.out, /^same: /m)
  })

  test("what the file itself fails does not count, and its recording is left alone", async (t) => {
    const { server } = await backend(t)
    const cwd = folderWith({
      "a.wire": workflow(`${server.origin}/v1`).replace("Answer", "Be rude to"),
      "a.test.wire": tests.replace('"rows.jsonl"', '"rows.jsonl"'),
      "rows.jsonl": '"one"\n',
      "a.test.recording.json": '{ "version": 1, "exchanges": {} }\n',
      "v.json": JSON.stringify([{ name: "v", agent: "reply", instruction: "Stay rude" }]),
    })
    const { code, out } = await runWire(["test", "--variants", "v.json", ...withKey], { cwd, ...secret })
    assert.equal(code, 0, out)
    assert.match(out, /No variant fails what the file itself passes/)
    assert.equal(readFileSync(join(cwd, "a.test.recording.json"), "utf8"), '{ "version": 1, "exchanges": {} }\n')
  })

  test("what is wrong in the file of variants is named", async () => {
    const cwd = folderWith({
      "a.wire": workflow("https://models.invalid/v1"),
      "a.test.wire": tests,
      "rows.jsonl": '"one"\n',
    })
    for (const [variants, said] of [
      ["{", "must be a list such as"],
      ["[]", "must be a list such as"],
      ["[1]", "[0] must be an object"],
      ['[{"agent":"reply","instruction":"x"}]', "[0].name is missing"],
      ['[{"name":"a","instruction":"x"}]', "[0].agent is missing"],
      ['[{"name":"a","agent":"reply"}]', "[0] changes nothing"],
      ['[{"name":"a","agent":"reply","prompt":"x"}]', "[0].prompt is unknown"],
      ['[{"name":"a","agent":"reply","instruction":""}]', "[0].instruction must be a text"],
      ['[{"name":"a","agent":"reply","model":1}]', "[0].model must be the name"],
      ['[{"name":"a","agent":"reply","inference":[]}]', "[0].inference must be an object"],
      ['[{"name":"a","agent":"gone","instruction":"x"}]', "no workflow here has agent.gone"],
      [
        '[{"name":"a","agent":"reply","instruction":"{{ agent.gone.x }}"}]',
        'The variant "a" of a.test.wire has errors',
      ],
      ['[{"name":"a","agent":"reply","model":"gone"}]', 'The variant "a" of a.test.wire has errors'],
      ['[{"name":"a","agent":"reply","inference":{"heat":1}}]', "heat"],
      ['[{"name":"a","agent":"reply","system":"x"},{"name":"a","agent":"reply","system":"y"}]', "two variants have"],
    ] as const) {
      writeFileSync(join(cwd, "v.json"), variants)
      const { code, out, err } = await runWire(["test", "--variants", "v.json", ...withKey], { cwd, ...secret })
      assert.equal(code, 2, `${variants}: ${out}${err}`)
      assert.ok(err.includes(said), `${variants}: ${err}`)
    }
    const unkeyed = '[{"name":"a","agent":"reply","system":"x"}]'
    writeFileSync(join(cwd, "v.json"), unkeyed)
    assert.match((await runWire(["test", "--variants", "v.json"], { cwd })).err, /secrets\.key is missing/)
    assert.match((await runWire(["test", "--variants", "none.json"], { cwd })).err, /none\.json/)
    assert.match((await runWire(["test", "--variants", "v.json", "--live"], { cwd })).err, /takes neither/)
  })
})
