import { signal } from "@preact/signals"
import { announce, notify } from "../page/notices.ts"
import { client, toWireError } from "../service/service.ts"
import type { RunsActionBody, RunsActionState } from "../../src/client/client.ts"
import { Dialog } from "../ui/dialog.tsx"
import { Menu } from "../ui/menu.tsx"
import { counted } from "../ui/show.ts"
import { place } from "./place.ts"
import { loadRuns, runList, selected } from "./run-list.ts"
import { loadStats } from "./run-stats.ts"
import { hasFilters, requestOf } from "./run-query.ts"

type Act = RunsActionBody["action"]
type Which = Pick<RunsActionBody, "run_ids" | "filter">

/** What the service says that the action would be about. */
interface Asked {
  readonly act: Act
  readonly which: Which
  readonly state: RunsActionState
}

const asked = signal<Asked | null>(null)
const isActing = signal(false)
const pollMs = 300

const verbs: Readonly<Record<Act, string>> = { retry_failed: "Retry", cancel: "Cancel", delete: "Delete" }
const done: Readonly<Record<Act, string>> = { retry_failed: "retried", cancel: "cancelled", delete: "deleted" }
const acts = Object.keys(verbs) as Act[]
const fits: Readonly<Record<Act, (status: string) => boolean>> = {
  retry_failed: (status) => status === "failed" || status === "cancelled",
  cancel: (status) => ["queued", "running", "waiting"].includes(status),
  delete: (status) => ["completed", "failed", "cancelled"].includes(status),
}

/** What can be done with the selected runs, and with all that the filters find. */
export function RunActions() {
  const { params } = place.value
  const chosen = (runList.value?.runs ?? []).filter(({ run_id }) => selected.value.has(run_id))
  return (
    <>
      {chosen.length === 0 ? null : (
        <div class="console-actions" role="group" aria-label="Selected runs">
          <span class="note">{counted(chosen.length, "run")} selected</span>
          {acts.map((act) => {
            const run_ids = chosen.flatMap(({ run_id, status }) => (fits[act](status) ? [run_id] : []))
            return run_ids.length === 0 ? null : (
              <button
                key={act}
                type="button"
                class="button outlined"
                disabled={isActing.value}
                onClick={() => void ask(act, { run_ids })}
              >
                {verbs[act]} {words[act](run_ids.length)}
              </button>
            )
          })}
          <button type="button" class="button" onClick={() => (selected.value = new Set())}>
            Select none
          </button>
        </div>
      )}
      {hasFilters(params) && runList.value !== null && runList.value.runs.length > 0 ? (
        <div class="console-all">
          <Menu
            label="All that match the filters"
            items={acts.map((act) => ({
              label: `${verbs[act]} all that match …`,
              onSelect: () => void ask(act, { filter: filterOf(params) }),
            }))}
          >
            All that match
          </Menu>
        </div>
      ) : null}
      {asked.value === null ? null : <Confirm {...asked.value} />}
    </>
  )
}

const words: Readonly<Record<Act, (count: number) => string>> = {
  retry_failed: (count) => counted(count, "failed run"),
  cancel: (count) => counted(count, "run under way", "runs under way"),
  delete: (count) => counted(count, "ended run"),
}

/** Numbers are numbers in a body. */
function filterOf(params: URLSearchParams): NonNullable<Which["filter"]> {
  const { min_cost, min_seconds, ...rest } = requestOf(params, Date.now())
  const number = (value: unknown, name: string): object => (value === undefined ? {} : { [name]: Number(value) })
  return { ...rest, ...number(min_cost, "min_cost"), ...number(min_seconds, "min_seconds") } as NonNullable<
    Which["filter"]
  >
}

/** Follows an action until it is completed. */
async function carryOut(body: RunsActionBody): Promise<RunsActionState> {
  const service = client()
  const { id } = await service.startRunsAction(body)
  for (;;) {
    const state = await service.runsAction(id)
    if (state.status === "completed") return state
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** The service counts first. */
async function ask(act: Act, which: Which): Promise<void> {
  isActing.value = true
  try {
    asked.value = { act, which, state: await carryOut({ action: act, ...which }) }
  } catch (error) {
    notify(toWireError(error).message, "wrong")
  } finally {
    isActing.value = false
  }
}

const consequences: Readonly<Record<Act, string>> = {
  retry_failed: "Each is run again as a new run, which takes over the results of the steps that had completed.",
  cancel:
    "Calls that are under way are aborted, and open questions are withdrawn. What they have done stays in the log.",
  delete: "Requests, events, questions and answers are deleted at once and for good.",
}

function Confirm({ act, which, state }: Asked) {
  const close = (): void => {
    asked.value = null
  }
  const count = state.matched - state.failed.length
  const what = counted(count, "run")
  const [first] = state.failed
  return (
    <Dialog title={count === 0 ? `Nothing to ${verbs[act].toLowerCase()}` : `${verbs[act]} ${what}?`} onClose={close}>
      <div class="dialog-body">
        {count === 0 ? null : <p>{consequences[act]}</p>}
        {first === undefined ? null : (
          <p class="note">
            {counted(state.failed.length, "more run")} {state.failed.length === 1 ? "matches" : "match"} and{" "}
            {state.failed.length === 1 ? "stays" : "stay"} as {state.failed.length === 1 ? "it is" : "they are"}:{" "}
            {first.message.toLowerCase()}.
          </p>
        )}
      </div>
      <footer>
        <button type="button" class="button outlined" onClick={close}>
          {count === 0 ? "Close" : "Leave as is"}
        </button>
        {count === 0 ? null : (
          <button
            type="button"
            class="button primary"
            onClick={() => {
              close()
              void startAction(act, which)
            }}
          >
            {verbs[act]} {what}
          </button>
        )}
      </footer>
    </Dialog>
  )
}

async function startAction(act: Act, which: Which): Promise<void> {
  isActing.value = true
  try {
    const { done: count, failed } = await carryOut({ action: act, ...which, dry_run: false })
    const text = `${counted(count, "run")} ${done[act]}`
    const refused = which.run_ids === undefined ? [] : failed
    if (refused.length === 0) {
      notify(`${text}.`)
      announce(`${text}.`)
    } else notify(`${text}, ${refused.length} not: ${refused[0]?.message ?? ""}`, "wrong")
  } catch (error) {
    notify(toWireError(error).message, "wrong")
  } finally {
    isActing.value = false
  }
  selected.value = new Set()
  await Promise.all([loadRuns(), loadStats()])
}
