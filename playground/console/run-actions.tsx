import { signal } from "@preact/signals"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { announce, notify } from "../page/notices.ts"
import { client, toWireError } from "../service/service.ts"
import { Dialog } from "../ui/dialog.tsx"
import { counted } from "../ui/show.ts"
import { loadRuns, runList, selected } from "./run-list.ts"

type Act = "cancel" | "delete"

interface Asked {
  readonly act: Act
  readonly runs: readonly ListedRunAnswer[]
}

const asked = signal<Asked | null>(null)
const isActing = signal(false)

const isOver = ({ finished_at }: ListedRunAnswer): boolean => finished_at !== null
const verbs: Readonly<Record<Act, string>> = { cancel: "Cancel", delete: "Delete" }
const done: Readonly<Record<Act, string>> = { cancel: "cancelled", delete: "deleted" }

/** What can be done with the selected runs. */
export function RunActions() {
  const chosen = (runList.value?.runs ?? []).filter(({ run_id }) => selected.value.has(run_id))
  return (
    <>
      {chosen.length === 0 ? null : (
        <div class="console-actions" role="group" aria-label="Selected runs">
          <span class="note">{counted(chosen.length, "run")} selected</span>
          {(["cancel", "delete"] as const).map((act) => {
            const runs = chosen.filter((run) => isOver(run) === (act === "delete"))
            return runs.length === 0 ? null : (
              <button
                key={act}
                type="button"
                class="button outlined"
                disabled={isActing.value}
                onClick={() => (asked.value = { act, runs })}
              >
                {verbs[act]}{" "}
                {counted(
                  runs.length,
                  act === "cancel" ? "run under way" : "ended run",
                  act === "cancel" ? "runs under way" : "ended runs",
                )}
              </button>
            )
          })}
          <button type="button" class="button" onClick={() => (selected.value = new Set())}>
            Select none
          </button>
        </div>
      )}
      {asked.value === null ? null : <Confirm {...asked.value} />}
    </>
  )
}

function Confirm({ act, runs }: Asked) {
  const close = (): void => {
    asked.value = null
  }
  const what = counted(runs.length, "run")
  return (
    <Dialog title={`${verbs[act]} ${what}?`} onClose={close}>
      <div class="dialog-body">
        <p>
          {act === "cancel"
            ? `Calls that are under way are aborted, and open questions are withdrawn. What ${what === "1 run" ? "it has" : "they have"} done stays in the log.`
            : "Their requests, events, questions and answers are deleted at once and for good."}
        </p>
      </div>
      <footer>
        <button type="button" class="button outlined" onClick={close}>
          Keep {runs.length === 1 ? "it" : "them"}
        </button>
        <button
          type="button"
          class="button primary"
          onClick={() => {
            close()
            void carryOut(act, runs)
          }}
        >
          {verbs[act]} {what}
        </button>
      </footer>
    </Dialog>
  )
}

async function carryOut(act: Act, runs: readonly ListedRunAnswer[]): Promise<void> {
  isActing.value = true
  const service = client()
  const failed: string[] = []
  let count = 0
  for (const { run_id } of runs) {
    try {
      if (act === "cancel") await service.cancel(run_id)
      else await service.delete(run_id)
      count++
    } catch (error) {
      failed.push(toWireError(error).message)
    }
  }
  isActing.value = false
  selected.value = new Set()
  const text = `${counted(count, "run")} ${done[act]}`
  if (failed.length === 0) {
    notify(`${text}.`)
    announce(`${text}.`)
  } else notify(`${text}, ${failed.length} not: ${failed[0] ?? ""}`, "wrong")
  await loadRuns()
}
