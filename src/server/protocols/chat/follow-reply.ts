import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonValue } from "../../../base/json-value.ts"
import type { LogEvent, Usage, WaitingFor, WireError } from "../../../log/events.ts"
import { readWaitingFor } from "../../../log/waiting-for.ts"
import { AgentPartials } from "../../../log/partials/agent-partials.ts"
import type { ReplySource } from "./reply-source.ts"

/** How a turn ends. */
export type TurnEnd =
  | { readonly kind: "completed"; readonly reply: string; readonly usage: Usage }
  | { readonly kind: "waiting"; readonly waitingFor: WaitingFor }
  | { readonly kind: "failed"; readonly error: WireError; readonly usage: Usage | null }
  | { readonly kind: "cancelled"; readonly usage: Usage | null }

export type ReplyNews =
  | { readonly kind: "text"; readonly text: string }
  | TurnEnd
  /** The text that was shown does not count any more. */
  | { readonly kind: "rejected" }

/** The end of a turn that an event is; null for an event in the middle of one. */
export function turnEnd(event: LogEvent, reply: string): TurnEnd | null {
  switch (event.type) {
    case "workflow_completed":
      return { kind: "completed", reply: replyIn(event.data.output.result, reply), usage: event.data.usage }
    case "workflow_failed":
      return { kind: "failed", error: event.data.error, usage: event.data.usage ?? null }
    case "workflow_cancelled":
      return { kind: "cancelled", usage: event.data.usage ?? null }
    case "run_waiting":
      return { kind: "waiting", waitingFor: readWaitingFor(event.data) }
    default:
      return null
  }
}

function replyIn(result: JsonValue, reply: string): string {
  const text = isJsonObject(result) ? result[reply] : undefined
  if (typeof text !== "string") throw new Error("The output of a chat has no reply")
  return text
}

/** Reads the reply while it is written. Every event of the run has to be given, in order. */
export class ReplyReader {
  readonly #partials = new AgentPartials()
  readonly #source: ReplySource | null
  #shown = ""
  #attempt = 0

  constructor(source: ReplySource | null) {
    this.#source = source
  }

  /** Text that is new in the reply; null where the text shown so far is not the reply. */
  take(event: LogEvent): string | null {
    const source = this.#source
    if (source === null) return ""
    // The answer is asked for again, because it was rejected or broke off.
    const isAgain = event.type === "agent_retried" || event.type === "agent_fallback"
    if (isAgain && event.data.agent === source.agent && this.#shown !== "") return null
    let gained = ""
    for (const part of this.#partials.take(event)) {
      if (part.agent !== source.agent || part.path !== source.path || "scope" in part) continue
      if (part.attempt !== this.#attempt && this.#shown + gained !== "") return null
      this.#attempt = part.attempt
      if (!part.done) gained += part.delta
      else {
        const rest = restOf(part.value, this.#shown + gained)
        if (rest === null) return null
        gained += rest
      }
    }
    this.#shown += gained
    return gained
  }

  /** The rest of the whole reply; null where it begins differently. */
  rest(reply: string): string | null {
    return restOf(reply, this.#shown)
  }
}

function restOf(value: unknown, shown: string): string | null {
  return typeof value === "string" && value.startsWith(shown) ? value.slice(shown.length) : null
}

/** The reply of a run as it comes, and how the turn ends. Ends early where the events do. */
export async function* followReply(
  events: AsyncIterable<LogEvent>,
  source: ReplySource | null,
  replyField: string,
): AsyncGenerator<ReplyNews> {
  const reader = new ReplyReader(source)
  for await (const event of events) {
    const text = reader.take(event)
    if (text === null) {
      yield { kind: "rejected" }
      return
    }
    if (text !== "") yield { kind: "text", text }
    const end = turnEnd(event, replyField)
    if (end === null) continue
    const rest = end.kind === "completed" ? reader.rest(end.reply) : ""
    if (rest === null) yield { kind: "rejected" }
    else {
      if (rest !== "") yield { kind: "text", text: rest }
      yield end
    }
    return
  }
}
