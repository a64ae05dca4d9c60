// `npm run chaos -- --seeds 20 [--from 1] [--runs 60] [--seconds 25]`: three replicas on PostgreSQL,
// which die, pause and restart, as does the server. One line a seed; the exit code is 1 when anything was lost, cut or duplicated.

import { parseArgs } from "node:util"
import { ensurePostgres } from "./postgres-server.mjs"
import { ensureInstalled, main, pinnedNode, root, run } from "./setup.mjs"
import { join } from "node:path"

await main(async () => {
  await ensureInstalled("everything")
  await ensurePostgres()
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "20" },
      from: { type: "string", default: "1" },
      runs: { type: "string", default: "60" },
      seconds: { type: "string", default: "25" },
    },
  })
  const args = [values.seeds, values.from, values.runs, values.seconds]
  const { code } = await run(pinnedNode(), [join(root, "test", "support", "run-chaos.ts"), ...args], { cwd: root })
  return code
})
