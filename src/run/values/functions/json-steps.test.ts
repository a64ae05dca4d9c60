import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonValue } from "../../../base/json-value.ts"
import { Random } from "../../../../test/support/random.ts"
import { EvaluationWork } from "../evaluation-work.ts"
import type { Scope } from "../scope.ts"
import { isLongJson, jsonSteps } from "./json-steps.ts"

const scope = (): Scope => ({ work: new EvaluationWork(), path: "output.x" }) as Scope

/** The text, and how many rests there were on the way to it. */
function written(value: JsonValue): { readonly text: string; readonly rests: number } {
  const steps = jsonSteps(value, scope())
  let rests = 0
  for (let step = steps.next(null); ; step = steps.next(null)) {
    if (step.done === true) return { text: step.value.text, rests }
    rests++
  }
}

const long = 300_000
const smile = "\u{1F600}"
const values: Readonly<Record<string, JsonValue>> = {
  scalars: [1, -0.5, null, true, "é", "\u2028"],
  "nothing in it": [[], {}, [[]], { a: {} }],
  "many numbers": Array.from({ length: long }, (_, at) => at),
  "many rows": Array.from({ length: 20_000 }, (_, id) => ({ id, title: `Ticket "${id}"`, tags: ["a", null] })),
  "a long text with quotes": '"\\\n'.repeat(long),
  "a long text whose pairs stand at every place": `x${smile.repeat(long)}`,
  "halves of pairs": `${"\uD83D".repeat(130_000)}\uDE00${"\uDE00".repeat(130_000)}`,
  "long ones among short ones": [1, "x".repeat(long), 2, 3, ["y".repeat(long)], "x".repeat(long)],
  "long ones alone": ["x".repeat(long), "y".repeat(long)],
  "an object with many keys": Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k"${at}`, at])),
  "an object with long values": { a: 1, b: "x".repeat(long), c: [Array.from({ length: long }, () => 1)], d: null },
}

for (const [name, value] of Object.entries(values)) {
  test(`written in steps: ${name}`, () => {
    const { text, rests } = written(value)
    assert.ok(text === JSON.stringify(value), "The text is that of JSON.stringify")
    assert.equal(rests > 0, isLongJson(value, scope()), `${rests} rests`)
    // No step writes much more than its share.
    if (rests > 0) assert.ok(text.length / rests < 2_500_000, `${rests} rests for ${text.length} characters`)
  })
}

test("a field called __proto__ is written", () => {
  const value = JSON.parse(`{ "__proto__": { "a": "${"x".repeat(long)}" }, "b": 1 }`) as JsonValue
  assert.ok(written(value).text === JSON.stringify(value))
})

test("random values are written as JSON.stringify writes them, with the bytes that they have in another value", () => {
  const random = new Random(7)
  const make = (depth: number): JsonValue => {
    const kind = random.below(depth > 0 ? 6 : 4)
    if (kind < 2) return random.pick(["", "a", '"', "\\", smile, "\n"]).repeat(random.below(60_000))
    if (kind === 2) return random.below(1000)
    if (kind === 3) return random.pick([null, true, 1.5])
    const items = random.list(random.below(30), () => make(depth - 1))
    return kind === 4 ? items : Object.fromEntries(items.map((item, at) => [`k${at}`, item]))
  }
  for (let time = 0; time < 60; time++) {
    const value = make(2)
    const { work } = scope()
    const whole = JSON.stringify(value)
    if (Buffer.byteLength(JSON.stringify(whole)) > work.largest) continue
    assert.ok(written(value).text === whole, `value ${time}`)
  }
})

test("a text that gets too large is refused on the way", () => {
  const value = Array.from({ length: 100 }, () => '"\\'.repeat(30_000))
  assert.throws(() => written(value), /output\.x is larger than/)
})
