import { hash } from "node:crypto"
import type { ApiName } from "../../check/provider-kinds.ts"
import type { Clock } from "../../ports/clock.ts"
import type { FormatLevel } from "./output-format.ts"

/**
 * What one caller's calls have shown about one model at one backend. Nothing of it is needed for a right result, and nothing of
 * it names the backend: an endpoint may hold a secret, which must not outlive its run.
 */
export interface BackendQuirks {
  /** Names backend and model without telling them: marks what only they understand. The same for every caller. */
  readonly origin: string
  /** Names caller, backend and model without telling them. */
  readonly key: string
  /** On this machine or in this network. */
  readonly local: boolean
  /** Output formats that it does not take, so far as a looser one held. */
  readonly refused: Set<FormatLevel>
  /** Fields that it does not take: `seed`, or with a value that it does not take: `temperature=3`. */
  readonly dropped: Set<string>
  /** Structured output and tools cannot be asked for in one request. */
  apart: boolean
  /** Answers are not streamed while tools are offered: tool calls came as text then. */
  noStreamWithTools: boolean
  noStream: boolean
  /** Takes no `strict` in a tool. */
  noToolStrict: boolean
  /** Reasons without showing it: only encrypted reasoning can be sent back. */
  hidesReasoning: boolean
  /** An output was of the right type in the format that it was asked for. */
  honoursFormat: boolean
  /** Refused to take its own reasoning back. */
  noReasoningBack: boolean
}

interface Entry {
  readonly quirks: BackendQuirks
  expires: number
}

const most = 500
/** Fields and values that are remembered as refused, by backend, and how long each may be written. */
const maxDropped = 100
const longestDropped = 200
/** Backends are upgraded: after this long they get another chance. */
const lifetime = 60 * 60 * 1000

/** Quirks by caller, backend and model, of those used last: one caller's calls never change another's. */
export class BackendMemory {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  of(caller: string, api: ApiName, endpoint: string, model: string): BackendQuirks {
    const key = hash("sha256", JSON.stringify([caller, api, endpoint, model]))
    const now = this.#clock.monotonic()
    const known = this.#entries.get(key)
    this.#entries.delete(key)
    const entry =
      known !== undefined && known.expires > now
        ? known
        : { quirks: blank(endpoint, model, key), expires: now + lifetime }
    this.#entries.set(key, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > most && oldest !== undefined) this.#entries.delete(oldest)
    return entry.quirks
  }
}

/** Remembers a field that is not taken, within bounds: names and values come from workflows. */
export function addDropped(quirks: BackendQuirks, field: string): void {
  if (field.length <= longestDropped && quirks.dropped.size < maxDropped) quirks.dropped.add(field)
}

function blank(endpoint: string, model: string, key: string): BackendQuirks {
  return {
    // Logs hold it: it must stay the same from release to release.
    origin: hash("sha256", `${endpoint}\n${model}`).slice(0, 16),
    key,
    local: isLocalEndpoint(endpoint),
    refused: new Set(),
    dropped: new Set(),
    apart: false,
    noStreamWithTools: false,
    noStream: false,
    noToolStrict: false,
    hidesReasoning: false,
    honoursFormat: false,
    noReasoningBack: false,
  }
}

const localNames = /^(?:localhost|[^.]+|.+\.(?:localhost|local|lan|internal|intranet|home\.arpa|test))$/
const localAddresses =
  /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|0\.|\[(?:::1?\]|f[cd]|fe[89ab]))/

/**
 * Whether a backend is on this machine or in this network, by its name alone. These are usually
 * Ollama, LM Studio, llama.cpp or vLLM, and some of them silently drop tools when a schema is requested.
 */
function isLocalEndpoint(endpoint: string): boolean {
  const host = URL.parse(endpoint)?.hostname ?? ""
  return localAddresses.test(host) || (localNames.test(host) && !host.startsWith("["))
}
