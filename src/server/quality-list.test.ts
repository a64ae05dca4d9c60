import assert from "node:assert/strict"
import { test } from "node:test"
import { prefers, readQualityList } from "./quality-list.ts"

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

const choices: readonly [accept: string, text: boolean][] = [
  ["", false],
  ["*/*", false],
  ["application/json", false],
  ["text/html", false],
  ["text/plain", true],
  ["TEXT/PLAIN; charset=utf-8", true],
  ["text/*", true],
  ["text/plain, */*", true],
  ["text/plain;q=0.5, */*;q=0.1", true],
  ["application/json;q=0.5, text/plain", true],
  ["application/json, text/plain;q=0.9", false],
  // What some clients send with everything.
  ["application/json, text/plain, */*", false],
  ["text/plain;q=0, */*", false],
  ["text/plain;q=0", false],
]

for (const [accept, text] of choices) {
  test(`Accept: ${accept}`, () => {
    assert.equal(prefers(accept, "text/plain", "application/json"), text)
  })
}
