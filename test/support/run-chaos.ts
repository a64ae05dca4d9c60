import { natsKeeper } from "./chaos-on-nats.ts"
import { runChaos } from "./chaos.ts"
import { natsServers } from "./nats-server.ts"

// Started by scripts/chaos.mjs: one line for each seed and broker, then the sums.

const [seeds = 1, from = 1, runs = 60, seconds = 25] = process.argv.slice(2).map(Number)

let failed = 0
for (const server of natsServers()) {
  const sums = { seeds: 0, runs: 0, deeds: 0, reconnects: 0, resumed: 0, calls: 0, agents: 0, faults: 0 }
  for (let seed = from; seed < from + seeds; seed++) {
    const line = `nats-server ${server.version}, seed ${seed}`
    try {
      const report = await runChaos({ keeper: () => natsKeeper(server), seed, runs, ms: seconds * 1_000 })
      const { deeds, reconnects, resumed, calls, agents, faults } = report
      const kinds = ["kill replica", "pause replica", "restart replica", "kill node", "pause node"]
      const counts = kinds.map((kind) => `${deeds.filter((deed) => deed.startsWith(kind)).length} × ${kind}`)
      console.log(`${line}: ${runs} runs, ${counts.join(", ")}; ${reconnects} reconnects, ${resumed} resumed, `)
      console.log(`  ${calls} calls for ${agents} agents, ${faults.length} faults`)
      for (const deed of deeds) if (deed.startsWith("late: ")) console.log(`  LATE ${deed}`)
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
      console.log(`${line}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }
  failed += sums.faults
  console.log(`nats-server ${server.version}, all: ${JSON.stringify(sums)}`)
}
process.exitCode = failed === 0 ? 0 : 1
