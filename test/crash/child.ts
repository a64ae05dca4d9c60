import { isTerminal } from "../../src/log/events.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { openStore, planOf, startRuns } from "./service.ts"
import { requestFor, type WorkflowName } from "./workflows.ts"

// `child.ts WORKFLOW STORE ORIGIN APPENDS LEASE_MS [RUN_ID]`: starts a run, or continues this one, and kills itself without
// warning once so many appends are durable (0: never). Prints the id of a new run. Ends when the run has ended.

const [workflow = "", place = "", origin = "", appends = "0", leaseMs = "", known] = process.argv.slice(2)

let left = Number(appends)
/** The run's id. */
const printed = Promise.withResolvers<void>()
if (known !== undefined) printed.resolve()

function dying(store: RunStore): RunStore {
  const append = store.append.bind(store)
  store.append = async (lease, events) => {
    await append(lease, events)
    if (--left > 0 || Number(appends) === 0) return
    // A run and its first events are stored together.
    await printed.promise
    process.kill(process.pid, "SIGKILL")
  }
  return store
}

const store = dying(await openStore(place))
const service = startRuns(store, origin, Number(leaseMs))
const { runs } = service
let run_id = known
if (run_id === undefined) {
  const request = requestFor(workflow as WorkflowName, origin)
  const admission = await runs.admit(planOf(request.request.source), request)
  if (admission.outcome !== "created") throw new Error(admission.outcome)
  run_id = admission.run_id
  process.stdout.write(`${run_id}\n`)
  printed.resolve()
}
await runs.recover()
for await (const { type } of store.follow(run_id, 0, new AbortController().signal)) if (isTerminal(type)) break
await service.close()
await store.close()
