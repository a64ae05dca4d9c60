import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"

// `npm test` runs everything that protects a change, with few cases of each kind. `npm run soak` runs the same files with all of
// their cases, and those that end in `.soak.test.ts`.

export const isSoak = process.env["TEST_STRENGTH"] === "full"

/** A count, or a list of cases: the first for `npm test`, the second for the soak. */
export function atStrength<T>(few: T, full: T): T {
  return isSoak ? full : few
}

/** The same in `npm test` and in every soak, so that a failure is the fault of a change; `npm run explore` sets others. */
export const soakSeed = Number(process.env["SOAK_SEED"] ?? 20)

/** How many random cases to try: a twentieth of them in `npm test`. */
export function cases(full: number): number {
  return atStrength(Math.ceil(full / 20), full)
}

/**
 * That random cases held something often enough to prove anything about it. Chance decides the count: only the soak has so many cases
 * that it can be told, and `least` is at most the mean minus eight standard deviations over many seeds, so that no seed falls below it.
 */
export function assertOften(count: number, least: number, what: string): void {
  if (isSoak) assert.ok(count > least, `only ${count} ${what}, with the seed ${soakSeed}`)
}

/**
 * A test of the soak alone, in a file that has others. It is `test` itself: a function around it would be where a failure is said to
 * be, and not the file to run again.
 */
export const soakTest = (isSoak ? test : () => undefined) as (
  name: string,
  body: (t: TestContext) => void | Promise<void>,
) => void
