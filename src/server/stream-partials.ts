import type { EventType, LogEvent } from "../log/events.ts"
import { AgentPartials, partialEvent } from "../log/partials/agent-partials.ts"

/** Frames of `agent_partial` are made of these alone. */
const sources: ReadonlySet<EventType> = new Set<EventType>(["agent_delta", "agent_completed"])

const pageSize = 200
/** `workflow_planned` is among them. */
const firstEvents = 5

/**
 * The frames that `options.partials` adds to one stream. They stand before the event that they come from: a client that reconnects with
 * the last id that it has seen drops what came after that id, and gets all of it again.
 */
export class StreamPartials {
  readonly #read: (after: number, limit: number) => Promise<readonly LogEvent[]>
  /** Null: not asked for. Undefined: not known yet. */
  #partials: AgentPartials | null | undefined

  /** `read`: events of the run's log. */
  constructor(read: (after: number, limit: number) => Promise<readonly LogEvent[]>) {
    this.#read = read
  }

  /** The text to send before an event, empty for most. */
  before(event: LogEvent): string | Promise<string> {
    if (event.type === "workflow_planned" && this.#partials === undefined) {
      this.#partials = event.data.partials === true ? new AgentPartials() : null
    }
    if (this.#partials === null) return ""
    if (this.#partials === undefined) return sources.has(event.type) ? this.#catchUp(event) : ""
    return this.#partials.take(event).map(frame).join("")
  }

  /** A stream that resumes: everything before the event is read again, because the answer may have begun before it. */
  async #catchUp(event: LogEvent): Promise<string> {
    const first = await this.#read(0, firstEvents)
    const isWanted = first.some(({ type, data }) => type === "workflow_planned" && "partials" in data)
    this.#partials = isWanted ? await this.#readUpTo(event.id) : null
    return this.before(event)
  }

  async #readUpTo(id: number): Promise<AgentPartials> {
    const partials = new AgentPartials()
    for (let after = 0; ;) {
      const page = await this.#read(after, pageSize)
      for (const past of page) {
        if (past.id >= id) return partials
        partials.take(past)
        after = past.id
      }
      if (page.length === 0) return partials
    }
  }
}

function frame(part: object): string {
  return `event: ${partialEvent}\ndata: ${JSON.stringify(part)}\n\n`
}
