import assert from "node:assert/strict"
import { test } from "node:test"
import { readQualityList } from "./quality-list.ts"

const cases: readonly [header: string | undefined, entries: Record<string, number>][] = [
  [undefined, { "": 1 }],
  ["gzip", { gzip: 1 }],
  ["GZIP , br;q=0.5", { gzip: 1, br: 0.5 }],
  ["gzip;q=0, br; q=0., deflate ;q=0.000", { gzip: 0, br: 0, deflate: 0 }],
  ["text/html;level=1;q=0.4", { "text/html": 0.4 }],
  ["text/html;Q = 0.4", { "text/html": 0.4 }],
  ["gzip;q=high", { gzip: 1 }],
]

for (const [header, entries] of cases) {
  test(`a list: ${header ?? "(none)"}`, () => {
    assert.deepEqual(Object.fromEntries(readQualityList(header)), entries)
  })
}
