import { isJsonObject } from "../../base/is-json-object.ts"
import { rewriteJson } from "../../base/rewrite-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { isFileValue } from "../../types/file-value.ts"
import { byContent } from "../../log/by-content.ts"
import type { AssistantMessage, Message } from "../../log/messages.ts"
import type {
  HostedUse,
  MadeMedia,
  ModelClient,
  ModelRequest,
  ModelTurn,
  ModelWatch,
  OutputContract,
  Retry,
} from "../../ports/model.ts"
import type { ModelCallRecord, TokenUsage, Usage, WireError } from "../../log/events.ts"
import { defaultRepairs } from "../../plan/inference-defaults.ts"
import { ownPrice, pricedUsage } from "../../log/usage.ts"
import { AnswerFailure } from "../../ports/run-failure.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import type { RecordedRun } from "./recorded-run.ts"
import { askFor } from "./recorded-run.ts"

/** A model whose turns are recorded, or played from a recording. The demo model is always asked. */
export function recordedModel(model: ModelClient, run: RecordedRun): ModelClient {
  return {
    async turn(request, watch) {
      if (request.backend.endpoint === "demo") return model.turn(request, watch)
      const noted = new NotedRepairs(request, watch)
      const outcome = await run.exchange<ModelTurn | AnswerFailure>(
        request.path,
        watch.redact(factsOf(request)),
        "provider_error",
        () => askFor(watch.signal, () => outcomeOf(model.turn(request, noted.watch))),
        {
          record: (made) => {
            const kept = made instanceof AnswerFailure ? recordedFailure(made, request) : recordedTurn(made, request)
            const { repairs, hosted, media, places } = noted
            const more = {
              ...(repairs.length > 0 && { retried: repairs }),
              ...(hosted.length > 0 && { hosted }),
              ...(media.length > 0 && { media }),
            }
            return watch.redact({ ...(places.size === 0 ? kept : marking(kept, places)), ...more })
          },
          holds: (recorded) => {
            const kept = recorded as object as RecordedTurn | RecordedFailure
            return kept.kind !== "failed" || kept.output_retries >= repairsOf(request)
          },
          revive: (recorded) => revived(recorded, request, watch),
          // What only the provider reads is not recorded, and the rest of this run's turns may need it.
          settle: (made, recorded) => {
            if (made instanceof AnswerFailure)
              return failureOf(recorded as object as RecordedFailure, request, made.calls)
            if (noted.media.length > 0) return made
            return made.kind === "output" ? { ...made, output: (recorded as object as typeof made).output } : made
          },
        },
      )
      if (outcome instanceof AnswerFailure) throw outcome
      return outcome
    },
  }
}

/** The turn, or how the model's answer failed it, which is recorded like a turn. Other failures pass, and are not. */
async function outcomeOf(turn: Promise<ModelTurn>): Promise<ModelTurn | AnswerFailure> {
  try {
    return await turn
  } catch (error) {
    if (error instanceof AnswerFailure) return error
    throw error
  }
}

/** An answer that was sent back, as the log has it. Attempts are counted from the turn's first. */
type Repair = Pick<Retry, "attempt" | "reason" | "requirements"> & { readonly added?: readonly Message[] }

/** Notes which answers are sent back. Other retries are the backend's doing: they differ from one asking to the next. */
class NotedRepairs {
  readonly repairs: JsonObject[] = []
  readonly hosted: JsonObject[] = []
  /** What the model made, in the order of the answer. */
  readonly media: JsonObject[] = []
  /** The place of each in that order, by the id of the file that was made of it. */
  readonly places = new Map<string, number>()
  readonly watch: ModelWatch

