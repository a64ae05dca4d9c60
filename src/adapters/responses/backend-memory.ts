import { hash } from "node:crypto"
import type { Clock } from "../../ports/clock.ts"
import { isLocalEndpoint } from "./is-local-endpoint.ts"
import type { Rung } from "./output-format.ts"
import { responsesUrl } from "./responses-url.ts"

/** What was learned about one model at one backend from its answers. Nothing of it is needed for a right result. */
export interface BackendQuirks {
  /** Names backend and model without telling them: marks what only they understand. */
  readonly origin: string
  /** Where its calls go. */
  readonly url: string
  /** On this machine or in this network. */
  readonly local: boolean
  /** Loosest rung that had to be taken, so far as it held. */
  rung: Rung | null
  /** Fields that it does not take: `seed`, or with a value that it does not take: `temperature=3`. */
  readonly dropped: Set<string>
  /** Structured output and tools cannot be asked for in one request. */
  apart: boolean
  /** Answers are not streamed while tools are offered: tool calls came as text then. */
  no_stream_with_tools: boolean
  no_stream: boolean
  /** Takes no `strict` in a tool. */
  no_tool_strict: boolean
  /** Reasons without showing it: only encrypted reasoning can be sent back. */
  hides_reasoning: boolean
  /** Refused to take its own reasoning back. */
  no_reasoning_back: boolean
}

interface Entry {
  readonly lessons: BackendQuirks
  expires: number
}

const most = 500
/** Backends are upgraded: after this long they get another chance. */
const lifetime = 60 * 60 * 1000

/** BackendQuirks by backend and model, of those used last. */
export class BackendMemory {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(endpoint: string, model: string): BackendQuirks {
    const key = `${endpoint}\n${model}`
    const now = this.#clock.now()
    const known = this.#entries.get(key)
    this.#entries.delete(key)
    const entry =
      known !== undefined && known.expires > now ? known : { lessons: blank(endpoint, key), expires: now + lifetime }
    this.#entries.set(key, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > most && oldest !== undefined) this.#entries.delete(oldest)
    return entry.lessons
  }
}

function blank(endpoint: string, key: string): BackendQuirks {
  return {
    origin: hash("sha256", key).slice(0, 16),
    url: responsesUrl(endpoint),
    local: isLocalEndpoint(endpoint),
    rung: null,
    dropped: new Set(),
    apart: false,
    no_stream_with_tools: false,
    no_stream: false,
    no_tool_strict: false,
    hides_reasoning: false,
    no_reasoning_back: false,
  }
}
