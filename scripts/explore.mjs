// `npm run explore`: the random tests of the soak with seeds that nobody has tried. What fails is recorded, so that every soak tries it again.

import { handOver, main } from "./setup.mjs"
import {
  commandOf,
  minutes,
  positive,
  readOptions,
  record,
  runRound,
  seedOf,
  select,
  summarize,
} from "./soak-round.mjs"
import { inOrder, partNames, partOf, prepare, takesSeed } from "./suite.mjs"

const help = `npm run explore [-- OPTIONS]

Runs the random tests of the soak again and again, each round with a new seed, until the time is up. A failure is printed with the command that
repeats it, and its seed is written to test/recorded-seeds.json: commit that file, and every soak tries the seed.

  --minutes N    how long (20); no test file starts that would take longer than what is left
  --only NAME    only the part NAME (${partNames.join(", ")}),
                 or the files whose path contains NAME; may be repeated
  --seed N       the first seed; without it one that nobody has tried
  --help         this text`

/** Three files at a time on two cores: many of them wait. */
const workers = 3

await main(async () => {
  const options = /** @type {const} */ ({
    minutes: { type: "string" },
    only: { type: "string", multiple: true },
    seed: { type: "string" },
    help: { type: "boolean", short: "h" },
  })
  const values = readOptions(options, help)
  if (values.help === true) {
    console.log(help)
    return 0
  }
  const seconds = 60 * positive("--minutes", values.minutes ?? "20")
  const firstSeed = values.seed === undefined ? 1000 + (Date.now() % 1_000_000_000) : seedOf(values.seed)
  const code = await handOver()
  if (code !== null) return code
  const files = inOrder(select(values.only ?? []).filter(takesSeed))
  if (files.length === 0) {
    console.error("None of these files takes a seed.")
    return 1
  }
  await prepare(files)
  console.log(
    `\n${files.length} ${files.length === 1 ? "file" : "files"} with random tests, ${minutes(seconds)}, seeds from ${firstSeed}.`,
  )
  return explore(files, firstSeed, Date.now() + seconds * 1000)
})

/** @param {readonly string[]} files @param {number} firstSeed @param {number} endsAt */
async function explore(files, firstSeed, endsAt) {
  /** @type {import("./soak-round.mjs").Total} */
  const total = { passed: 0, skipped: 0, failures: [] }
  /** How long each file takes: as long as the last time. */
  const expected_s = new Map(files.map((file) => [file, partOf(file).soakSeconds]))
  /** How often each file has started. */
  const started = new Map(files.map((file) => [file, 0]))
  const next = () => {
    const left_s = (endsAt - Date.now()) / 1000
    const fitting = files.filter((file) => (expected_s.get(file) ?? 0) <= left_s)
    const fewest = Math.min(...fitting.map((file) => started.get(file) ?? 0))
    return fitting.find((file) => started.get(file) === fewest)
  }
  const work = async () => {
    for (let file = next(); file !== undefined; file = next()) {
      const round = started.get(file) ?? 0
      started.set(file, round + 1)
      await tryOnce(file, firstSeed + round, total, expected_s)
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  const never = files.filter((file) => started.get(file) === 0)
  if (never.length > 0) console.log(`\nNot enough time for: ${never.join(", ")}.`)
  return summarize(total)
}

/**
 * @param {string} file
 * @param {number} seed
 * @param {import("./soak-round.mjs").Total} total
 * @param {Map<string, number>} expected_s
 */
async function tryOnce(file, seed, total, expected_s) {
  const startedAt = Date.now()
  const failures = await runRound([file], { seed, total })
  const took_s = (Date.now() - startedAt) / 1000
  expected_s.set(file, took_s)
  console.log(`${failures.length === 0 ? "ok    " : "FAILED"} ${file}, seed ${seed} (${took_s.toFixed(0)} s)`)
  for (const failure of failures) {
    const recorded = record(failure)
      ? "recorded in test/recorded-seeds.json"
      : "not recorded: this test has a recorded seed"
    console.log(`${commandOf(failure)}\n  (${recorded})`)
  }
}
