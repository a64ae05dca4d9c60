import { Coverage } from "./coverage.ts"
import { simulate } from "./history.ts"
import { replaysOnPostgres } from "./replay-on-postgres.ts"
import { replaysOnSqlite } from "./replay-on-sqlite.ts"
import { simulateTriggers } from "./trigger-history.ts"

// `npm run simulate [-- COUNT [FIRST] [--nats | --sqlite | --postgres] [--triggers] [--coverage] [--stop-at-first]]`: histories with the seeds FIRST, FIRST + 1 …, on the memory
// store or on the NATS store, with `--triggers` of schedules and webhooks; with `--sqlite` or `--postgres`, what the memory store was asked for is asked of the database again, and both must agree. With `--coverage`,
// a table says how often each fault and each part of the language came up. A history that goes wrong is printed with its diary, and `npm run simulate -- 1 SEED` gives exactly that history again.

const options = process.argv.slice(2).filter((value) => value.startsWith("--"))
const [count = "1000", first = "1"] = process.argv.slice(2).filter((value) => !value.startsWith("--"))
const home = options.includes("--nats") ? "nats" : "memory"
const replays = options.includes("--sqlite")
  ? replaysOnSqlite()
  : options.includes("--postgres")
    ? await replaysOnPostgres()
    : null
const showsAll = Number(count) === 1
// Faults are thousands of errors whose stacks nobody reads.
if (!showsAll) Error.stackTraceLimit = 0
const total = { runs: 0, events: 0, calls: 0, crashes: 0, resumed: 0, completed: 0 }
const started = performance.now()
let lastShown = started
let made = 0
let failed = 0
const coverage = options.includes("--coverage") ? new Coverage() : null
while (made < Number(count)) {
  const number = Number(first) + made
  const history = options.includes("--triggers")
    ? await simulateTriggers(number, { home, traced: replays !== null })
    : await simulate(number, { home, traced: replays !== null })
  const { seed, diary, figures } = history
  const problems = [...history.problems, ...((await replays?.problems(history)) ?? [])]
  made++
  coverage?.add(history.counts)
  for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += figures[key]
  if (problems.length > 0) failed++
  if (showsAll || (problems.length > 0 && failed <= 3)) console.log(`\nseed ${seed}\n${diary.join("\n")}\n`)
  if (problems.length > 0) console.log(`seed ${seed}: ${problems.slice(0, 5).join("\n    ")}`)
  if (failed >= 20 || (failed > 0 && options.includes("--stop-at-first"))) break
  if (process.stderr.isTTY && performance.now() - lastShown > 1000) {
    lastShown = performance.now()
    process.stderr.write(`\r${made} of ${count} histories, ${failed} went wrong `)
  }
}
await replays?.close()
if (coverage !== null) console.log(`\n${coverage.table().join("\n")}\n`)
const seconds = (performance.now() - started) / 1000
console.log(`${made} histories in ${seconds.toFixed(1)} s, ${failed} went wrong: ${JSON.stringify(total)}`)
process.exitCode = failed === 0 ? 0 : 1
