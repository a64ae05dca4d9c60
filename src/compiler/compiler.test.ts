import assert from "node:assert/strict"
import { after, test } from "node:test"
import { longestTurn } from "../../test/support/longest-turn.ts"
import { atStrength } from "../../test/support/strength.ts"
import { compile } from "../compile.ts"
import { plansIn } from "../plan/plans-in.ts"
import { prepare } from "../plan/prepare.ts"
import { RunFailure } from "../ports/run-failure.ts"
import type { ValidateAnswer } from "../api/source.ts"
import { Compiler } from "./compiler.ts"
import { fromPieces, toPieces } from "./json-pieces.ts"

// The time limit has a test of its own: on a busy machine a megabyte may take longer.
const compiler = new Compiler({ timeLimitMs: 600_000 })
after(() => compiler.close())

const repeat = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => one(i)).join("\n")

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const everything = `
input { name: string, constructor: string }
schema constructor { a: [schema.constructor] }
secrets { key: string }
provider p from openai { endpoint: "demo" api_key: secrets.key }
model m from p { id: "demo" }
mcp s { endpoint: "demo" }
from mcp.s { bindings { a: input.name } tool constructor  resource opening-hours as r }
dynamic { toString: call tool.constructor { } }
agent constructor { model: model.m instruction: "{{ input.name }} {{ read resource.r }}" output { a: schema.constructor } }
output { a: agent.constructor.a, b: dynamic.toString }
`

test("files that name each other many times come from the thread as they are, each once", async () => {
  const named = repeat(30, (at) => `workflow n${at} from "./NEXT"`)
  const calls = repeat(
    30,
    (at) => `d${at}: match input.go { true: call workflow.n${at} { input { go: false } } _ null }`,
  )
  const file = (at: number): string => {
    const head = `// ${"x".repeat(4_000)}\ninput { go: boolean }\n`
    if (at === 7) return `${head}output { n: 1 }`
    return `${head}${named.replaceAll("NEXT", `f${at + 1}.wire`)}\ndynamic {\n${calls}\n}\noutput { n: 1 }`
  }
  const modules = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`f${at + 1}.wire`, file(at + 1)]))
  const planned = await compiler.plan({ source: file(0), modules })
  assert.ok("plan" in planned)
  assert.equal(plansIn(planned.plan).length, 8)
  const next = planned.plan.workflows?.["n7"]?.plan
  assert.ok(next !== undefined && next === planned.plan.workflows?.["n0"]?.plan)
  assert.equal(Object.getPrototypeOf(next.workflows), null)
})

