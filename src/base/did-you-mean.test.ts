import assert from "node:assert/strict"
import { test } from "node:test"

import { didYouMean } from "./did-you-mean.ts"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"

const rows: readonly [name: string, candidates: string[], string | undefined][] = [
  ["titel", ["title", "files"], "title"],
  ["sumarize", ["summarise", "summarize"], "summarize"],
  ["missing", ["mission"], "mission"],
  ["maxTokens", ["max_tokens", "max_retries"], "max_tokens"],
  ["Path", ["path", "patch"], "path"],
  ["x-trace", ["X_Trace"], "X_Trace"],
  ["a", ["b", "ab"], undefined],
  ["a", ["b", "A"], "A"],
  ["ad", ["id", "name"], "id"],
  ["ab", ["xy"], undefined],
  ["id", ["ids", "name"], "ids"],
  ["temperature", ["top_p", "seed"], undefined],
  ["low", ["high", "medium"], undefined],
  ["", ["a"], undefined],
  ["__proto__", ["photo"], "photo"],
  ["x".repeat(200), ["x".repeat(199)], undefined],
  ["_", ["__"], undefined],
  ["summary", [], undefined],
]

for (const [name, candidates, expected] of rows) {
  test(`${name.slice(0, 20)} among ${candidates.join(", ").slice(0, 40)}: ${expected ?? "nothing"}`, () => {
    assert.equal(didYouMean(name, candidates), expected)
  })
}

test("the name itself is no suggestion", () => assert.equal(didYouMean("a_name", ["a_name"]), undefined))

test("thousands of long candidates take no time to speak of", async () => {
  const candidates = Array.from({ length: 20_000 }, (_, at) => `some_quite_long_field_name_${at}`)
  await assertCpuBelow(5_000, () => {
    assert.equal(didYouMean("some_quite_long_feild_name_19999", candidates), "some_quite_long_field_name_19999")
  })
})
