// `npm run soak`: everything that takes too long for `npm test`, always with the same seeds. Says what it does and how long it will take, goes
// on after a failure, and ends with a list of all failures, each with the command that repeats it.

import { handOver, main, SetupError } from "./setup.mjs"
import { baseSeed, minutes, readOptions, recordedSeeds, runRound, seedOf, select, summarize } from "./soak-round.mjs"
import { inOrder, partNames, partOf, prepare } from "./suite.mjs"

const help = `npm run soak [-- OPTIONS]

Runs the long tests once: all hostile inputs, planted bugs, thousands of simulated histories, fuzzing, all browser stories, clusters,
crashes, containers, packages, MCP conformance. Random tests take the seed ${baseSeed}, and then the seeds of test/recorded-seeds.json, with which
they failed once. So the same code has the same result; \`npm run explore\` tries new seeds.

  --only NAME    only the part NAME (${partNames.join(", ")}),
                 or the files whose path contains NAME; may be repeated
  --seed N       this seed instead: to repeat a failure
  --test NAME    only the test of this name
  --list         the files that would run
  --help         this text`

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
  const options = /** @type {const} */ ({
    only: { type: "string", multiple: true },
    seed: { type: "string" },
    test: { type: "string" },
    list: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  })
  const values = readOptions(options, help)
  if (values.help === true) {
    console.log(help)
    return 0
  }
  const seed = values.seed === undefined ? baseSeed : seedOf(values.seed)
  const code = await handOver()
  if (code !== null) return code
  const files = inOrder(select(values.only ?? []))
  if (values.list === true) {
    console.log(files.join("\n"))
    return 0
  }
  await prepare(files)
  /** @type {import("./soak-round.mjs").Total} */
  const total = { passed: 0, skipped: 0, failures: [] }
  const progress = new Progress(files)
  console.log(
    `\n${files.length} ${files.length === 1 ? "file" : "files"}, seed ${seed}, about ${minutes(progress.expected_s)} on two free cores.`,
  )
  await runRound(files, {
    seed,
    test: values.test,
    total,
    started: (file) => progress.started(file),
    ended: (file, isGood) => console.log(progress.ended(file, isGood)),
  })
  if (values.test !== undefined && total.passed + total.failures.length === 0) {
    throw new SetupError(`No test of these files is called ${values.test}.`)
  }
  if (values.seed === undefined && values.test === undefined) await runRecorded(files, total)
  return summarize(total)
})

/** @param {readonly string[]} files @param {import("./soak-round.mjs").Total} total */
async function runRecorded(files, total) {
  for (const { file, test, seed } of recordedSeeds()) {
    if (!files.includes(file)) continue
    const before = total.passed + total.failures.length
    await runRound([file], {
      seed,
      test: test === file ? undefined : test,
      total,
      ended: (_, isGood) => console.log(`${isGood ? "ok    " : "FAILED"} ${file}, recorded seed ${seed}: ${test}`),
    })
    if (total.passed + total.failures.length > before) continue
    console.log(`FAILED ${file} has no test called ${test}: give its recorded seed ${seed} the new name.`)
    total.failures.push({ file, test, seed })
  }
}
