import assert from "node:assert/strict"
import { test } from "node:test"
import { simulate } from "./history.ts"

interface RecordedSeed {
  readonly seed: number
  readonly on: "memory" | "nats"
  /** What went wrong, and the test that repeats it step by step: a change of the simulator or of the engine makes another history of a seed. */
  readonly was: string
}

/** Histories that went wrong once. */
const recordedSeeds: readonly RecordedSeed[] = [
  {
    seed: 88_339,
    on: "nats",
    was: "a question that was asked again after its append had failed was removed by another process, so that its run never woke (asked-again.test.ts)",
  },
  { seed: 90_640, on: "nats", was: "the same, with two questions in one append (asked-again.test.ts)" },
  {
    seed: 10_034,
    on: "nats",
    was: "a notice was stored again after it was delivered, and delivered again (late-outcome.test.ts)",
  },
  {
    seed: 1_000_009_583,
    on: "memory",
    was: "a call that was cut off cost nothing, so that a run went on beyond its limit (test/run/limits.test.ts)",
  },
  {
    seed: 1_200_012_199,
    on: "nats",
    was: "a process that was slow to park a run took it off the list after another had woken it, so that nobody took it up again (late-parking.test.ts)",
  },
  {
    seed: 1_200_007_137,
    on: "nats",
    was: "a process took a run whose renewal it had not heard, because the one before had the same bytes (unheard-renewal.test.ts)",
  },
]

for (const { seed, on, was } of recordedSeeds) {
  test(`seed ${seed} on ${on} keeps every promise; once ${was}`, async () => {
    const { problems, diary } = await simulate(seed, { home: on })
    assert.deepEqual(problems, [], diary.join("\n"))
  })
}
