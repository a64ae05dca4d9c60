import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { runShownBytes } from "../../base/limits.ts"
import type { Shape } from "../../base/typed-schema.ts"
import type { partial } from "../event-schemas.ts"
import type { LogEvent } from "../events.ts"
import { PartialJson, scalarsOf, type Scalar } from "./partial-json.ts"

/** The name of the frames that `options.partials` adds. They have no id: they are computed from the deltas when they are sent. */
export const partialEvent = "agent_partial"

/** News of one field of an agent's output, while the agent writes it. */
export type AgentPartial = Shape<(typeof partial)["data"]>

interface About {
  readonly agent: string
  readonly iteration?: number
  readonly scope?: string
}

/** The answer that an agent is writing. */
interface Answer {
  readonly attempt: number
  /** The attempt that the deltas name. */
  readonly deltaAttempt: number
  readonly reader: PartialJson
  /** Values that were reported; null once they are more than the output's event shows. */
  sent: Map<string, Scalar> | null
  length: number
  /** The model has called tools since: its next text is another answer. */
  isOver: boolean
}

/** Follows the events of one run, and turns the pieces of its agents' answers into news of the fields of their outputs. */
export class AgentPartials {
  readonly #answers = new Map<string, Answer>()

  /** Returns the news that an event brings. Callers pass every event of the run, in order. */
  take(event: LogEvent): readonly AgentPartial[] {
    switch (event.type) {
      case "agent_delta":
        return this.#delta(aboutOf(event.data), event.data.attempt, event.data.text)
      case "agent_completed":
        return this.#completed(aboutOf(event.data), event.data.output)
      case "agent_failed":
        this.#answers.delete(keyOf(event.data))
        return []
      case "agent_retried":
      case "agent_fallback":
        this.#turnEnds(event.data)
        return []
      case "tool_call_started":
        if (event.data.agent !== undefined) this.#turnEnds({ ...event.data, agent: event.data.agent })
        return []
      case "run_resumed":
      case "run_continued":
        for (const answer of this.#answers.values()) answer.isOver = true
        return []
      default:
        return []
    }
  }

  #turnEnds(about: About): void {
    const answer = this.#answers.get(keyOf(about))
    if (answer !== undefined) answer.isOver = true
  }

  #delta(about: About, deltaAttempt: number, text: string): AgentPartial[] {
    const key = keyOf(about)
    let answer = this.#answers.get(key)
    if (answer === undefined || answer.isOver || answer.deltaAttempt !== deltaAttempt) {
      const attempt = Math.max(deltaAttempt, answer === undefined ? 1 : answer.attempt + 1)
      answer = { attempt, deltaAttempt, reader: new PartialJson(), sent: new Map(), length: 0, isOver: false }
      this.#answers.set(key, answer)
    }
    const { attempt, reader } = answer
    answer.length += text.length
    if (answer.length > runShownBytes) answer.sent = null
    const found = reader.push(text)
    for (const part of found) if (part.done) answer.sent?.set(part.path, part.value)
    return found.map((part) => ({ ...about, attempt, ...part }))
  }

  /** Values that were not reported as they are now: the text was not plain JSON, or did not come in pieces. */
  #completed(about: About, output: JsonValue): AgentPartial[] {
    const key = keyOf(about)
    const answer = this.#answers.get(key)
    this.#answers.delete(key)
    const isWhole = answer?.reader.state === "whole"
    if (isTruncated(output) || (isWhole && answer?.sent === null)) return []
    const parts: AgentPartial[] = []
    const attempt = answer?.attempt ?? 1
    for (const { path, value } of scalarsOf(output)) {
      if (isWhole && answer?.sent?.get(path) === value) continue
      parts.push({ ...about, attempt, path, value, done: true })
    }
    return parts
  }
}

function aboutOf({ agent, iteration, scope }: About): About {
  return { agent, ...(iteration === undefined ? {} : { iteration }), ...(scope === undefined ? {} : { scope }) }
}

function keyOf({ agent, iteration, scope }: About): string {
  return JSON.stringify([agent, iteration, scope])
}

/** The event shows the size of an output that is too large for it. */
function isTruncated(output: JsonValue): boolean {
  return isJsonObject(output) && output["truncated"] === true && typeof output["bytes"] === "number"
}
