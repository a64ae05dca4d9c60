import type { JsonValue } from "../base/json-value.ts"
import type { Shape } from "../base/typed-schema.ts"
import type { ErrorKind } from "../check/error-kinds.ts"
import type { limitKeys } from "../syntax/property-table.ts"
import type {
  answeredBy,
  askedQuestion,
  events,
  interruptedStep,
  issue,
  limits,
  message,
  messages,
  modelCall,
  question,
  startedWait,
  rejection,
  runError,
  shownLimits,
  tokenUsage,
  trigger,
  usage,
  waitingFor,
} from "./event-schemas.ts"

// The types of events and of their parts. `event-schemas.ts` states them; this file is all of it that a browser loads.

/** Tokens of one model call, or summed over several. */
export type TokenUsage = Shape<typeof tokenUsage>

export type Usage = Shape<typeof usage>

export type { ErrorKind }

/** The shape of every error, in a response's body and in `workflow_failed` alike. */
export type WireError<Kind extends string = ErrorKind> = Omit<Shape<typeof runError>, "kind"> & { readonly kind: Kind }

export type ErrorIssue = Shape<typeof issue>

/** A requirement that an output or an answer does not fulfil: its position among those of the step, and its text. */
export type Rejection = Shape<typeof rejection>

export type LimitKey = (typeof limitKeys)[number]

/** Limits as they are shown, with what has been used of each. */
export type ShownLimits = Shape<typeof shownLimits>
export type ShownRunLimits = Shape<typeof limits>

/** A value too large for the stream is replaced by its size. */
export type Shown = JsonValue

/** One call of a model backend. */
export type ModelCallRecord = Shape<typeof modelCall>

/** The model calls of a step that the end of the run interrupted. */
export type InterruptedStep = Shape<typeof interruptedStep>

/** A message that entered a conversation from elsewhere than the workflow's source, as events show it. */
export type ShownMessage = Shape<typeof message>

/** Messages over 256 KiB together are replaced by their size. */
export type ShownMessages = Shape<typeof messages>

/** A question to a person as it is asked: of an `ask` step, whether a tool may be called (`approval`), or of an MCP server (`elicitation`). */
export type AskedQuestion = Shape<typeof askedQuestion>

/** Who gave an answer: the caller's key name (null without keys), and the person's name as the caller gave it. */
export type AnsweredBy = Shape<typeof answeredBy>

/** A wait of a step as it begins, for a time or for an event. */
export type StartedWait = Shape<typeof startedWait>

/** A question with what has become of it. */
export type Question = Shape<typeof question>
export type QuestionStatus = Question["status"]

/** What a parked run waits for. */
export type WaitingFor = Shape<typeof waitingFor>

/** The schedule or webhook that started a run without a caller. */
export type RunTrigger = Shape<typeof trigger>

export type EventType = keyof typeof events

/** The data of each event, `at` left out: it is added when the event is logged. */
export type EventData = { [Type in EventType]: Shape<(typeof events)[Type]["data"]> }

/**
 * One entry of a run's log. `id` counts 1, 2, 3 … without gaps; `data` is what clients see, `at` included (except in
 * `workflow_started`), and `scope` where it is of a called workflow; `kept` is what only a continuation needs (histories, whole results) and never leaves the service.
 */
export type LogEvent = {
  [T in EventType]: {
    readonly id: number
    readonly type: T
    /** ISO time. */
    readonly at: string
    readonly data: EventData[T] & { readonly at?: string; readonly scope?: string }
    readonly kept?: JsonValue
    /** The cost of the recorded work where `data` shows it rounded. Never leaves the service. */
    readonly cost?: number
  }
}[EventType]

const terminalEvents: readonly string[] = [
  "workflow_completed",
  "workflow_failed",
  "workflow_cancelled",
] satisfies EventType[]

export function isTerminal(type: EventType): boolean {
  return terminalEvents.includes(type)
}
