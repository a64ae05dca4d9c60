import assert from "node:assert/strict"
import { test } from "node:test"
import { WithoutFields } from "./without-fields.ts"

/** The filtered text of one that comes in pieces of this many bytes. */
function left(text: string, size: number): string {
  const filter = new WithoutFields(["logprobs", "logprobsResult"])
  const bytes = Buffer.from(text)
  const kept: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) kept.push(filter.take(bytes.subarray(at, at + size)))
  return Buffer.concat(kept).toString()
}

/** Choices of an answer, and what is left of them. */
const cases: readonly [text: string, left: string][] = [
  ['{"a":1,"logprobs":{"content":[{"token":"}]\\"","bytes":[1,2]}]},"b":"x"}', '{"a":1,"logprobs":null,"b":"x"}'],
  ['{"logprobs" : [[1],{"logprobs":[]}] }', '{"logprobs" :null}'],
  ['{"logprobs":"a\\\\"}', '{"logprobs":null}'],
  ['{"logprobs":null},{"logprobsResult":{"x":[]},"y":[]}', '{"logprobs":null},{"logprobsResult":null,"y":[]}'],
  // Arguments of a tool.
  ['{"args":{"logprobs":[1]},"logprobs":[{}]}', '{"args":{"logprobs":[1]},"logprobs":null}'],
  ['{"logprob":[1],"logprobs2":[2],"xlogprobs":[3]}', '{"logprob":[1],"logprobs2":[2],"xlogprobs":[3]}'],
  // Within a text, and as a text.
  ['{"a":"\\"logprobs\\":[1]","b":["logprobs",[1]]}', '{"a":"\\"logprobs\\":[1]","b":["logprobs",[1]]}'],
  ['{"ä":"ö","logprobs":["ü"],"c":"ß"}', '{"ä":"ö","logprobs":null,"c":"ß"}'],
]

test("the values of the fields are left out, wherever the pieces end", () => {
  for (const [text, expected] of cases) {
    for (const size of [1, 2, 3, 7, 1000]) {
      const found = left(`{"choices":[${text}],"logprobs":[1]}`, size).replaceAll(/(?<=null) (?=\})/g, "")
      assert.equal(found, `{"choices":[${expected}],"logprobs":[1]}`, `${text} in pieces of ${size}`)
    }
  }
})

test("whatever the text, JSON stays JSON", () => {
  const values = [null, 1, "logprobs", '"logprobs":[', "\\", [], {}, { logprobs: [{ a: '"' }] }, [["]"], { "}": "{" }]]
  const text = JSON.stringify({ choices: values.map((value) => ({ logprobs: value, other: value })) })
  const expected = { choices: values.map((value) => ({ logprobs: null, other: value })) }
  for (const size of [1, 5, 1000]) assert.deepEqual(JSON.parse(left(text, size)), expected)
})
