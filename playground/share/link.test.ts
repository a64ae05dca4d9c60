import assert from "node:assert/strict"
import { test } from "node:test"
import { deflateRawSync } from "node:zlib"
import { fromFragment, isLink, toFragment } from "./link.ts"

test("what goes into a link comes out of it", async () => {
  const shared = { source: `agent "ünïcode" 😀\n${"x".repeat(5_000)}`, input: { a: [1, null, "two"], b: { c: true } } }
  const fragment = await toFragment(shared)
  assert.match(fragment, /^#w1=[A-Za-z0-9_-]+$/)
  assert.ok(isLink(fragment))
  assert.ok(fragment.length < 400)
  assert.deepEqual(await fromFragment(fragment), shared)
})

test("a damaged link is a sentence", async () => {
  const fragment = await toFragment({ source: "output { }", input: {} })
  const packed = (value: unknown): string => `#w1=${deflateRawSync(JSON.stringify(value)).toString("base64url")}`
  const damaged = [
    "#w1=",
    "#w1=%%%",
    fragment.slice(0, -6),
    packed(null),
    packed({ source: 3, input: {} }),
    packed({ source: "x", input: [] }),
    packed("x"),
  ]
  for (const one of damaged) assert.match(JSON.stringify(await fromFragment(one)), /damaged/, one)
  assert.ok(!isLink("#somewhere"))
})

test("a link that would unpack to very much is refused", async () => {
  const bomb = deflateRawSync(JSON.stringify({ source: "x".repeat(20_000_000), input: {} })).toString("base64url")
  assert.match(JSON.stringify(await fromFragment(`#w1=${bomb}`)), /damaged/)
})

test("a link whose source or input would stop the page is refused", async () => {
  const packed = (json: string): string => `#w1=${deflateRawSync(json).toString("base64url")}`
  const nested = (levels: number): string => `{"source":"","input":{"a":${"[".repeat(levels)}${"]".repeat(levels)}}}`
  const wide = `${"[".repeat(400)}${"1,".repeat(20_000)}1${"]".repeat(400)}`
  const large = [nested(5_000), nested(500_000), `{"source":"","input":{"a":${wide}}}`]
  large.push(JSON.stringify({ source: "x".repeat(1_000_001), input: {} }))
  for (const json of large) assert.match(JSON.stringify(await fromFragment(packed(json))), /too large/)
  for (const json of [
    nested(300),
    JSON.stringify({ source: "x".repeat(900_000), input: { a: "y".repeat(900_000) } }),
  ]) {
    assert.deepEqual(await fromFragment(packed(json)), JSON.parse(json))
  }
})

test("a link holds the other files of a workflow, and none that a service would refuse", async () => {
  const shared = { source: "output { }", input: {}, file: "flows/main.wire", modules: { "lib/a.wire": "output { }" } }
  assert.deepEqual(await fromFragment(await toFragment(shared)), shared)
  const packed = (value: unknown): string => `#w1=${deflateRawSync(JSON.stringify(value)).toString("base64url")}`
  const wrong = [
    { modules: { "../a.wire": "" } },
    { modules: { "a.txt": "" } },
    { modules: { "a.wire": 1 } },
    { modules: { "main.wire": "" } },
    { modules: [] },
    { file: 1 },
    { file: "/etc/main.wire" },
  ]
  for (const files of wrong) {
    const fragment = packed({ source: "", input: {}, ...files })
    assert.match(JSON.stringify(await fromFragment(fragment)), /damaged/, JSON.stringify(files))
  }
  const large = packed({ source: "", input: {}, modules: { "a.wire": "x".repeat(1_000_001) } })
  assert.match(JSON.stringify(await fromFragment(large)), /too large/)
})
