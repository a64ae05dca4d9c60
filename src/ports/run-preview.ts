import { cutText } from "../base/cut-text.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { LogEvent } from "../log/events.ts"
import { originOf, type EndPreview, type RequestPreview } from "./run-list.ts"
import type { RunRequest } from "./store.ts"

// What the list of runs shows of a run besides its columns. A store keeps it sealed beside the run, so that a list opens two short texts for
// each run, and neither its request nor its log.

const maxLength = 200
const maxSteps = 4

export function previewOfRequest({ source, input, rerun, chat, trigger }: RunRequest): RequestPreview {
  const steps: string[] = []
  for (const [, name = ""] of source.matchAll(/^[ \t]*(?:agent|ask)[ \t]+([A-Za-z_]\w*)/gm)) {
    steps.push(name)
    if (steps.length === maxSteps) break
  }
  const origin = originOf({ trigger, rerun })
  return { steps, input: oneLine(input), started_by: origin === "request" ? (chat?.api ?? origin) : origin }
}

/** Of a terminal event. */
export function previewOfEnd(end: LogEvent): EndPreview {
  if (end.type === "workflow_completed") return { output: oneLine(end.data.output.result), error: null }
  if (end.type !== "workflow_failed") return { output: null, error: null }
  const { kind, message, issues } = end.data.error
  const path = issues[0]?.path ?? null
  return { output: null, error: { kind, path, message: cutText(message, maxLength) } }
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
  return cutText(text.replace(/\s+/g, " "), maxLength)
}

function leaf(value: JsonValue): string {
  return typeof value === "string" ? value.slice(0, maxLength) : JSON.stringify(value).slice(0, maxLength)
}
