import type { ListedRunAnswer } from "../api/runs.ts"
import { cutText } from "../base/cut-text.ts"
import type { JsonValue } from "../base/json-value.ts"
import { isTerminal } from "../log/events.ts"
import type { ListedRun } from "../ports/run-list.ts"
import { Damaged, NoSuchRun, type RunStore } from "../ports/store.ts"

type Preview = NonNullable<ListedRunAnswer["preview"]>

const maxBytes = 200
const maxSteps = 4
/** The latest moment that a date can be. */
const latestTime = 8_640_000_000_000_000

/** The input and the result of a run, each in one line. */
export async function previewOf(
  store: RunStore,
  { run_id, finished_at }: ListedRun,
  retentionMs: number,
): Promise<Preview> {
  const expires_at =
    finished_at === null ? null : new Date(Math.min(finished_at + retentionMs, latestTime)).toISOString()
  try {
    const { source, input, rerun, chat, trigger } = await store.request(run_id)
    const triggered = trigger === undefined ? undefined : "webhook" in trigger ? "webhook" : "schedule"
    return {
      steps: [...source.matchAll(/^[ \t]*(?:agent|ask)[ \t]+([A-Za-z_]\w*)/gm)]
        .slice(0, maxSteps)
        .map(([, name = ""]) => name),
      input: oneLine(input),
      result: await resultOf(store, run_id),
      started_by: rerun !== undefined ? "rerun" : (triggered ?? chat?.api ?? "request"),
      expires_at,
    }
  } catch (error) {
    // Deleted a moment ago, or damaged: the list goes on without it.
    if (!(error instanceof NoSuchRun) && !(error instanceof Damaged)) throw error
    return { steps: [], input: "", result: null, started_by: "request", expires_at }
  }
}

async function resultOf(store: RunStore, run_id: string): Promise<string | null> {
  const found = await store.lookup(run_id)
  if (found.found !== "run" || found.run.finished_at === null) return null
  const [end] = await store.read(run_id, found.run.last_event_id - 1, 1)
  if (end === undefined || !isTerminal(end.type)) return null
  if (end.type === "workflow_failed") return cutText(end.data.error.message, maxBytes)
  return end.type === "workflow_completed" ? oneLine(end.data.output.result) : null
}

/** `name: Ada, count: 3` */
function oneLine(value: JsonValue): string {
  const text =
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value)
          .slice(0, 20)
          .map(([key, one]) => `${key}: ${leaf(one)}`)
          .join(", ")
      : leaf(value)
  return cutText(text.replace(/\s+/g, " "), maxBytes)
}

function leaf(value: JsonValue): string {
  return typeof value === "string" ? value.slice(0, maxBytes) : JSON.stringify(value).slice(0, maxBytes)
}