  constructor({ attempts_before, progress }: ModelRequest, watch: ModelWatch) {
    let before = progress?.repairs ?? 0
    this.watch = {
      ...watch,
      hosted: (uses) => {
        for (const use of uses) this.hosted.push({ ...use })
        watch.hosted?.(uses)
      },
      ...(watch.keep !== undefined && {
        keep: async (media: MadeMedia, at: number) => {
          const file = await watch.keep?.(media, at)
          if (file === undefined) throw new Error("Nothing keeps what the model makes")
          this.media[at] = { media_type: media.media_type, data: Buffer.from(media.bytes).toString("base64") }
          if (isFileValue(file)) this.places.set(file.file_id, at)
          return file
        },
      }),
      retried: (retry) => {
        const { attempt, reason, requirements, progress: reached } = retry
        if (reached.repairs > before) {
          const { added } = reached
          const repair: Repair = {
            attempt: attempt - attempts_before,
            reason,
            ...(requirements === undefined ? {} : { requirements }),
            ...(added === undefined ? {} : { added }),
          }
          this.repairs.push(repair as object as JsonObject)
        }
        before = reached.repairs
        return watch.retried(retry)
      },
    }
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
    input: plainMessages(byContent(request.input)),
    tools: request.tools.map((tool) => ({ ...tool })),
    ...(request.hosted_tools !== undefined && { hosted_tools: [...request.hosted_tools] }),
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
function recordedTurn(turn: ModelTurn, request: ModelRequest): JsonObject {
  const before = callCount(request.input)
  const ids = new Map<string, string>()
  const numbered = (id: string): string => {
    const known = ids.get(id) ?? `call_${before + ids.size + 1}`
    ids.set(id, known)
    return known
  }
  const message = { role: "assistant", parts: plainParts(turn.message, numbered) }
  const { kind, usage } = turn
  const base: JsonObject = { kind, message, calls: recordedCalls(turn, request), usage: tokensOf(usage) }
  switch (turn.kind) {
    case "output":
      return { ...base, output: turn.output }
    case "text":
      return { ...base, text: turn.text }
    case "tool_calls":
      return { ...base, tool_calls: turn.tool_calls.map((call) => ({ ...call, call_id: numbered(call.call_id) })) }
  }
}

/** A failure as it is kept. The path is that of the agent, which the question may not name. */
function recordedFailure(failed: AnswerFailure, request: ModelRequest): JsonObject {
  const { error, answer } = failed
  return {
    kind: "failed",
    path: request.path,
    output_retries: repairsOf(request),
    error: error as object as JsonObject,
    calls: recordedCalls(failed, request),
    ...(answer === undefined ? {} : { answer }),
  }
}

function repairsOf({ inference: { output_retries = defaultRepairs } }: ModelRequest): number {
  return output_retries
}

/** Without times and prices, which are those of the run that plays it, attempts counted from the turn's first. */
function recordedCalls(
  { calls }: { readonly calls: readonly ModelCallRecord[] },
  { attempts_before }: ModelRequest,
): JsonObject[] {
  return calls.map(({ attempt, format, usage }) => ({
    attempt: attempt - attempts_before,
    ...(format === undefined ? {} : { format }),
    ...(usage === undefined ? {} : { usage: tokensOf(usage) }),
  }))
}

function tokensOf(usage: Usage): JsonObject {
  const { cost: _, ...tokens } = usage
  return tokens
}

/** Nothing to go on from: a test's run is not resumed. */
const notBegun = { new_calls: [], retries: 0, repairs: 0, not_before: 0, closing: false, format: null }

interface Recorded {
  /** What the model made, in Base64. The output names it by its place: `{ media: 0 }`. */
  readonly media?: readonly { readonly media_type: string; readonly data: string }[]
  readonly calls: readonly { readonly attempt: number; readonly format?: string; readonly usage?: TokenUsage }[]
  readonly retried?: readonly Repair[]
  readonly hosted?: readonly HostedUse[]
}

type RecordedTurn = Recorded & Omit<ModelTurn, "calls" | "usage"> & { readonly usage: TokenUsage }

interface RecordedFailure extends Recorded {
  readonly kind: "failed"
  readonly path: string
  /** How often the answer could be sent back: more may help. */
  readonly output_retries: number
  readonly error: WireError
  readonly answer?: string
}

/** The turn or its failure, after the answers that were sent back are announced as they were when it was recorded. */
async function revived(
  recorded: JsonValue,
  request: ModelRequest,
  watch: ModelWatch,
): Promise<ModelTurn | AnswerFailure> {
  const { retried = [], hosted = [], media = [], ...kept } = recorded as object as RecordedTurn | RecordedFailure
  const { turn, attempts_before, price, name, model, provider } = request
  for (const { attempt, added, ...repair } of retried) {
    const progress = added === undefined ? notBegun : { ...notBegun, added }
    await watch.retried({ ...repair, attempt: attempts_before + attempt, delay_ms: 0, progress })
  }
  if (hosted.length > 0) watch.hosted?.(hosted)
  const started_at = new Date(watch.now()).toISOString()
  const own = { started_at, duration_ms: 0, model: name, id: model, provider, ...ownPrice(request) }
  const calls = kept.calls.map(({ usage, attempt, ...call }): ModelCallRecord => {
    const made = { turn, attempt: attempts_before + attempt, ...own, ...call }
    return usage === undefined ? made : { ...made, usage: pricedUsage(usage, price) }
  })
  if (kept.kind === "failed") return failureOf(kept, request, calls)
  const files: JsonObject[] = []
  for (const [at, { media_type, data }] of media.entries()) {
    const file = await watch.keep?.({ media_type, bytes: Buffer.from(data, "base64") }, at)
    if (file === undefined) throw new Error("Nothing keeps what the model makes")
    files.push(file)
  }
  const filled = files.length === 0 ? kept : (filling(kept as object as JsonObject, files) as object as typeof kept)
  return { ...filled, calls, usage: pricedUsage(kept.usage, price) } as object as ModelTurn
}

/** The recorded failure at the place that asks now: a summary is asked for in the same words by any agent. */
function failureOf(
  { path, error, answer }: RecordedFailure,
  request: ModelRequest,
  calls: readonly ModelCallRecord[],
): AnswerFailure {
  const here = (text: string): string => (text.startsWith(path) ? `${request.path}${text.slice(path.length)}` : text)
  const issues = error.issues.map(({ path: at, message, ...more }) => ({
    path: here(at),
    message: here(message),
    ...more,
  }))
  return new AnswerFailure({ kind: error.kind, message: here(error.message), issues }, calls, answer)
}

/** A turn with the places of what the model made, `{ media: 0 }`: the ids of files differ from one recording to the next. */
function marking(turn: JsonObject, places: ReadonlyMap<string, number>): JsonObject {
  return rewriteJson(turn, (value) => {
    if (typeof value === "string") {
      let text = value
      for (const [file_id, at] of places) text = text.replaceAll(file_id, mark(at))
      return text
    }
    const at = isFileValue(value) ? places.get(value.file_id) : undefined
    return at === undefined ? undefined : { media: at }
  }) as JsonObject
}

/** The turn with the files that were made of it again. */
function filling(turn: JsonObject, files: readonly JsonObject[]): JsonObject {
  return rewriteJson(turn, (value) => {
    if (typeof value === "string") {
      let text = value
      for (const [at, file] of files.entries()) {
        if (isFileValue(file)) text = text.replaceAll(mark(at), file.file_id)
      }
      return text
    }
    const at = isJsonObject(value) && Object.keys(value).length === 1 ? value["media"] : undefined
    return typeof at === "number" ? files[at] : undefined
  }) as JsonObject
}

/** What stands for the id of a file in the words of the model. */
function mark(at: number): string {
  return `file of media ${at}`
}
