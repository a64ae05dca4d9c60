import type { SourceFiles } from "../../src/source/source-files.ts"
import type { ExecuteOptions } from "../../src/api/execute.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { StreamEvent } from "../../src/client/client.ts"
import type { ApiError } from "../../src/api/error-kinds.ts"
import type { RunState } from "../../src/log/run-state.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import type { Known } from "./step-state.ts"
import type { Origin } from "../language/text-origin.ts"

/** One of the workflows that a service has, in one version. */
export interface RanAs {
  readonly workflow: string
  readonly version: string
}

/** What a run was asked to do, without its secrets. */
export interface RunRequest {
  /** The name of its file; absent in runs that an older page kept. */
  readonly name?: string
  readonly source: string
  readonly input: JsonObject
  readonly options: ExecuteOptions
  readonly origin: Origin
  /** The other files that the source uses. */
  readonly around?: SourceFiles
  /** The workflow of the server's folder that it is; absent for the author's own text. */
  readonly workflow?: string
  /** A message of a chat: its input is not that of the form. */
  readonly isChat?: true
  /** Which of the server's workflows it was of, as the service says of a run that was opened. */
  readonly ranAs?: RanAs
  /** The run that it takes results over from, the steps that run whatever changed, and results in place of those of steps. */
  readonly rerun?: { readonly run_id: string; readonly from: readonly string[]; readonly given?: JsonObject }
}

/** The request of a run that another person started: unknown, because the page has only its events. */
export const unknownRequest: RunRequest = { source: "", input: {}, options: {}, origin: "link" }

export type Connection = "open" | "reconnecting" | "lost"

/** A run as this page has seen it: its events, and what they add up to. */
export class RunView {
  run_id: string | undefined
  /** What the author called it, in the history. */
  label: string | undefined
  /** It was started elsewhere, and opened here by its id. */
  isOpened = false
  readonly request: RunRequest
  readonly events: StreamEvent[] = []
  readonly state: RunState = initialState()
  /** What each running step has written so far, where deltas were asked for; the one that began first comes first. */
  readonly texts = new Map<string, WrittenText>()
  /** How many of the events are pieces of text. */
  deltas = 0
  /** Wall clock when the page asked for it. */
  readonly asked_at: number
  connection: Connection = "open"
  /** Whether the service has ever answered for this run, to this page. */
  hasConnected = false
  /** Wall clock of the page when the connection was last open. */
  #heard_at = 0
  /** Which try to reconnect is under way. */
  attempt = 0
  /** The service answered that it is busy; it is asked again. */
  isBusy = false
  cancelling = false
  /** Ends the page's own connection to the run. */
  leaving = new AbortController()
  /** The service said no before the run began, or the page lost it. */
  refused: ApiError | null = null
  isUnanswered = false
  /** How far the service's clock is behind the page's; undefined until it is known. */
  skew: number | undefined
  /** The page has followed the run from its start, so that its first event came as it happened. */
  readonly #fromStart: boolean

  /** Where this is the run at an earlier moment: the run with all of its events. */
  whole: RunView | null = null
  moment: number | null = null

  constructor(request: RunRequest, asked_at?: number) {
    this.request = request
    this.asked_at = asked_at ?? Date.now()
    this.#fromStart = asked_at === undefined && request !== unknownRequest
  }

  get isOver(): boolean {
    return this.refused !== null || ["completed", "failed", "cancelled"].includes(this.state.status)
  }

  /** The page lost sight of a run that had not ended. A short interruption does not count. */
  get isCut(): boolean {
    if (this.state.finished_at !== null) return false
    if (this.refused !== null || this.connection === "lost") return true
    return this.connection === "reconnecting" && this.attempt > 2 && this.events.length > 0
  }

  /** The service knows no run of this id, or none of this caller. */
  get isMissing(): boolean {
    return this.refused?.kind === "not_found" && this.run_id !== undefined && this.events.length === 0
  }

  disconnect(connection: "reconnecting" | "lost"): void {
    if (this.connection === "open") this.#heard_at = Date.now()
    this.connection = connection
  }

  /** `isUnanswered`: it is unknown whether the service began it. */
  refuse(error: ApiError, isUnanswered = false): void {
    this.isUnanswered = isUnanswered
    if (this.connection === "open") this.#heard_at = Date.now()
    this.refused = error
  }

  /** The run as it was at a moment, on the service's clock. */
  upTo(moment: number): RunView {
    const then = new RunView(this.request, this.asked_at)
    then.run_id = this.run_id
    then.label = this.label
    then.isOpened = this.isOpened
    then.whole = this
    then.moment = moment
    for (const event of this.events) {
      if (event.data.at !== undefined && Date.parse(event.data.at) > moment) break
      then.take(event)
    }
    return then
  }

  get known(): Known {
    return { finished_at: this.state.finished_at, isCut: this.isCut }
  }

  /** Now, on the service's clock, as long as the page follows the run; then its end, or when the connection broke. */
  now(): number {
    const { started_at, finished_at } = this.state
    if (this.moment !== null) return this.moment
    const now = this.connection === "open" && this.refused === null ? Date.now() : this.#heard_at
    return finished_at ?? Math.max(started_at ?? 0, now - (this.skew ?? 0))
  }

  /** An event that is read again after a reload does not set the clock; it only shows that the clock is not behind it. */
  #compareClocks(at: number): void {
    const behind = Date.now() - at
    if (this.#fromStart) this.skew ??= behind
    if (behind < (this.skew ?? 0)) this.skew = behind
  }

  take(event: StreamEvent): void {
    if (event.id <= this.state.last_event_id) return
    this.events.push(event)
    reduce(this.state, event)
    if (event.data.at !== undefined) this.#compareClocks(Date.parse(event.data.at))
    switch (event.type) {
      case "agent_delta": {
        const { agent, iteration, attempt, text } = event.data
        const key = keyOfText(event.data)
        const before = this.texts.get(key)
        // A new attempt begins its text anew.
        const known = before?.attempt === attempt ? before.text : ""
        this.deltas++
        this.texts.set(key, { agent, iteration, attempt, text: known + text })
        return
      }
      case "agent_retried":
      case "agent_completed":
      case "agent_failed":
        this.texts.delete(keyOfText(event.data))
        return
      default:
        return
    }
  }
}

export interface WrittenText {
  readonly agent: string
  readonly iteration: number | undefined
  readonly attempt: number
  readonly text: string
}

export function textKey(agent: string, iteration: number | undefined): string {
  return iteration === undefined ? agent : `${agent}[${iteration}]`
}

/** Called files may have agents of the same name. */
function keyOfText(data: { readonly agent: string; readonly iteration?: number; readonly scope?: string }): string {
  const own = textKey(data.agent, data.iteration)
  return data.scope === undefined ? own : `${data.scope}/${own}`
}
