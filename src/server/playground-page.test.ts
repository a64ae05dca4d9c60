import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { encodePage } from "./playground-page.ts"

const page = {
  headers: { "content-type": "text/plain" },
  body: "plain",
  compressed: [
    { encoding: "br", body: Buffer.from("br") },
    { encoding: "gzip", body: Buffer.from("gzip") },
  ],
}

const cases: readonly [accepted: string | undefined, encoding: string | undefined][] = [
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["gzip, deflate, br", "br"],
  ["GZIP;q=0.5", "gzip"],
  ["br;q=0, gzip", "gzip"],
  ["br ; q=0.00, gzip;q=0", undefined],
]

for (const [accepted, encoding] of cases) {
  test(`Accept-Encoding: ${accepted ?? "(none)"}`, () => {
    const { headers, body } = encodePage(page, accepted)
    assert.equal(headers["content-encoding"], encoding)
    assert.equal(headers["vary"], "accept-encoding")
    assert.equal(body.toString(), encoding ?? "plain")
  })
}

test("a header of 16 KB is read in no time, whatever it holds", async () => {
  for (const filler of [" ", ";", ",", "; q=0.0", "\t;"]) {
    const accepted = `a${filler.repeat(16_000 / filler.length)}b`
    // With a regular expression that tries every start, the spaces took 300 ms each time.
    await assertCpuBelow(1500, () => {
      for (let n = 0; n < 20; n++) encodePage(page, accepted)
    })
  }
})
