import { canonicalJson } from "../../base/canonical-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { remembered } from "../../base/remembered.ts"
import type { LogEvent, WireError } from "../../log/events.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import { placeKey } from "../../log/replay-state.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { RunStore } from "../../ports/store.ts"
import type { ToolAnswer } from "../../ports/tools.ts"

/** How a question or a wait ended. `null`: in no known way, as where a file was called several times. */
export type RecordedOutcome = { readonly value: JsonValue } | "expired" | null

type CallEnd = { readonly answer: ToolAnswer } | { readonly error: WireError }

/** What the log of a completed run says of the world: results of calls, answers of people, and what ended waits. `file`: of a called workflow; null for the run's own. */
export class RecordedRun {
  /** By file, tool and arguments, in the order in which they ended. */
  readonly #calls = new Map<string, CallEnd[]>()
  readonly #taken = new Map<string, number>()
  /** By file and place. Null where several calls of the file have one. */
  readonly #outcomes = new Map<string, RecordedOutcome>()
  readonly #files = new Map<string, string>()
  readonly #begun = new Map<string, string>()
  readonly #asked = new Map<string, string>()

  static async read(store: RunStore, run_id: string): Promise<RecordedRun> {
    const recorded = new RecordedRun()
    for (let last = 0; ;) {
      const page = await store.read(run_id, last, 500, "kept")
      if (page.length === 0) return recorded
      for (const event of page) recorded.#take(event)
      last = page.at(-1)?.id ?? last
    }
  }

  /** The result of the call with this name and these arguments; undefined where the run made none. The last one repeats itself. */
  call(file: string | null, tool: string, values: JsonObject): ToolAnswer | undefined {
    const key = callKey(file, tool, values)
    const ends = this.#calls.get(key)
    if (ends === undefined) return undefined
    const at = this.#taken.get(key) ?? 0
    this.#taken.set(key, at + 1)
    const end = ends[Math.min(at, ends.length - 1)]
    if (end === undefined) return undefined
    if ("error" in end) throw new RunFailure(end.error)
    return end.answer
  }

  /** Of `ask.name` or `wait.name`; undefined where the run has none. */
  outcome(file: string | null, step: string, iteration: number | null): RecordedOutcome | undefined {
    return this.#outcomes.get(outcomeKey(file, placeKey(step, iteration)))
  }

  #take(event: LogEvent): void {
    const { scope } = event.data
    switch (event.type) {
      case "workflow_call_started": {
        const kept = event.kept as ReplayData<"workflow_call_started"> | undefined
        if (scope !== undefined && kept !== undefined) this.#files.set(scope, kept.file)
        return
      }
      case "tool_call_started": {
        const { tool, call_id, arguments: values } = event.data
        // Of large ones only the size is known.
        if (isJsonObject(values)) this.#begun.set(call_id, callKey(this.#fileOf(scope), tool, values))
        return
      }
      case "tool_call_completed": {
        const kept = event.kept as ReplayData<"tool_call_completed"> | undefined
        const { result = event.data.result, parts } = kept ?? {}
        const text = typeof result === "string" ? result : JSON.stringify(result)
        const structured = typeof result === "string" && parts !== undefined ? {} : { structured: result }
        this.#ended(event.data.call_id, {
          answer: { ...structured, text, ...(parts !== undefined && { parts }), is_error: false },
        })
        return
      }
      case "tool_call_failed": {
        const { told, refused } = (event.kept ?? {}) as Partial<ReplayData<"tool_call_failed">>
        const { call_id, error } = event.data
        // It was not made.
        if (refused === true) this.#begun.delete(call_id)
        else this.#ended(call_id, told === undefined ? { error } : { answer: { text: told, is_error: true } })
        return
      }
      case "question_asked": {
        const { kind, id, name, iteration } = event.data
        if (kind === "ask") this.#asked.set(id, outcomeKey(this.#fileOf(scope), placeKey(`ask.${name}`, iteration)))
        return
      }
      case "question_answered":
        this.#settled(event.data.id, { value: event.data.answer })
        return
      case "question_expired":
        this.#settled(event.data.id, "expired")
        return
      case "wait_started": {
        const { id, name, iteration } = event.data
        this.#asked.set(id, outcomeKey(this.#fileOf(scope), placeKey(`wait.${name}`, iteration)))
        return
      }
      case "wait_ended":
        this.#settled(event.data.id, event.data.output === undefined ? "expired" : { value: event.data.output })
        return
      default:
    }
  }

  #fileOf(scope: string | undefined): string | null {
    return scope === undefined ? null : (this.#files.get(scope) ?? scope)
  }

  #ended(call_id: string, end: CallEnd): void {
    const key = this.#begun.get(call_id)
    if (key !== undefined) remembered(this.#calls, key, () => []).push(end)
  }

  #settled(id: string, outcome: RecordedOutcome): void {
    const key = this.#asked.get(id)
    if (key !== undefined) this.#outcomes.set(key, this.#outcomes.has(key) ? null : outcome)
  }
}

/** An argument that is null may be left out. */
function callKey(file: string | null, tool: string, values: JsonObject): string {
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
  return canonicalJson([file, tool, given])
}

function outcomeKey(file: string | null, place: string): string {
  return JSON.stringify([file, place])
}
