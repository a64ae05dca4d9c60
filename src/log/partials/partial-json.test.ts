import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { PartialJson, scalarsOf, type PartialScalar } from "./partial-json.ts"
import { atStrength } from "../../../test/support/strength.ts"

function read(pieces: readonly string[]): { readonly parts: PartialScalar[]; readonly state: string } {
  const reader = new PartialJson()
  const parts = pieces.flatMap((piece) => reader.push(piece))
  return { parts, state: reader.state }
}

/** What a reader of the parts has in the end: joined deltas, and values. */
function joined(parts: readonly PartialScalar[]) {
  const texts = new Map<string, string>()
  const values = new Map<string, unknown>()
  for (const part of parts) {
    if (part.done) values.set(part.path, part.value)
    else texts.set(part.path, (texts.get(part.path) ?? "") + part.delta)
  }
  return { texts, values }
}

function cut(text: string, places: readonly number[]): string[] {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...at].map((start, index) => text.slice(start, at[index] ?? text.length))
}

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("😀", '"\\/', "\n\t"),
)
const anyObject = fc.dictionary(anyText, fc.jsonValue({ stringUnit: "binary" }), {
  noNullPrototype: true,
}) as fc.Arbitrary<JsonObject>

describe("a JSON text that comes in pieces", () => {
  it("gives the same fields however it is cut, and joined deltas are the final strings", () => {
    const spaces = fc.constantFrom(undefined, 2, "\t")
    fc.assert(
      fc.property(
        anyObject,
        spaces,
        fc.array(fc.nat(2000), { maxLength: 30 }),
        fc.boolean(),
        (object, space, places, ascii) => {
          const plain = JSON.stringify(object, null, space)
          // Half of the writers escape all that is not ASCII.
          const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
          const text = ascii ? plain.replaceAll(/[^\0-\x7f]/g, escape) : plain
          const { parts, state } = read(cut(text, places))
          assert.equal(state, "whole")
          const { texts, values } = joined(parts)
          const expected = [...scalarsOf(JSON.parse(text) as JsonObject)]
          assert.deepEqual(new Map(expected.map(({ path, value }) => [path, value])), values)
          for (const { path, value } of expected) {
            if (typeof value === "string") assert.equal(texts.get(path) ?? "", value)
          }
        },
      ),
      { numRuns: atStrength(30, 100) },
    )
  })

  it("never reports half of a character", () => {
    for (const text of ['{"a":"x😀y"}', '{"a":"x\\ud83d\\ude00y"}']) {
      const { parts } = read(text.split(""))
      const deltas = parts.flatMap((part) => (part.done ? [] : [part.delta]))
      assert.deepEqual(deltas, ["x", "😀", "y"])
    }
  })

  it("names places as the language does, and quotes odd names", () => {
    const { parts } = read(['{"items":[{"title":"a"},{"title":1}],"odd name":{"b":null,"":[[true]]}}'])
    assert.deepEqual(
      parts.filter(({ done }) => done).map(({ path }) => path),
      ["items[0].title", "items[1].title", '["odd name"].b', '["odd name"][""][0][0]'],
    )
  })

  const notPlain: Readonly<Record<string, string>> = {
    prose: 'Sure! {"a":"b"}',
    "a fence": '```json\n{"a":"b"}\n```',
    "an array": '["a"]',
    "a string": '"a"',
    "text after it": '{"a":"b"} done',
    "a duplicate key": '{"a":"b","a":"c"}',
    "a trailing comma": '{"a":"b",}',
    "a trailing comma in an array": '{"a":["b",]}',
    "single quotes": "{'a':'b'}",
    "a raw line break": '{"a":"b\nc"}',
    "an unknown escape": '{"a":"b\\qc"}',
    "an escaped letter": '{"a":"b\\u0041c"}',
    "a broken number": '{"a":01}',
    "a number that is too large": '{"a":1e999}',
    "an unknown word": '{"a":nil}',
    "a missing colon": '{"a" "b"}',
    "a missing comma": '{"a":"b" "c":"d"}',
    "the wrong bracket": '{"a":["b"}',
  }
  for (const [name, text] of Object.entries(notPlain)) {
    it(`stops at ${name}, and reports nothing more`, () => {
      const reader = new PartialJson()
      const whole = reader.push(text)
      assert.equal(reader.state, "stopped")
      assert.deepEqual(reader.push('{"a":"b"}'), [])
      assert.deepEqual(joined(read(text.split("")).parts), joined(whole))
    })
  }

  it("stops at what is deeper than a value may be", () => {
    assert.equal(read([`{"a":${"[".repeat(600)}`]).state, "stopped")
  })
})