function inOneGo<T>(work: Generator<void, T, undefined>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

test("a value that went to pieces is the same value, and no piece is large", () => {
  const list = Array.from({ length: 20_000 }, (_, index) => ({ index, name: `n${index}`, empty: [] }))
  const table = Object.fromEntries(list.map((one) => [one.name, [one]]))
  for (const value of [
    1,
    "x",
    null,
    [],
    {},
    list,
    table,
    { list, table },
    [[[[list]]]],
    JSON.parse('{"__proto__":[1]}'),
  ]) {
    const pieces = toPieces(value)
    assert.deepEqual(inOneGo(fromPieces(pieces)), value)
    for (const piece of pieces) assert.ok(piece.length < 200_000, String(piece.length))
  }
})

test("a large source has the same plan, issues and format in the thread as at once", async () => {
  const long = `${everything}\n// ${"x".repeat(20_000)}`
  const { plan } = compile(long)
  const planned = await compiler.plan(long)
  assert.ok("plan" in planned)
  assert.deepEqual(asJson(planned.plan), asJson(plan))
  assert.equal(Object.getPrototypeOf(planned.plan.tools), null)
  assert.deepEqual(prepare(planned.plan).planned, prepare(plan ?? planned.plan).planned)
  const input = { name: 1 }
  const [small, large] = await Promise.all(
    [everything, long].map(async (source) => {
      return JSON.parse(await compiler.validate({ kind: "validate", source, input })) as ValidateAnswer
    }),
  )
  assert.deepEqual(large, small)
  assert.equal(small?.issues.length, 2)
  const formatted = await compiler.format(long)
  assert.ok("formatted" in formatted && formatted.formatted.includes("x".repeat(20_000)))
  const broken = await compiler.format(`${long}\noutput {`)
  assert.ok("error" in broken)
})

const hostile: Readonly<Record<string, string>> = {
  "a batch of imports": `mcp z { endpoint: "http://x/mcp" }\nfrom mcp.z {\n${repeat(atStrength(20_000, 84_000), (i) => `tool t${i}`)}\n}`,
  "dynamic values": `dynamic {\n${repeat(60_000, (i) => `d${i}: ${i}`)}\n}`,
  "broken agents": repeat(60_000, (i) => `agent a${i} { }`),
  "misspelt declarations": repeat(60_000, (i) => `agnet a${i} { }`),
  "a long text": `input { a: string } output { a: "${"{{ input.a }} ".repeat(70_000)}" }`,
  "a long name": `agent ${"n".repeat(400_000)} { ${repeat(2000, (i) => `unknown_${i}: 1`)} }`,
}

for (const [name, source] of Object.entries(hostile).slice(0, atStrength(1, 1000))) {
  test(`the event loop goes on while a large source is compiled: ${name}`, async () => {
    let answer = ""
    const longest = await longestTurn(async () => {
      answer = await compiler.validate({ kind: "validate", source })
      await compiler.plan(source)
      await compiler.format(source)
    })
    assert.ok(answer.length < 16_000_000, `${answer.length} characters`)
    const { issues, issues_omitted = 0 } = JSON.parse(answer) as ValidateAnswer
    assert.ok(issues.length <= 1000)
    assert.ok(issues.length + issues_omitted > 0 || name === "a long text" || name === "a batch of imports")
    assert.ok(longest < 1_000, `one turn took ${longest} ms`)
  })
}

test("a source that would be many times as long when it is formatted is refused", async () => {
  const source = repeat(120, (i) => `schema s${i} { a: ${"[".repeat(95)}string${"]".repeat(95)} }`)
  const formatted = await compiler.format(source)
  assert.ok("error" in formatted)
  assert.equal(formatted.error.kind, "limit_exceeded")
  assert.match(formatted.error.message, /^Formatted, the source would have \d+ characters/)
})

test("an error names the first issue and counts them all", async () => {
  const planned = await compiler.plan(repeat(3000, (i) => `agent a${i} { }`))
  assert.ok("error" in planned)
  assert.equal(planned.error.issues.length, 1000)
  assert.match(planned.error.message, /\(and 8999 more\)$/)
})

test("errors come before warnings where not all have room", async () => {
  const warnings = repeat(2000, (i) => `schema s${i} { a: string }`)
  const source = `${warnings}\noutput { a: input.missing }`
  const { issues, issues_omitted } = JSON.parse(await compiler.validate({ kind: "validate", source })) as ValidateAnswer
  assert.equal(issues.length, 1000)
  assert.equal(issues.at(-1)?.code, "unknown-reference")
  assert.equal(issues_omitted, 1001)
})

test("a source that takes too long or too much memory is refused, and the next one is not", async () => {
  const many = `dynamic {\n${repeat(60_000, (i) => `d${i}: ${i}`)}\n}`
  const small = `// ${"x".repeat(20_000)}\noutput { a: 1 }`
  const impatient = new Compiler({ timeLimitMs: 1 })
  await assert.rejects(
    impatient.format(many),
    (error) => error instanceof RunFailure && /too much time/.test(error.message),
  )
  await impatient.close()
  const poor = new Compiler({ heapMb: 16 })
  const planned = await poor.plan(many)
  assert.ok("error" in planned)
  assert.equal(planned.error.kind, "limit_exceeded")
  assert.match(planned.error.message, /too much memory/)
  assert.ok("plan" in (await poor.plan(small)))
  await poor.close()
})

const large = `// ${"x".repeat(20_000)}\noutput { a: 1 }`

test("too many large sources at a time are refused, of one caller and of all", async () => {
  const busy = new Compiler()
  const refused = async (shares: readonly string[]): Promise<number> => {
    const all = await Promise.allSettled(shares.map((share) => busy.plan(large, share)))
    return all.filter(({ status }) => status === "rejected").length
  }
  // One is in work and 32 wait.
  assert.equal(await refused(Array.from({ length: 40 }, () => "ada")), 7)
  assert.equal(await refused(Array.from({ length: 70 }, (_, index) => `caller ${index % 5}`)), 5)
  await busy.close()
})

test("one caller's large sources do not hold up another's", async () => {
  const busy = new Compiler()
  const done: string[] = []
  const ask = async (name: string, share: string): Promise<void> => {
    await busy.format(large, share)
    done.push(name)
  }
  await Promise.all([
    ...Array.from({ length: 10 }, (_, index) => ask(`mallory ${index}`, "mallory")),
    ask("bob", "bob"),
  ])
  assert.deepEqual(done.slice(0, 3), ["mallory 0", "mallory 1", "bob"])
  await busy.close()
})
