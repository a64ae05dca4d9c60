import type { RunStore } from "../../src/ports/store.ts"
import { openStore, planOf, requestTo, source, startRuns } from "./workflow.ts"

// `child.ts PATH ORIGIN APPENDS [RUN_ID]`: runs the workflow, or goes on with the run, and kills itself without warning once
// so many appends are durable (0: never). Prints the run's id as soon as it has one, then its last event.

const [path = "", origin = "", appends = "0", known] = process.argv.slice(2)

let left = Number(appends)

function dying(store: RunStore): RunStore {
  const append = store.append.bind(store)
  store.append = async (lease, events) => {
    await append(lease, events)
    if (--left === 0) process.kill(process.pid, "SIGKILL")
  }
  return store
}

const store = dying(await openStore(path))
const service = startRuns(store, origin)
const { runs } = service
let run_id = known
if (run_id === undefined) {
  const admission = await runs.admit(planOf(source), requestTo(origin))
  if (admission.outcome !== "created") throw new Error(admission.outcome)
  run_id = admission.run_id
  process.stdout.write(`${run_id}\n`)
} else await runs.recover()
const end = await runs.ending(run_id, new AbortController().signal)
process.stdout.write(`${JSON.stringify(end)}\n`)
await service.close()
await store.close()
