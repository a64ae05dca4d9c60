import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow, assertLinear } from "../../test/support/cpu-time.ts"
import { fc } from "../../test/support/fast-check.ts"
import { boundedJson, isDeeper, isTooMuchJson, JsonWork } from "./bounded-json.ts"

function workOf(text: string, piece = text.length): number {
  const counter = new JsonWork()
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += piece) counter.add(bytes.subarray(at, at + piece))
  return counter.work
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test("counts values, not what is written in strings, however the text is cut", () => {
  for (const piece of [1, 2, 7, 1000]) {
    assert.equal(workOf("[1,2,3]", piece), 5)
    assert.equal(workOf('{"a":[{},{}],"b":"[,{\\"[,\\\\"}', piece), 14)
    assert.equal(workOf('"é{[,:"', piece), 0)
  }
})

test("strings that are searched, not read, end where they end, however the text is cut", () => {
  const strings = [
    "x".repeat(100),
    `${"x".repeat(40)}\\"${"[".repeat(40)}`,
    `${"x".repeat(31)}\\\\`,
    `${'\\"[,'.repeat(30)}`,
  ]
  const text = `[${strings.map((string) => `"${string}",{"k":[]}`).join(",")}]`
  for (let piece = 1; piece < text.length; piece++) assert.equal(workOf(text, piece), 3 + 7 + 4 * 6)
  const counter = new JsonWork()
  counter.addText(text)
  assert.equal(counter.work, 3 + 7 + 4 * 6)
})

test("a long string takes as long as a search for its end, and no text takes longer than its length", async () => {
  const long = `["${"x".repeat(64_000_000)}"]`
  await assertCpuBelow(400, () => isTooMuchJson(long))
  for (const text of ['"', '"\\', '\\"', `"${"x".repeat(32)}`, `"${"x".repeat(32)}\\`]) {
    await assertLinear((size) => isTooMuchJson(`"\\\n${text.repeat(size / text.length)}`, 1), 100_000, 1_600_000)
  }
})

test("knows how deep arrays and objects stand in each other, in a text and in a value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const depth = depthOf(value)
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        const counter = new JsonWork()
        counter.addText(text)
        assert.equal(counter.deepest, depth)
      }
      assert.equal(isDeeper(value, depth), false)
      if (depth > 0) assert.equal(isDeeper(value, depth - 1), true)
    }),
  )
  const counter = new JsonWork()
  counter.addText('{"a":[{},[["[[[["]]],"b\\"[[":"\\\\","c":[]}')
  assert.equal(counter.deepest, 4)
  assert.equal(isDeeper(JSON.parse("[".repeat(5_000) + "]".repeat(5_000)), 512), true)
})

test("broken text, or too much of it, has no value", () => {
  for (const text of ['"', '"\\', "[[[[", "]]]]", '{"a', ""]) assert.equal(boundedJson(text), undefined)
  assert.equal(boundedJson(`[${"1,".repeat(1_100_000)}1]`), undefined)
  assert.equal(boundedJson("null"), null)
})

test("many keys of one object count more than those of many objects", () => {
  const keys = Array.from({ length: 2000 }, (_, at) => `"k${at}":{"a":1}`).join(",")
  assert.equal(workOf(`{${keys}}`), 3 + 1999 + 2000 * 3 + 1000 * 25)
  assert.ok(workOf(`[${'{"a":1,"b":2},'.repeat(2000)}1]`) < 11_000)
})

test("a line of events that is not JSON hides nothing", () => {
  assert.equal(workOf(': a "comment\ndata: [1,2,3]\n\n'), 5)
  assert.equal(workOf(': a "comment\rdata: [1,2,3]\n\n'), 5)
})

test("a text of records may be as large as an answer; one of small values, or of keys, may not", () => {
  const record = `{"id":12345,"name":"Ada Lovelace","mail":"ada@example.org","tags":["a","b"],"about":"${"x".repeat(40)}"},`
  assert.ok(!isTooMuchJson(`[${record.repeat(8_000_000 / record.length)}{}]`))
  assert.ok(!isTooMuchJson(`["${"[,".repeat(2_000_000)}"]`))
  assert.ok(isTooMuchJson(`[${"1,".repeat(1_100_000)}1]`))
  assert.ok(isTooMuchJson(`[${"{},".repeat(300_000)}1]`))
  assert.ok(isTooMuchJson(`{${Array.from({ length: 50_000 }, (_, at) => `"k${at}":1`).join(",")}}`))
})

test("keys of which V8 hashes the length alone count for what comparing them takes", () => {
  const keys = (length: number, count: number): string =>
    `{${Array.from({ length: count }, (_, at) => `"${"k".repeat(length)}${String(at).padStart(4, "0")}":1`).join(",")}}`
  assert.ok(isTooMuchJson(keys(16_380, 101)))
  assert.ok(!isTooMuchJson(keys(16_000, 101)))
  assert.ok(!isTooMuchJson(`{"a":"${"x".repeat(20_000)}","b":[${`"${"x".repeat(20_000)}",`.repeat(200)}1]}`))
})

test("many short texts that all differ count more than those that repeat", () => {
  const texts = (count: number, different: number): string =>
    `[${Array.from({ length: count }, (_, at) => `"t${at % different}"`).join(",")}]`
  assert.ok(isTooMuchJson(texts(250_000, 250_000)))
  assert.ok(!isTooMuchJson(texts(150_000, 150_000)))
  assert.ok(!isTooMuchJson(texts(800_000, 1000)))
})

test("new short texts count for more, also those that a simple hash takes for one", () => {
  const texts = Array.from({ length: 20_000 }, (_, at) => {
    const ends = [0, 1, 2].map((bit) => ((at >> bit) & 1 ? "Aa" : "BB"))
    return `${(at >> 3).toString(36).padStart(4, "0")}${ends.join("")}`
  })
  const least = 20_000 + 19_000 * 4
  const work = workOf(JSON.stringify(texts))
  assert.ok(work >= 0.99 * least, `${work} of ${least}`)
})
