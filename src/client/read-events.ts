import { streamError, type ErrorAnswer } from "../api/error-kinds.ts"
import { partialEvent, type AgentPartial } from "../log/partials/agent-partials.ts"
import type { EventData, EventType } from "../log/events.ts"
import { EventReader } from "../base/event-reader.ts"
import type { JsonValue } from "../base/json-value.ts"
import { readError } from "./errors.ts"
import { longestAnswer, UnreadableAnswer } from "./read-json.ts"

/** An event of a run's stream; `data` has `at`, except in `workflow_started`. The last one of a run that completes has its output. */
export type StreamEvent<Output = JsonValue> = {
  [T in EventType]: {
    readonly id: number
    readonly type: T
    readonly data: DataOf<T, Output> & { readonly at?: string }
  }
}[EventType]

type DataOf<T extends EventType, Output> = T extends "workflow_completed"
  ? Omit<EventData[T], "output"> & { readonly output: { readonly result: Output } }
  : EventData[T]

export interface StreamPart {
  readonly partial?: AgentPartial
  readonly event?: StreamEvent
  /** The stream ends here, and not because the run has. */
  readonly failure?: ErrorAnswer["error"]
  /** How long the service asks to wait before a reconnect. */
  readonly retryMs?: number
}

/** The events of one connection. Ends with it, whether or not the run has. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamPart> {
  const parts: StreamPart[] = []
  const events = new EventReader(
    {
      onEvent({ id, event, data }) {
        if (event === streamError) {
          const failure = readError((JSON.parse(data) as Partial<ErrorAnswer> | null)?.error as JsonValue | undefined)
          if (failure !== undefined) parts.push({ failure })
          return
        }
        if (event === partialEvent) {
          parts.push({ partial: JSON.parse(data) as AgentPartial })
          return
        }
        const number = Number(id)
        if (event === undefined || !Number.isSafeInteger(number)) return
        parts.push({ event: { id: number, type: event, data: JSON.parse(data) } as StreamEvent })
      },
      onRetry(retryMs) {
        parts.push({ retryMs })
      },
      onTooLong() {
        throw new UnreadableAnswer("An event of the stream is too large")
      },
    },
    longestAnswer,
  )
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      events.feed(decoder.decode(value, { stream: true }))
      yield* parts.splice(0)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
