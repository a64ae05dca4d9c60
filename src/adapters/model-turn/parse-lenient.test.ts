import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { parseLenient } from "./parse-lenient.ts"
import { assertCpuBelow, cpuTime } from "../../../test/support/cpu-time.ts"
import { atStrength } from "../../../test/support/strength.ts"

const found: readonly (readonly [string, string, JsonValue])[] = [
  ["bare", '{"a":1}', { a: 1 }],
  ["blanks around", ' \n{"a": 1}\n', { a: 1 }],
  ["a byte-order mark", '\uFEFF{"a":1}', { a: 1 }],
  ["a fence", '```json\n{"a":1}\n```', { a: 1 }],
  ["a fence without a language", '```\n{"a":1}\n```', { a: 1 }],
  ["a fence of tildes", '~~~json\n{"a":1}\n~~~', { a: 1 }],
  ["a longer fence", '````json5\n{"a":1}\n````', { a: 1 }],
  ["a fence on one line", 'Here: ```json {"a":1}``` done', { a: 1 }],
  ["a fence with prose around", 'Sure!\n\n```json\n{"a":1}\n```\nAnything else?', { a: 1 }],
  ["a fence that is not closed", '```json\n{"a":1}', { a: 1 }],
  ["a fence inside a string", '{"a":"```js\\nx\\n```"} — that is all', { a: "```js\nx\n```" }],
  ["prose before", 'The answer is {"a":1}', { a: 1 }],
  ["prose after", '{"a":1} is the answer', { a: 1 }],
  ["prose with braces before", 'In {curly} words, {"a":{"b":"}"}} it is', { a: { b: "}" } }],
  ["a trailing comma in an object", '{"a":1,}', { a: 1 }],
  ["trailing commas all over", '{"a":[1,2,],"b":{"c":true,},}', { a: [1, 2], b: { c: true } }],
  ["trailing commas in a fence", '```json\n{\n  "a": 1,\n}\n```', { a: 1 }],
  ["a raw line break in a string", '{"a":"one\ntwo\tthree"}', { a: "one\ntwo\tthree" }],
  ["escapes", 'x {"a":"\\"\\\\","b":"\\u00e9\\n"} y', { a: '"\\', b: "é\n" }],
  ["a string that ends in a backslash", 'x {"a":"\\\\"} y', { a: "\\" }],
  ["JSON written twice over", '"{\\"a\\":1}"', { a: 1 }],
  ["thoughts before the answer", '<think>maybe {"a":0}?</think>\n{"a":1}', { a: 1 }],
  ["all sorts of scalars", 'x {"a":[-1.5e3,0,true,false,null,""]} y', { a: [-1500, 0, true, false, null, ""] }],
  ["an object without fields", "Well: {}", {}],
  ["malformed first, then right", 'Like {"a": …}? No: {"a": 1}', { a: 1 }],
]

for (const [what, text, value] of found) {
  test(`finds the object: ${what}`, () => {
    const { candidates, trouble } = parseLenient(text)
    assert.deepEqual(candidates, [value])
    assert.equal(trouble, null)
  })
}

const troubled: readonly (readonly [string, string])[] = [
  ["no_json", "I cannot do that."],
  ["no_json", ""],
  ["no_json", "Use {curly} braces"],
  ["truncated", '{"a":1'],
  ["truncated", '{"a":"text that goes'],
  ["truncated", '{"a":[1,2'],
  ["truncated", '{"a":'],
  ["truncated", '{"a"'],
  ["truncated", "{"],
  ["truncated", '{"a":tru'],
  ["truncated", '{"a":12'],
  ["truncated", '{"a":{"b":1},"c":[1.5e'],
  ["truncated", '{"a":{"b":1},"c":[1.5e+'],
  ["truncated", '{"a":{"b":1},"c":-'],
  ["malformed", '{"a":{"b":1},"c":oops}'],
  ["malformed", '{"a":{"b":1} "c":1}'],
  ["truncated", '```json\n{"a":1,\n"b":'],
  ["truncated", 'Here it is: {"a":{"b":1}'],
  ["truncated", 'First {"a":1}, and then {"a":'],
  ["malformed", '{"a":1 "b":2}'],
  ["malformed", '{"a":undefined}'],
  ["malformed", '{"a":"\\x"}'],
]

for (const [trouble, text] of troubled) {
  test(`${trouble}: ${JSON.stringify(text)}`, () => {
    const result = parseLenient(text)
    assert.deepEqual(result.candidates, [])
    assert.equal(result.trouble, trouble)
  })
}

