import { Coverage } from "./coverage.ts"
import type { History } from "./history.ts"
import { kindsOfHistories } from "./kinds-of-histories.ts"
import { readOptions } from "./options.ts"
import { replaysOnPostgres } from "./replay-on-postgres.ts"
import { replaysOnSqlite } from "./replay-on-sqlite.ts"
import type { Replays } from "./replays.ts"

// `npm run simulate`: `--help` says what it does.

const maxFailed = 20
/** How often it says how far it is: a terminal shows one line, a file has a line each time. */
const progressMs = process.stderr.isTTY ? 1_000 : 5_000

const read = readOptions(process.argv.slice(2))
if ("help" in read) {
  process.stdout.write(read.help)
  process.exit(0)
}
if ("wrong" in read) {
  process.stderr.write(`${read.wrong} npm run simulate -- --help says what there is.\n`)
  process.exit(2)
}
const { count, first, on, of, coverage: covers, stopAtFirst } = read.options

const replays: Replays | null =
  on === "sqlite" ? replaysOnSqlite() : on === "postgres" ? await replaysOnPostgres() : null
const showsAll = count === 1
// Faults are thousands of errors whose stacks nobody reads.
if (!showsAll) Error.stackTraceLimit = 0
const total = { runs: 0, events: 0, calls: 0, crashes: 0, resumed: 0, completed: 0 }
const started = performance.now()
let lastShown = started
let made = 0
let failed = 0
const coverage = covers ? new Coverage() : null

async function finish(history: History): Promise<void> {
  const { seed, diary, figures } = history
  const problems = [...history.problems, ...((await replays?.problems(history)) ?? [])]
  made++
  coverage?.add(history.counts)
  for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += figures[key]
  if (problems.length > 0) failed++
  if (showsAll || (problems.length > 0 && failed <= 3)) console.log(`\nseed ${seed}\n${diary.join("\n")}\n`)
  if (problems.length > 0) console.log(`seed ${seed}: ${problems.slice(0, 5).join("\n    ")}`)
  if (performance.now() - lastShown < progressMs) return
  lastShown = performance.now()
  const line = `${made} of ${count} histories, ${failed} went wrong`
  process.stderr.write(process.stderr.isTTY ? `\r${line} ` : `${line}\n`)
}

const beside = stopAtFirst ? 1 : (replays?.beside ?? 1)
const underWay = new Set<Promise<void>>()
for (let begun = 0; begun < count; begun++) {
  const history = await kindsOfHistories[of](first + begun, { traced: replays !== null })
  const finished = finish(history).finally(() => underWay.delete(finished))
  underWay.add(finished)
  if (underWay.size >= beside) await Promise.race(underWay)
  if (failed >= maxFailed || (failed > 0 && stopAtFirst)) break
}
await Promise.all(underWay)
await replays?.close()
if (coverage !== null) console.log(`\n${coverage.table().join("\n")}\n`)
const seconds = (performance.now() - started) / 1000
console.log(`${made} histories in ${seconds.toFixed(1)} s, ${failed} went wrong: ${JSON.stringify(total)}`)
process.exitCode = failed === 0 ? 0 : 1
