import { useEffect } from "preact/hooks"
import type { TriggerAnswer } from "../../src/client/client.ts"
import { cronWords } from "./cron-words.ts"
import { loadTriggers, serverTriggers, steerTrigger, triggersTrouble } from "./server-triggers.ts"
import { showMoment } from "../ui/show.ts"
import { StateMark } from "../ui/state-mark.tsx"
import type { StateName } from "../ui/state-words.ts"
import { goTo } from "./place.ts"
import { runMarks } from "./run-marks.ts"

const everyMs = 5_000

/** The schedules and webhooks of this server: when each is due, what happened last, and how to steer them. */
export function TriggersPage() {
  useEffect(() => {
    void loadTriggers()
    const timer = setInterval(() => {
      if (!document.hidden && triggersTrouble.value === null) void loadTriggers()
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const triggers = serverTriggers.value
  const trouble = triggersTrouble.value
  if (trouble !== null) {
    return (
      <p class="empty">
        {trouble}{" "}
        <button type="button" class="button outlined" onClick={() => void loadTriggers()}>
          Try again
        </button>
      </p>
    )
  }
  if (triggers === null) return null
  if (triggers.length === 0) {
    return (
      <p class="empty">
        No workflow of this server has a <code>schedule</code> or a <code>webhook</code>. Those of the files in{" "}
        <code>WIRE_WORKFLOWS</code> are listed here, with the time when each is due and what happened last.
      </p>
    )
  }
  return (
    <div class="pane scrolls" tabIndex={0} role="region" aria-label="Triggers of this server">
      <ul class="run-list trigger-list">
        {triggers.map((trigger) => (
          <TriggerRow key={`${trigger.workflow} ${trigger.name}`} trigger={trigger} />
        ))}
      </ul>
    </div>
  )
}

function TriggerRow({ trigger }: { readonly trigger: TriggerAnswer }) {
  const { workflow, name, paused } = trigger
  const isSchedule = trigger.kind === "schedule"
  const next = isSchedule && trigger.next_at !== null ? `next ${momentIn(trigger.next_at, trigger.timezone)}` : ""
  return (
    <li>
      <div class="run-about">
        <div class="run-head">
          <strong class="trigger-name">{name}</strong>
          <span class="note">
            {trigger.kind} of {workflow}
          </span>
        </div>
        <p class="run-preview trigger-due">
          {isSchedule ? <Due cron={trigger.cron} timezone={trigger.timezone} /> : `POST ${trigger.path}`}
        </p>
        <div class="run-foot">
          {paused ? <StateMark state="skipped" text="paused" /> : next === "" ? null : <span class="note">{next}</span>}
          <Last trigger={trigger} />
        </div>
      </div>
      <div class="trigger-acts">
        {isSchedule ? (
          <button
            type="button"
            class="button outlined"
            aria-label={`Start now: ${name} of ${workflow}`}
            onClick={() => void steerTrigger(trigger, "run")}
          >
            Start now
          </button>
        ) : null}
        <button
          type="button"
          class="button outlined"
          aria-label={`${paused ? "Resume" : "Pause"} ${name} of ${workflow}`}
          onClick={() => void steerTrigger(trigger, paused ? "resume" : "pause")}
        >
          {paused ? "Resume" : "Pause"}
        </button>
      </div>
    </li>
  )
}

/** `1 Jan, 09:00 Europe/Berlin`: on the clock by which the schedule goes. */
function momentIn(at: string, timeZone: string): string {
  const date = new Date(at)
  const day = date.toLocaleString("en-GB", { timeZone, day: "numeric", month: "short" })
  const time = date.toLocaleString("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" })
  return `${day}, ${time} ${timeZone}`
}

/** When a schedule is due: in words, with the expression that says so exactly. */
function Due({ cron, timezone }: { readonly cron: string; readonly timezone: string }) {
  const words = cronWords(cron)
  if (words === undefined) return `${cron} (${timezone})`
  return (
    <>
      {words} ({timezone}) · <code>{cron}</code>
    </>
  )
}

const outcomeMarks: Readonly<Record<"skipped" | "missed" | "refused", StateName>> = {
  skipped: "skipped",
  missed: "unreached",
  refused: "failed",
}

/** The last due time or delivery, with a way to its run. */
function Last({ trigger }: { readonly trigger: TriggerAnswer }) {
  const { last, name } = trigger
  if (last === null) return <span class="note">It has not started a run yet.</span>
  const { run_id, due_at, outcome, status, error } = last
  const due =
    due_at === null
      ? ""
      : `due ${trigger.kind === "schedule" ? momentIn(due_at, trigger.timezone) : showMoment(Date.parse(due_at))}`
  const [state, word] =
    outcome !== "started"
      ? ([outcomeMarks[outcome], outcome] as const)
      : status === null
        ? (["unknown", "run deleted"] as const)
        : runMarks[status]
  return (
    <>
      <StateMark state={state} text={`last: ${word}`} />
      <span class="note" title={error?.message}>
        {[due, error?.message ?? ""].filter((part) => part !== "").join(" · ")}
      </span>
      {run_id === null || status === null ? null : (
        <button
          type="button"
          class="button link"
          aria-label={`Open the last run of ${name}`}
          onClick={() => goTo("runs", new URLSearchParams({ run: run_id }))}
        >
          open
        </button>
      )}
    </>
  )
}
