import { jsonOf } from "../../base/bounded-json.ts"
import { visibleJson } from "../../base/visible-text.ts"
import { hash } from "node:crypto"
import { canonicalJson } from "../../base/canonical-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { RunFailure } from "../../ports/run-failure.ts"

/** One thing that was asked, and the answers in the order of the askings. */
export interface Exchange {
  /** Enough of the request to show how another one differs. */
  readonly request: JsonObject
  /** Null where an asking before one that was answered failed, and its failure is not recorded: no answer is null. */
  readonly answers: readonly JsonValue[]
}

/** What a recording file holds, by the hash of what was asked. */
export type Exchanges = Readonly<Record<string, Exchange>>

/** `play`: from the recording alone; `record`: what is missing is asked and added; `live`: all is asked, none kept. */
export type RecordingMode = "play" | "record" | "live"

/** Changes with what goes into a key: recordings of other versions are made anew. */
const recordingVersion = 1

/** A recording in use by the runs of one test file. */
export class Recording {
  readonly mode: RecordingMode
  /** Whether the model is asked at a place (`agent.reply`) for what is not recorded, though the rest is played. */
  readonly asksAt: (path: string) => boolean
  readonly #exchanges = new Map<string, { request: JsonObject; answers: (JsonValue | undefined)[] }>()
  /** How many answers of each key were used. */
  readonly #used = new Map<string, number>()
  /** Answers that are being asked for, by key and number: two runs that ask the same share one. */
  readonly #open = new Map<string, Promise<JsonValue>>()
  #changed = false

  constructor(mode: RecordingMode, exchanges: Exchanges = {}, asksAt: (path: string) => boolean = () => false) {
    this.mode = mode
    this.asksAt = asksAt
    for (const [key, { request, answers }] of Object.entries(exchanges)) {
      this.#exchanges.set(key, { request, answers: answers.map((answer) => answer ?? undefined) })
    }
  }

  /** Something was added. */
  get changed(): boolean {
    return this.#changed
  }

  requests(): JsonObject[] {
    return [...this.#exchanges.values()].map(({ request }) => request)
  }

  answer(key: string, number: number): JsonValue | undefined {
    const found = this.#exchanges.get(key)?.answers[number]
    if (found !== undefined) this.#used.set(key, Math.max(this.#used.get(key) ?? 0, number + 1))
    return found
  }

  /** Asks once for an answer that is missing, and adds it. What `ask` rejects with is not recorded. */
  async add(key: string, number: number, request: JsonObject, ask: () => Promise<JsonValue>): Promise<JsonValue> {
    const slot = `${key} ${number}`
    for (let open = this.#open.get(slot); open !== undefined; open = this.#open.get(slot)) {
      try {
        return await open
      } catch (error) {
        // Any other error is the other run's own, such as its end: this run asks itself.
        if (error instanceof RunFailure) throw error
      }
    }
    const asking = ask()
      .then((answer) => {
        const exchange = this.#exchanges.get(key) ?? { request, answers: [] }
        exchange.answers[number] = answer
        this.#exchanges.set(key, exchange)
        this.#changed = true
        this.answer(key, number)
        return answer
      })
      .finally(() => this.#open.delete(slot))
    this.#open.set(slot, asking)
    return asking
  }

  /** All exchanges that it has now. `used`: only those that were asked for since it was opened. */
  exchanges(which: "all" | "used"): Exchanges {
    const kept: Record<string, Exchange> = {}
    for (const [key, { request, answers }] of this.#exchanges) {
      const count = which === "all" ? answers.length : (this.#used.get(key) ?? 0)
      // `Array.from` also visits the slots that nothing was put into.
      if (count > 0) kept[key] = { request, answers: Array.from(answers.slice(0, count), (answer) => answer ?? null) }
    }
    return kept
  }
}

export function keyOf(request: JsonValue, sample: number): string {
  const facts = sample === 0 ? [recordingVersion, request] : [recordingVersion, request, sample]
  return hash("sha256", canonicalJson(facts), "hex").slice(0, 32)
}

const longText = 4000

/** The request as it is shown: a text too long to be read is cut, with its hash. */
export function shownRequest(request: JsonObject): JsonObject {
  return cut(request) as JsonObject
}

function cut(value: JsonValue): JsonValue {
  if (typeof value === "string") {
    if (value.length <= longText) return value
    return `${value.slice(0, 1000)}… (${value.length} characters, sha256 ${hash("sha256", value, "hex").slice(0, 16)})`
  }
  if (Array.isArray(value)) return value.map(cut)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item)]))
}

/** The text of a recording file: keys in order, nothing that differs from one recording to the next. */
export function writeRecording(exchanges: Exchanges): string {
  const sorted = JSON.parse(canonicalJson({ version: recordingVersion, exchanges })) as JsonObject
  return `${visibleJson(sorted, 2)}\n`
}

/** Null for a text that is no recording. One of another version is empty. */
export function readRecording(text: string): Exchanges | null {
  const value = jsonOf(text)
  if (!isJsonObject(value) || typeof value["version"] !== "number") return null
  if (value["version"] !== recordingVersion) return {}
  const { exchanges } = value
  if (!isJsonObject(exchanges ?? null)) return null
  const found: Record<string, Exchange> = {}
  for (const [key, entry] of Object.entries(exchanges as JsonObject)) {
    if (!isJsonObject(entry) || !isJsonObject(entry["request"] ?? null) || !Array.isArray(entry["answers"])) return null
    found[key] = { request: entry["request"] as JsonObject, answers: entry["answers"] }
  }
  return found
}