test("several objects are several candidates", () => {
  assert.deepEqual(parseLenient('Say {"a":1} or {"a":2}.').candidates, [{ a: 1 }, { a: 2 }])
})

test("what begins like JSON or a fence is not plain text", () => {
  for (const text of ['{"a"', "[1", "```\nx", '"quoted"', ' {"a":1}'])
    assert.equal(parseLenient(text).likeJson, true, text)
  for (const text of ["Hello", "No {", '"Hello," she said']) assert.equal(parseLenient(text).likeJson, false, text)
})

test("__proto__ is an ordinary key of its own, not a prototype", () => {
  const [value] = parseLenient('x {"__proto__":{"polluted":true},} y').candidates
  assert.ok(Object.hasOwn(value as object, "__proto__"))
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

test("any object is found whole, whatever stands around it", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.constantFrom("", "Sure:\n", "```json\n"),
      (value, before) => {
        const text = JSON.stringify(value)
        const after = before.startsWith("`") ? "\n```" : before
        assert.deepEqual(parseLenient(before + text + after).candidates[0], JSON.parse(text))
      },
    ),
  )
})

test("an object cut anywhere is never taken for an answer", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), fc.nat(), (value, cut) => {
      const text = JSON.stringify(value)
      const { candidates } = parseLenient(text.slice(0, 1 + (cut % (text.length - 1))))
      assert.deepEqual(candidates, [])
    }),
  )
})

test("hostile texts take no time", async () => {
  for (const text of [
    "{".repeat(200_000),
    '{"a":'.repeat(100_000),
    "```".repeat(100_000),
    '{"'.repeat(100_000),
    `{"a":"${"\\\\".repeat(200_000)}`,
    `${" ".repeat(300_000)}{`,
  ]) {
    await assertCpuBelow(10_000, () => parseLenient(text))
  }
})

function timeOf(work: () => void): number {
  const started = cpuTime()
  work()
  return cpuTime() - started
}

test("a number with a leading zero is not JSON, and no bug", () => {
  for (const answer of ['{"a": 01}', 'x {"a": [1, -007,]}', '{"a": 00.5,}'])
    assert.deepEqual(parseLenient(answer).candidates, [])
})

/** The soak reads answers that are as long as any may be. */
const megabytes = atStrength(1, 8)
const long = megabytes * 1024 * 1024
const deep = `{${" ".repeat(300)}"a":`
const longAnswers: Readonly<Record<string, string>> = {
  "code fences": "```".repeat(long / 3),
  "code fences with letters between them": "```a".repeat(long / 4),
  "code fences with braces between them": "```{".repeat(long / 4),
  "tildes and backticks": "~~~```".repeat(long / 6),
  "open braces": "{".repeat(long),
  "open objects": '{"a":'.repeat(long / 5),
  "open objects with blanks": `x${deep.repeat(long / deep.length)}`,
  "objects with blanks that end wrong": `x${deep.repeat(100)}[${"1,".repeat(long / 2)}x`,
  "broken objects": '{"a" 1}'.repeat(long / 7),
  quotes: '"'.repeat(long),
  backslashes: `{"${"\\".repeat(long)}"`,
  "escaped quotes": `{"${'\\"'.repeat(long / 2)}`,
  "trailing commas": `{"a":[${"[],".repeat(long / 3)}],}`,
  blanks: " ".repeat(long),
  "open thoughts": "<think>".repeat(long / 7),
  digits: `{"a":${"1".repeat(long)}`,
  "minus signs": `{"a":${"-".repeat(long)}`,
}

for (const [name, answer] of Object.entries(longAnswers)) {
  test(`${megabytes} MiB are read in time: ${name}`, async () => {
    // What JSON.parse takes for it cannot be saved.
    const floor = timeOf(() => {
      try {
        JSON.parse(answer)
      } catch {
        // It is not meant to be JSON.
      }
    })
    await assertCpuBelow(2_000 + 10 * floor, () => parseLenient(answer))
  })
}

test("a long answer with prose around its JSON is still found", () => {
  const value = { a: "x".repeat(2 * 1024 * 1024) }
  assert.deepEqual(parseLenient(`Here it is: ${JSON.stringify(value)}\nBye!`).candidates, [value])
  assert.deepEqual(parseLenient(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\``).candidates, [value])
})

test("JSON of more values than a model writes is not read", () => {
  const list = (count: number): string => `{"a":[${"1,".repeat(count)}1]}`
  assert.equal(parseLenient(list(300_000)).candidates.length, 1)
  assert.deepEqual(parseLenient(list(600_000)).candidates, [])
})
