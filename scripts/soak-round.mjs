// What `npm run soak` and `npm run explore` share: which files they run, how a seed reaches them, what they print, and the recorded seeds.

import { readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { inspect, parseArgs } from "node:util"
import { root, SetupError } from "./setup.mjs"
import { allFiles, hasFailed, isOfSoak, isTest, partNames, partOf, start } from "./suite.mjs"

/** @typedef {{ file: string, test: string, seed: number }} Failure `test` is the file itself where the file failed outside of its tests */
/** @typedef {{ passed: number, skipped: number, failures: Failure[] }} Total */

/** The seed of every soak and of `npm test`: a landing depends on the change, not on luck. */
export const baseSeed = 20

const recordedFile = join(root, "test", "recorded-seeds.json")

/** Seeds with which a test failed once, besides the base seed. @returns {readonly Failure[]} */
export function recordedSeeds() {
  return JSON.parse(readFileSync(recordedFile, "utf8"))
}

/**
 * Adds the failure to the recorded ones. One seed of a test is enough: more of them would make the soak longer, and mostly find the same.
 * @param {Failure} failure
 * @returns {boolean} false where that test has a recorded seed
 */
export function record(failure) {
  const recorded = recordedSeeds()
  if (recorded.some(({ file, test }) => file === failure.file && test === failure.test)) return false
  writeFileSync(recordedFile, `${JSON.stringify([...recorded, failure], null, 2)}\n`)
  return true
}

/**
 * @template {import("node:util").ParseArgsOptionsConfig} T
 * @param {T} options
 * @param {string} help
 */
export function readOptions(options, help) {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    throw new SetupError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

/** @param {string} name @param {string} text */
export function positive(name, text) {
  const number = Number(text)
  if (!(number > 0 && Number.isFinite(number))) throw new SetupError(`${name} takes a positive number, not ${text}.`)
  return number
}

/** The highest seed that every random test takes. */
const maxSeed = 2 ** 31 - 1

/** @param {string} text */
export function seedOf(text) {
  const seed = Number(text)
  if (!(Number.isInteger(seed) && seed >= 0 && seed <= maxSeed)) {
    throw new SetupError(`--seed takes a whole number from 0 to ${maxSeed}, not ${text}.`)
  }
  return seed
}

/** The files of the soak, or those of the parts and paths that are named. @param {readonly string[]} names */
export function select(names) {
  const all = allFiles()
  if (names.length === 0) return all.filter(isOfSoak)
  const unknown = names.find((name) => !partNames.includes(name) && !all.some((file) => file.includes(name)))
  if (unknown !== undefined) {
    throw new SetupError(`No part and no test file is called ${unknown}. The parts: ${partNames.join(", ")}.`)
  }
  const inPart = all.filter((file) => isOfSoak(file) && names.includes(partOf(file).name))
  const named = all.filter((file) => names.some((name) => !partNames.includes(name) && file.includes(name)))
  return [...new Set([...inPart, ...named])]
}

/**
 * Runs files with one seed at full strength, and says which tests failed as soon as they do.
 * @param {readonly string[]} files
 * @param {{ seed: number, test?: string | undefined, total: Total, started?: (file: string) => void, ended?: (file: string, isGood: boolean) => void }} how
 *   `test` is the name of the only test to run
 * @returns {Promise<Failure[]>}
 */
export async function runRound(files, { seed, test, total, started, ended }) {
  const env = { ...process.env, TEST_STRENGTH: "full", SOAK_SEED: String(seed) }
  const names =
    test === undefined
      ? {}
      : { testNamePatterns: [new RegExp(`^${test.replaceAll(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`)}$`)] }
  /** What each file has printed; it comes with the results, in the order of the files. @type {Map<string, string>} */
  const printed = new Map()
  /** @type {Failure[]} */
  const failures = []
  const hasFailures = (/** @type {string} */ path) => failures.some(({ file }) => file === path)
  for await (const { type, data } of start(files, { timeout: 3_600_000, env, ...names })) {
    const file = relative(root, ("file" in data ? data.file : undefined) ?? "")
    if (type === "test:stdout" || type === "test:stderr") {
      printed.set(file, ((printed.get(file) ?? "") + data.message).slice(-100_000))
    } else if (type === "test:dequeue" && data.name === file) {
      started?.(file)
    } else if (type === "test:pass" && isTest(data)) {
      if (data.skip === undefined) total.passed++
      else total.skipped++
    } else if (type === "test:complete") {
      // As soon as it ends.
      const { passed, error } = data.details
      if (!passed && hasFailed(data) && error?.failureType !== "subtestsFailed") {
        const failure = { file, test: data.name, seed }
        failures.push(failure)
        total.failures.push(failure)
        const cause = error?.cause
        console.log(
          `\nFAILED ${file}, seed ${seed}: ${data.name}\n${typeof cause === "string" ? cause : inspect(cause)}`,
        )
      }
      if (data.name === file) ended?.(file, !hasFailures(file))
    }
  }
  for (const [file, text] of printed) if (hasFailures(file)) console.log(`\nWhat ${file} printed:\n${text}`)
  return failures
}

/** @param {number} seconds */
export function minutes(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
}

/** @param {Failure} failure */
export function commandOf({ file, test, seed }) {
  const only = test === file ? "" : ` --test '${test.replaceAll("'", String.raw`'\''`)}'`
  return `npm run soak -- --seed ${seed} --only ${file}${only}`
}

/** @param {Total} total @returns {number} the exit code */
export function summarize({ passed, skipped, failures }) {
  console.log(failures.length === 0 ? "\nNothing failed." : "\nFailures, each with the command that repeats it:")
  for (const failure of failures) console.log(`  ${failure.file}: ${failure.test}\n    ${commandOf(failure)}`)
  console.log(`\n${passed} passed, ${failures.length} failed, ${skipped} skipped`)
  return failures.length === 0 ? 0 : 1
}
