import assert from "node:assert/strict"
import { test } from "node:test"
import { assertLinear } from "../../test/support/cpu-time.ts"
import { format, formatText } from "./format.ts"
import { parse } from "./parser.ts"
import { atStrength } from "../../test/support/strength.ts"

test("canonical text comes back as it is", () => {
  const text = "input {\n    a: string\n}\n"
  assert.deepEqual(formatText(text), { formatted: text, changed: false })
  assert.deepEqual(formatText(""), { formatted: "", changed: false })
})

test("other text is changed, be it by a final line break", () => {
  const formatted = "input {\n    a: string\n}\n"
  for (const text of ["input{a:string}", formatted.trimEnd(), `${formatted}\n`, `\uFEFF${formatted}`]) {
    assert.deepEqual(formatText(text), { formatted, changed: true }, JSON.stringify(text))
  }
  assert.deepEqual(formatText("\n \n"), { formatted: "", changed: true })
})

test("broken text is refused with what the parser says", () => {
  for (const text of ["input {", "input { a: }", 'output { a: "\\q" }', "output { a: 1 } /* b */", "nonsense"]) {
    const { diagnostics } = parse(text)
    assert.ok(diagnostics.length > 0, text)
    assert.deepEqual(formatText(text), { diagnostics })
  }
})

test("a tree with syntax errors is a bug", () => {
  assert.throws(() => format(parse("input { a: }").tree))
})

test("what only the checker refuses is formatted", () => {
  const text = "agent a {\n    model: model.none\n    tools: [tool.none]\n}\n\nagent a { }\n"
  assert.deepEqual(formatText(text), { formatted: text, changed: false })
})

test("time grows with the length, whatever the text", async () => {
  const texts = {
    arrays: (size: number) => `dynamic { a: [${"[1, 2, 3], ".repeat(size)}] }`,
    lines: (size: number) => `dynamic {\n${"    a: { b: [1, 2], c: call tool.t { input { d: 1 } } }\n".repeat(size)}}`,
    unions: (size: number) => `input { a: ${'"a" | '.repeat(size)}"a" }`,
    comments: (size: number) => `input {\n${"// c\n\n".repeat(size)}}`,
    commas: (size: number) => `dynamic { a: [${"1 // c\n, ".repeat(size)}] }`,
    strings: (size: number) => `output { a: """\n${"    text {{ input.a }}\n\n".repeat(size)}""" }`,
    chains: (size: number) => `output {\n${"    a: x.b // c\n.d // e\n\n.f\n".repeat(size / 2)}}`,
    declarations: (size: number) => "input { }\n".repeat(size),
  }
  const most = atStrength(6_000, 16_000)
  for (const [name, make] of Object.entries(texts)) {
    const trees = new Map([1_000, most].map((size) => [size, parse(make(size))]))
    for (const { diagnostics } of trees.values()) assert.deepEqual(diagnostics, [], name)
    await assertLinear((size) => format(trees.get(size)?.tree ?? assert.fail()), 1_000, most)
  }
})
