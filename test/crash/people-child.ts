import type { RunStore } from "../../src/ports/store.ts"
import { isTerminal } from "../../src/ports/events.ts"
import { openStore, requestTo, source, startRuns } from "./people-workflow.ts"
import { planOf } from "./workflow.ts"

// `people-child.ts STORE ORIGIN APPENDS LEASE_MS [RUN_ID]`: begins the run, or goes on with it, and kills itself without warning once so many
// appends are durable (0: never). Prints the run's id as soon as it has one. Ends when the run has.

const [place = "", origin = "", appends = "0", lease = "10000", known] = process.argv.slice(2)

let left = Number(appends)

function dying(store: RunStore): RunStore {
  const append = store.append.bind(store)
  store.append = async (held, events) => {
    await append(held, events)
    if (--left === 0) process.kill(process.pid, "SIGKILL")
  }
  return store
}

const store = dying(await openStore(place))
const service = startRuns(store, origin, Number(lease))
const { runs } = service
await runs.recover()
let run_id = known
if (run_id === undefined) {
  const admission = await runs.admit(planOf(source), requestTo(origin))
  if (admission.outcome !== "created") throw new Error(admission.outcome)
  run_id = admission.run_id
  process.stdout.write(`${run_id}\n`)
}
for await (const { type } of store.follow(run_id, 0, new AbortController().signal)) if (isTerminal(type)) break
await service.close()
await store.close()
