import { canonicalJson } from "../../base/canonical-json.ts"
import { diffList } from "../../base/diff-list.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ErrorKind } from "../../log/events.ts"
import { failure } from "../../ports/run-failure.ts"
import type { Redactor } from "../../run/secrets/redact.ts"
import { keyOf, shownRequest, type Recording } from "./recording.ts"

/** An exchange that is not in the recording. */
export interface RecordingMiss {
  /** What asked: `agent.triage`. */
  readonly path: string
  readonly request: JsonObject
  /** The recorded request that is most like it. */
  readonly nearest: JsonObject | null
}

/** How an answer is kept. */
export interface Forms<T> {
  record(answer: T): JsonValue
  revive(recorded: JsonValue): T | Promise<T>
  /** The answer to go on with once it is recorded: values whose keys have an order have that of the recording. */
  settle(answer: T, recorded: JsonValue): T
  /** Whether a recorded answer still answers; it does where this is absent. One that does not is asked for anew. */
  holds?(recorded: JsonValue): boolean
}

/** Keys in order, as the file has them: a value that becomes text must be the same when it is played. */
function sorted(value: JsonValue): JsonValue {
  return JSON.parse(canonicalJson(value)) as JsonValue
}

/** Asks for a run: what it rejects with when the run has ended is no failure that others share. */
export async function askFor<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}

/** One run's place in a recording: its n-th asking of a thing gets the n-th answer. */
export class RecordedRun {
  readonly recording: Recording
  readonly misses: RecordingMiss[] = []
  readonly #sample: number
  readonly #redactor: Redactor
  readonly #counts = new Map<string, number>()

  constructor(recording: Recording, sample: number, redactor: Redactor) {
    this.recording = recording
    this.#sample = sample
    this.#redactor = redactor
  }

  /**
   * The answer to a request. `facts` decides which recorded answer it is; `ask` gets one that is missing.
   */
  async exchange<T>(
    path: string,
    facts: JsonObject,
    kind: ErrorKind,
    ask: () => Promise<T>,
    forms: Forms<T>,
  ): Promise<T> {
    const { recording } = this
    if (recording.mode === "live") return ask()
    const clean = this.#redactor.redact(facts)
    const key = keyOf(clean, this.#sample)
    const number = this.#counts.get(key) ?? 0
    this.#counts.set(key, number + 1)
    const found = recording.answer(key, number)
    if (found !== undefined && forms.holds?.(found) !== false) return forms.revive(found)
    const request = shownRequest(clean)
    const isAsked = facts["kind"] === "model" && recording.asksAt(path)
    if (recording.mode === "play" && !isAsked) throw this.#missed(path, request, kind)
    let own: { readonly answer: T } | null = null
    const recorded = await recording.add(key, number, request, async () => {
      own = { answer: await ask() }
      return sorted(this.#redactor.redact(forms.record(own.answer)))
    })
    // Another run may have asked the same at the same time. What this run goes on with is what the next one will be played.
    return own === null ? forms.revive(recorded) : forms.settle((own as { readonly answer: T }).answer, recorded)
  }

  #missed(path: string, request: JsonObject, kind: ErrorKind): Error {
    this.misses.push({ path, request, nearest: nearestRequest(request, this.recording.requests()) })
    return failure(kind, path, "What is asked here is not recorded")
  }
}

/** Requests that are compared at most. */
const maxCompared = 200

function nearestRequest(request: JsonObject, recorded: readonly JsonObject[]): JsonObject | null {
  const same = recorded.filter(({ kind }) => kind === request["kind"])
  const words = wordsOf(request)
  let nearest: JsonObject | null = null
  let best = -1
  for (const one of same.slice(0, maxCompared)) {
    const shared = diffList(words, wordsOf(one)).filter(({ change }) => change === "same").length
    if (shared > best) [nearest, best] = [one, shared]
  }
  return nearest
}

function wordsOf(request: JsonObject): string[] {
  return canonicalJson(request).split(/\b/, 2000)
}
