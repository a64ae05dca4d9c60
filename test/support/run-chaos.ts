import { postgresKeeper } from "./chaos-on-postgres.ts"
import { runChaos } from "./chaos.ts"

// Started by scripts/chaos.mjs: one line for each seed, then the sums.

const [seeds = 1, from = 1, runs = 60, seconds = 25] = process.argv.slice(2).map(Number)
const kinds = [
  "kill replica",
  "pause replica",
  "restart replica",
  "kill server",
  "restart server",
  "crash session",
  "pause session",
]

const sums = { seeds: 0, runs: 0, deeds: 0, reconnects: 0, resumed: 0, calls: 0, agents: 0, faults: 0 }
for (let seed = from; seed < from + seeds; seed++) {
  try {
    const report = await runChaos({ keeper: postgresKeeper, seed, runs, ms: seconds * 1_000 })
    const { deeds, reconnects, resumed, calls, agents, faults } = report
    const counts = kinds.map((kind) => `${deeds.filter((deed) => deed.startsWith(kind)).length} × ${kind}`)
    console.log(`seed ${seed}: ${runs} runs, ${counts.join(", ")}; ${reconnects} reconnects, ${resumed} resumed, `)
    console.log(`  ${calls} calls for ${agents} agents, ${faults.length} faults`)
    for (const fault of faults) console.log(`  FAULT ${fault}`)
    sums.seeds++
    sums.runs += runs
    sums.deeds += deeds.length
    sums.reconnects += reconnects
    sums.resumed += resumed
    sums.calls += calls
    sums.agents += agents
    sums.faults += faults.length
  } catch (error) {
    sums.faults++
    console.log(`seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
}
console.log(`all: ${JSON.stringify(sums)}`)
process.exitCode = sums.faults === 0 ? 0 : 1
