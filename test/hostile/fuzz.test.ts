import assert from "node:assert/strict"
import { test } from "node:test"
import { allowedMs, fuzz } from "./fuzz/fuzz.ts"
import type { Finding } from "./fuzz/fuzz.ts"
import { targets } from "./fuzz/targets.ts"
import type { Target } from "./fuzz/target.ts"
import { atStrength, soakSeed } from "../support/strength.ts"

// No input of 10 KB that a stranger can write takes more than 100 ms of CPU, or throws. A few inputs for each reader here,
// always the same ones; the soak tries more, and `npm run fuzz` as many others as there is time for.

const count = atStrength(50, 500)
const seeds = atStrength([1], [1, soakSeed])
/** The bound here is ten times the promise: a slow machine passes, and what grows faster than its input does not. */
const generousMs = 10 * allowedMs

for (const target of targets) {
  test(`no input is slow or throws: ${target.name}`, async () => {
    const findings: Finding[] = []
    for (const seed of seeds) await fuzz(target, seed, count, (finding) => findings.push(finding), generousMs)
    assert.deepEqual(
      findings.map(({ seed, index, ms, error, input }) => ({ seed, index, ms, error, input: input.slice(0, 500) })),
      [],
    )
  })
}

test("the fuzzer finds what is slow, and what throws", async () => {
  const slow: Target = {
    name: "square",
    tokens: ["a", "b"],
    make: (random, most) => "ab".repeat(random.below(most / 2)),
    read: (input) => {
      if (input.includes("bb")) throw new Error("bb")
      // 6 ms of CPU for each thousand characters.
      const started = process.threadCpuUsage()
      for (;;) {
        const { user, system } = process.threadCpuUsage(started)
        if (user + system > input.length * 6) return
      }
    },
  }
  const findings: Finding[] = []
  await fuzz(slow, 1, 40, (finding) => findings.push(finding), 20)
  assert.ok(findings.some(({ ms }) => ms > 20))
  assert.ok(findings.some(({ error }) => error !== null))
})
