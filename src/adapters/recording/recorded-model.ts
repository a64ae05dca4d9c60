import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantMessage, Message } from "../../log/messages.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch, OutputContract } from "../../ports/model.ts"
import type { ModelCallRecord, TokenUsage, Usage } from "../../log/events.ts"
import { pricedUsage } from "../../log/usage.ts"
import { rejectionReason } from "../../ports/model.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { RecordedRun } from "./recorded-run.ts"

/** A model whose turns are recorded, or played from a recording. The demo model is always asked. */
export function recordedModel(model: ModelClient, run: RecordedRun): ModelClient {
  return {
    turn(request, watch) {
      if (request.backend.endpoint === "demo") return model.turn(request, watch)
      const before = callCount(request.input)
      return run.exchange(
        request.path,
        watch.redact(factsOf(request)),
        "provider_error",
        () => model.turn(request, watch),
        {
          record: (turn) => watch.redact(recordedTurn(turn, before)),
          revive: (recorded) => revivedTurn(recorded, request, watch),
          // What only the provider reads is not recorded, and the rest of this run's turns may need it.
          settle: (turn, recorded) =>
            turn.kind === "output" ? { ...turn, output: (recorded as object as typeof turn).output } : turn,
        },
      )
    },
  }
}

/** The question, without its address, its credentials and how often it is tried. */
function factsOf(request: ModelRequest): JsonObject {
  const {
    timeout_seconds: _t,
    max_retries: _m,
    retry_base_delay_ms: _d,
    output_retries: _o,
    ...inference
  } = request.inference
  const { contract } = request
  return {
    kind: "model",
    api: request.backend.api,
    model: request.model,
    system: request.system,
    input: plainMessages(request.input),
    tools: request.tools.map((tool) => ({ ...tool })),
    output: contract === null ? null : outputFacts(contract),
    response_format: request.response_format,
    inference: inference as JsonObject,
  }
}

function outputFacts({ name, type, types, requirements }: OutputContract): JsonObject {
  const facts = { name, schema: toJsonSchema(type, types) }
  return requirements === undefined ? facts : { ...facts, requirements: requirements.facts }
}

/** Messages without what only one provider reads, tool calls numbered: ids differ from one asking to the next. */
function plainMessages(messages: readonly Message[]): JsonValue[] {
  const numbers = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = numbers.get(id) ?? `call_${numbers.size + 1}`
    numbers.set(id, known)
    return known
  }
  return messages.map((message): JsonValue => {
    switch (message.role) {
      case "user":
        return { role: "user", parts: message.parts.map((part) => ({ ...part })) }
      case "tool":
        return { ...message, call_id: numbered(message.call_id) }
      case "assistant":
        return { role: "assistant", parts: plainParts(message, numbered) }
    }
  })
}

function plainParts({ parts }: AssistantMessage, numbered: (id: string) => string): JsonObject[] {
  return parts.flatMap((part): JsonObject[] => {
    switch (part.type) {
      case "text":
        return [{ type: "text", text: part.text }]
      case "tool_call":
        return [{ type: "tool_call", call_id: numbered(part.call_id), name: part.name, arguments: part.arguments }]
      case "provider":
        return []
    }
  })
}

function callCount(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => {
    if (message.role !== "assistant") return sum
    return sum + message.parts.filter(({ type }) => type === "tool_call").length
  }, 0)
}

/** The turn as it is kept: without times, ids of calls counted on from those before. */
function recordedTurn(turn: ModelTurn, before: number): JsonObject {
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `call_${before + ids.size + 1}`
    ids.set(id, known)
    return known
  }
  const message = { role: "assistant", parts: plainParts(turn.message, numbered) }
  const calls = turn.calls.map(recordedCall)
  const { kind, usage, rejected } = turn
  const base: JsonObject = {
    kind,
    message,
    calls,
    usage: tokensOf(usage),
    ...(rejected === undefined ? {} : { rejected: rejected as object as JsonValue }),
  }
  switch (turn.kind) {
    case "output":
      return { ...base, output: turn.output }
    case "text":
      return { ...base, text: turn.text }
    case "tool_calls":
      return { ...base, tool_calls: turn.tool_calls.map((call) => ({ ...call, call_id: numbered(call.call_id) })) }
  }
}

/** Without times and prices, which are those of the run that plays it. */
function recordedCall({ attempt, format, usage }: ModelCallRecord): JsonObject {
  return {
    attempt,
    ...(format === undefined ? {} : { format }),
    ...(usage === undefined ? {} : { usage: tokensOf(usage) }),
  }
}

function tokensOf({ input_tokens, output_tokens, cached_tokens, reasoning_tokens }: Usage): JsonObject {
  return { input_tokens, output_tokens, cached_tokens, reasoning_tokens }
}

/** Nothing to go on from: a test's run is not resumed. */
const notBegun = { new_calls: [], retries: 0, repairs: 0, not_before: 0, closing: false, format: null }

type RecordedTurn = Omit<ModelTurn, "calls" | "usage"> & {
  readonly calls: readonly { readonly attempt: number; readonly format?: string; readonly usage?: TokenUsage }[]
  readonly usage: TokenUsage
}

/** The turn, after the outputs that requirements sent back are announced as they were when it was recorded. */
async function revivedTurn(
  recorded: JsonValue,
  { turn, price, name }: ModelRequest,
  watch: ModelWatch,
): Promise<ModelTurn> {
  const kept = recorded as object as RecordedTurn
  for (const [index, requirements] of (kept.rejected ?? []).entries()) {
    const reason = rejectionReason(requirements)
    await watch.retried({ attempt: index + 2, reason, delay_ms: 0, requirements, progress: notBegun })
  }
  const started_at = new Date(watch.now()).toISOString()
  const calls = kept.calls.map(({ usage, ...call }): ModelCallRecord => {
    const made = { ...call, turn, model: name, started_at, duration_ms: 0 }
    return usage === undefined ? made : { ...made, usage: pricedUsage(usage, price) }
  })
  return { ...kept, calls, usage: pricedUsage(kept.usage, price) } as object as ModelTurn
}
