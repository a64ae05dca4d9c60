// `npm run soak`: everything that takes too long for `npm test`. Says what it does and how long it will take, goes on after a failure,
// and ends with a list of all failures, each with the command that repeats it.

import { realpathSync } from "node:fs"
import { relative } from "node:path"
import { inspect, parseArgs } from "node:util"
import { ensureInstalled, main, pinnedNode, root, run, SetupError } from "./setup.mjs"
import {
  allFiles,
  hasFailed,
  inOrder,
  isOfSoak,
  isTest,
  partNames,
  partOf,
  prepare,
  start,
  takesSeed,
} from "./suite.mjs"

const help = `npm run soak [-- OPTIONS]

Runs the long tests: all hostile inputs, planted bugs, thousands of simulated histories, fuzzing, all browser stories, clusters,
crashes, containers, packages, MCP conformance. It starts with all of them once. Random tests take a new seed each time.

  --only NAME    only the part NAME (${partNames.join(", ")}),
                 or the files whose path contains NAME; may be repeated
  --hours N      go on with the random tests, each round with a new seed, until N hours have passed
  --seed N       the first seed (also SOAK_SEED); a failure says the one that it had
  --list         the files that would run
  --help         this text`

/** @typedef {{ file: string, test: string, seed: number }} Failure */

/** How far a round is, and how long the rest will take at the pace so far. */
class Progress {
  #startedAt = Date.now()
  #done_s = 0
  #ended = 0
  /** @type {Map<string, number>} */
  #running = new Map()
  #count
  expected_s

  /** @param {readonly string[]} files */
  constructor(files) {
    this.#count = files.length
    // Three files at a time share two cores.
    this.expected_s = files.reduce((sum, file) => sum + partOf(file).soakSeconds, 0) / 2
  }

  /** @param {string} file */
  started(file) {
    this.#running.set(file, Date.now())
  }

  /** @param {string} file @param {boolean} isGood */
  ended(file, isGood) {
    const took_s = (Date.now() - (this.#running.get(file) ?? Date.now())) / 1000
    this.#running.delete(file)
    this.#ended++
    this.#done_s += partOf(file).soakSeconds / 2
    const elapsed_s = (Date.now() - this.#startedAt) / 1000
    const left_s = (this.expected_s - this.#done_s) * (elapsed_s / Math.max(1, this.#done_s))
    const now = [...this.#running.keys()].map((path) => path.replace(/^test\/|\.test\.tsx?$/g, "")).join(", ")
    const left = this.#ended === this.#count ? "" : `; ${minutes(left_s)} left; running: ${now}`
    return `${isGood ? "ok    " : "FAILED"} ${this.#ended}/${this.#count} ${file} (${took_s.toFixed(0)} s)${left}`
  }
}

await main(async () => {
  const values = readOptions()
  if (values.help === true) {
    console.log(help)
    return 0
  }
  const seed = positive("--seed", values.seed ?? process.env["SOAK_SEED"] ?? String(1 + (Date.now() % 1_000_000_000)))
  const endsAt = Date.now() + positive("--hours", values.hours ?? "0") * 3_600_000
  await ensureInstalled()
  // In a fresh clone the machine's own Node runs this, which may be too old for what follows.
  if (realpathSync(process.execPath) !== realpathSync(pinnedNode())) {
    return (await run(pinnedNode(), process.argv.slice(1), { shell: false })).code
  }
  const files = inOrder(select(values.only ?? []))
  if (values.list === true) {
    console.log(files.join("\n"))
    return 0
  }
  await prepare(files, { brokers: 2 })
  process.env["TEST_STRENGTH"] = "full"
  const total = { passed: 0, skipped: 0, /** @type {Failure[]} */ failures: [] }
  const random = files.filter(takesSeed)
  for (let round = 0; round === 0 || (random.length > 0 && Date.now() < endsAt); round++) {
    await runRound(round === 0 ? files : random, seed + round, total)
  }
  summarize(total)
  return total.failures.length === 0 ? 0 : 1
})

function readOptions() {
  try {
    return parseArgs({
      options: {
        only: { type: "string", multiple: true },
        hours: { type: "string" },
        seed: { type: "string" },
        list: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    }).values
  } catch (error) {
    throw new SetupError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

/** @param {string} name @param {string} text */
function positive(name, text) {
  const number = Number(text)
  if (!(number >= 0 && Number.isFinite(number))) throw new SetupError(`${name} takes a number, not ${text}.`)
  return number
}

/** @param {readonly string[]} names */
function select(names) {
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
 * @param {readonly string[]} files
 * @param {number} seed
 * @param {{ passed: number, skipped: number, failures: Failure[] }} total
 */
async function runRound(files, seed, total) {
  process.env["SOAK_SEED"] = String(seed)
  process.env["FC_SEED"] = String(seed)
  const progress = new Progress(files)
  console.log(
    `\n${files.length} ${files.length === 1 ? "file" : "files"}, seed ${seed}, about ${minutes(progress.expected_s)} on two free cores.`,
  )
  /** What each file has printed; it comes with the results, in the order of the files. @type {Map<string, string>} */
  const printed = new Map()
  /** @type {Set<string>} */
  const failed = new Set()
  for await (const { type, data } of start(files, { timeout: 3_600_000 })) {
    const file = relative(root, ("file" in data ? data.file : undefined) ?? "")
    if (type === "test:stdout" || type === "test:stderr") {
      printed.set(file, ((printed.get(file) ?? "") + data.message).slice(-100_000))
    } else if (type === "test:dequeue" && data.name === file) {
      progress.started(file)
    } else if (type === "test:pass" && isTest(data)) {
      if (data.skip === undefined) total.passed++
      else total.skipped++
    } else if (type === "test:complete") {
      // As soon as it ends.
      const { passed, error } = data.details
      if (!passed && hasFailed(data) && error?.failureType !== "subtestsFailed") {
        failed.add(file)
        total.failures.push({ file, test: data.name, seed })
        const cause = error?.cause
        console.log(`\nFAILED ${file}: ${data.name}\n${typeof cause === "string" ? cause : inspect(cause)}`)
      }
      if (data.name === file) console.log(progress.ended(file, !failed.has(file)))
    }
  }
  for (const [file, text] of printed) if (failed.has(file)) console.log(`\nWhat ${file} printed:\n${text}`)
}

/** @param {number} seconds */
function minutes(seconds) {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
}

/** @param {{ passed: number, skipped: number, failures: readonly Failure[] }} total */
function summarize({ passed, skipped, failures }) {
  console.log(failures.length === 0 ? "\nNothing failed." : "\nFailures, each with the command that repeats it:")
  for (const { file, test, seed } of failures) {
    console.log(`  ${file}: ${test}\n    npm run soak -- --seed ${seed} --only ${file}`)
  }
  console.log(`\n${passed} passed, ${failures.length} failed, ${skipped} skipped`)
}
