import assert from "node:assert/strict"
import { test } from "node:test"
import { simulate } from "./history.ts"

interface RecordedSeed {
  readonly seed: number
  /** What went wrong, and the test that repeats it step by step: a change of the simulator or of the engine makes another history of a seed. */
  readonly was: string
}

/** Histories that went wrong once. */
const recordedSeeds: readonly RecordedSeed[] = [
  {
    seed: 1_000_009_583,
    was: "a call that was cut off cost nothing, so that a run went on beyond its limit (test/run/limits.test.ts)",
  },
  {
    seed: 2526,
    was: "a run whose processes died before its plan was stored ran out of time while no process had it (src/run/log/resume.test.ts)",
  },
]

for (const { seed, was } of recordedSeeds) {
  test(`seed ${seed} keeps every promise; once ${was}`, async () => {
    const { problems, diary } = await simulate(seed)
    assert.deepEqual(problems, [], diary.join("\n"))
  })
}
