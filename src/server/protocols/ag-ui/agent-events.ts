import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { LogEvent, Question, WireError } from "../../../log/events.ts"

/**
 * A run's events as those of AG-UI. Each event becomes a text of frames. A step is open between its start and its end, and its name
 * carries iteration and scope, so that none is open twice.
 */
export class AgentEvents {
  readonly #threadId: string
  readonly #runId: string
  readonly #messageId: string
  readonly #open = new Set<string>()
  /** The steps whose outputs are in the state, under their names. */
  readonly #state = new Set<string>()
  readonly #calls = new Set<string>()
  #hasText = false

  constructor(threadId: string, runId: string, messageId: string) {
    this.#threadId = threadId
    this.#runId = runId
    this.#messageId = messageId
  }

  /** `before`: the events of the run that came before those of this stream. */
  begin(before: readonly LogEvent[]): string {
    const { threadId, runId } = this.#ids
    const outputs = before.flatMap((event): [string, JsonValue][] => {
      if (event.type === "agent_completed") return [[stepName(event.data), event.data.output]]
      return event.type === "step_reused" ? [[reusedName(event.data), event.data.output]] : []
    })
    for (const [name] of outputs) this.#state.add(name)
    return (
      frame("RUN_STARTED", { threadId, runId }) + frame("STATE_SNAPSHOT", { snapshot: Object.fromEntries(outputs) })
    )
  }

  /** Events that an event of the run adds besides the reply. */
  take(event: LogEvent): string {
    switch (event.type) {
      case "agent_started":
        return this.#start(stepName(event.data))
      case "agent_completed":
        return this.#finish(stepName(event.data), event.data.output)
      case "agent_failed":
        return this.#finish(stepName(event.data))
      case "step_reused":
        return this.#finish(reusedName(event.data), event.data.output)
      case "tool_call_started": {
        const { call_id, tool } = event.data
        this.#calls.add(call_id)
        return (
          frame("TOOL_CALL_START", { toolCallId: call_id, toolCallName: tool }) +
          frame("TOOL_CALL_ARGS", { toolCallId: call_id, delta: JSON.stringify(event.data.arguments) }) +
          frame("TOOL_CALL_END", { toolCallId: call_id })
        )
      }
      case "tool_call_completed":
        return this.#result(event.data.call_id, event.data.result)
      case "tool_call_failed":
        return this.#result(event.data.call_id, event.data.error.message)
      default:
        return ""
    }
  }

  text(delta: string): string {
    const messageId = this.#messageId
    const opening = this.#hasText ? "" : frame("TEXT_MESSAGE_START", { messageId, role: "assistant" })
    this.#hasText = true
    return opening + frame("TEXT_MESSAGE_CONTENT", { messageId, delta })
  }

  completed(result: JsonValue): string {
    return this.#close() + frame("RUN_FINISHED", { ...this.#ids, result, outcome: { type: "success" } })
  }

  /** A run that waits: one interrupt for each question that this caller may answer. */
  waiting(run_id: string, questions: readonly Question[], sentence: string): string {
    const said = questions.length === 0 ? this.text(sentence) : ""
    const interrupts = questions.map((question) => interruptOf(run_id, question))
    const outcome = questions.length === 0 ? { type: "success" } : { type: "interrupt", interrupts }
    return said + this.#close() + frame("RUN_FINISHED", { ...this.#ids, outcome })
  }

  failed({ kind, message }: Pick<WireError<string>, "kind" | "message">): string {
    return this.#close() + frame("RUN_ERROR", { message, code: kind })
  }

  get #ids(): { readonly threadId: string; readonly runId: string } {
    return { threadId: this.#threadId, runId: this.#runId }
  }

  #start(name: string): string {
    if (this.#open.has(name)) return ""
    this.#open.add(name)
    return frame("STEP_STARTED", { stepName: name })
  }

  #finish(name: string, output?: JsonValue): string {
    const opening = this.#start(name)
    this.#open.delete(name)
    return opening + frame("STEP_FINISHED", { stepName: name }) + (output === undefined ? "" : this.#set(name, output))
  }

  #set(name: string, value: JsonValue): string {
    const op = this.#state.has(name) ? "replace" : "add"
    this.#state.add(name)
    const path = `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
    return frame("STATE_DELTA", { delta: [{ op, path, value }] })
  }

  #result(call_id: string, value: JsonValue): string {
    // A call that began before the events of this stream.
    if (!this.#calls.has(call_id)) return ""
    const content = typeof value === "string" ? value : JSON.stringify(value)
    return frame("TOOL_CALL_RESULT", { messageId: `${call_id}-result`, toolCallId: call_id, content, role: "tool" })
  }

  /** Ends the message and all steps: nothing may be open at the end. */
  #close(): string {
    const steps = [...this.#open].map((stepName) => frame("STEP_FINISHED", { stepName }))
    this.#open.clear()
    const message = this.#hasText ? frame("TEXT_MESSAGE_END", { messageId: this.#messageId }) : ""
    this.#hasText = false
    return message + steps.join("")
  }
}

interface Place {
  readonly iteration?: number
  readonly scope?: string
}

function stepName(about: Place & { readonly agent: string }): string {
  const scope = about.scope === undefined ? "" : `${about.scope}/`
  return `${scope}agent.${about.agent}${placeOf(about)}`
}

function reusedName(about: Place & { readonly step: string }): string {
  return `${about.step}${placeOf(about)}`
}

function placeOf({ iteration }: Place): string {
  return iteration === undefined ? "" : `[${iteration}]`
}

function interruptOf(run_id: string, question: Question): JsonObject {
  const { id, kind, schema, expires_at, digest, tool, server, endpoint, arguments: args } = question
  const details = { tool, server, endpoint, arguments: args, digest }
  const known = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined)) as JsonObject
  return {
    id: `${run_id}/${id}`,
    reason: kind,
    message: question.question,
    responseSchema: schema,
    expiresAt: expires_at,
    metadata: { ...known, show: question.show },
  }
}

function frame(type: string, data: JsonObject): string {
  return `data: ${JSON.stringify({ type, ...data })}\n\n`
}
