import type { BatchedCall } from "../../ports/batch-seat.ts"
import { apiRequests } from "../../check/provider-kinds.ts"
import { defaultRetries } from "../../plan/inference-defaults.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { EgressLimits } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import type {
  ErrorIssue,
  ErrorKind,
  ModelCallRecord,
  Rejection,
  TokenUsage,
  Usage,
  WireError,
} from "../../log/events.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"

import { batchPrice } from "../../plan/price-of-model.ts"
import type { ModelRequest, ModelWatch, PacedCall } from "../../ports/model.ts"
import type { TurnProgress } from "../../log/turn-progress.ts"
import { AnswerFailure, RunFailure, wireError } from "../../ports/run-failure.ts"
import { defaultOutput } from "../../run/budget/budget.ts"
import { ownPrice, pricedUsage, usageOf } from "../../log/usage.ts"
import { expectedUses } from "./expected-uses.ts"
import type { Answer, Built } from "./model-api.ts"
import type { Refusal } from "./refused-field.ts"
import { refusedField } from "./refused-field.ts"
import { longestWait, retryDelay } from "./retry-delay.ts"
import { turnForRequest } from "./turn-for.ts"
import { UnusableAnswer, UpstreamFailure } from "./upstream-failure.ts"
import { modelAdaptations } from "../../base/limits.ts"

/** A request, and the name of its output format for the call's record. */
export interface NamedCall {
  readonly built: Built
  /** It sends a bound on its output tokens that the run's limits ask for. */
  readonly bounded: boolean
  readonly format: string
}

/** Makes the request; the number is the bound on output tokens that the run's limits ask for. */
export type BuildCall = (most: number | null) => NamedCall

export interface RetriedCallsParts {
  readonly request: ModelRequest
  readonly watch: ModelWatch
  readonly limits: EgressLimits
  readonly otherKind: string
  readonly clock: Clock
  readonly random: RandomSource
  /** How far the turn has come, but for its calls. */
  readonly standing: () => Pick<TurnProgress, "repairs" | "added" | "closing" | "format">
}

const defaultBaseDelayMs = 500

/** Makes the calls of one turn: numbers and records them, repeats those that fail in passing. */
export class RetriedCalls {
  readonly calls: ModelCallRecord[]
  readonly #parts: RetriedCallsParts
  #attempt: number
  /** Where the last call went. */
  #url = ""
  #retries: number
  /** Output tokens that the limits and budgets of the run left to the last call, where its answer was cut off there. */
  #cutAt: number | null = null
  #adaptations = 0
  /** Output tokens that the last call could give by the limits and budgets of the run. */
  #lastBound = Number.POSITIVE_INFINITY
  /** What the log knows already. */
  #reportedCalls: number
  #reportedAdded: TurnProgress["added"]

  constructor(parts: RetriedCallsParts) {
    const { attempts_before, progress } = parts.request
    this.#parts = parts
    this.calls = [...(progress?.calls ?? [])]
    this.#attempt = attempts_before
    this.#retries = progress?.retries ?? 0
    this.#reportedCalls = this.calls.length
    this.#reportedAdded = progress?.added ?? []
  }

  get usage(): Usage {
    return usageOf(this.calls)
  }

  /** The rest of a wait that was interrupted. */
  async waitOn(): Promise<void> {
    const { request, watch, clock } = this.#parts
    const restMs = Math.min((request.progress?.not_before ?? 0) - clock.now(), longestWait)
    if (restMs > 0) await clock.sleep(restMs, watch.signal)
  }

  /**
   * Calls until there is an answer. `build` makes the request anew for each attempt; `adapt` is given what the backend
   * refused, and says in words what will be done about it, or null when nothing can be.
   */
  async call(build: BuildCall, adapt: (refusal: Refusal, call: NamedCall) => string | null): Promise<Answer> {
    const { watch, request } = this.#parts
    const most = watch.reserve === undefined ? null : (request.inference.max_tokens ?? defaultOutput)
    const turn = turnForRequest(request, watch)
    if (turn !== null) await turn
    let call = build(most)
    while (true) {
      const { built } = call
      let failed: UpstreamFailure | EgressFailure
      try {
        const answer = await this.#made(call, most, build)
        this.#retries = 0
        this.#cutAt = null
        if (answer.hosted !== undefined) watch.hosted?.(answer.hosted)
        return answer
      } catch (error) {
        this.#parts.watch.signal.throwIfAborted()
        if (!(error instanceof UpstreamFailure) && !(error instanceof EgressFailure)) throw this.withCalls(error)
        failed = error
      }
      if (this.#isCutAnew(failed)) {
        // There is room for a longer answer by now, or the next reservation says what has run out.
        await this.again(`The answer was cut off after ${this.#cutAt} tokens: limits and budgets left no more`)
        continue
      }
      const refusal = failed instanceof UpstreamFailure ? refusedField(failed.error, built.sent) : null
      const adapted = refusal === null || this.#adaptations >= modelAdaptations ? null : adapt(refusal, call)
      const next = adapted === null ? call : build(most)
      // The same request would be refused again.
      if (adapted === null || isSame(next.built, built)) await this.#wait(failed)
      else {
        this.#adaptations++
        call = next
        await this.again(adapted)
      }
    }
  }

  /** Announces the next attempt, which is made at once. `requirements` are those that sent the output back. */
  async again(reason: string, requirements?: readonly Rejection[]): Promise<void> {
    await this.#announce(reason, 0, requirements)
    this.#parts.watch.signal.throwIfAborted()
  }

  fail(kind: ErrorKind, issues: readonly [ErrorIssue, ...ErrorIssue[]]): RunFailure {
    return new RunFailure(this.#error(kind, issues), this.calls)
  }

  /** `answer`: the last one, where it was rejected; secrets are replaced in it already. */
  failForAnswer(kind: ErrorKind, issues: readonly [ErrorIssue, ...ErrorIssue[]], answer?: string): AnswerFailure {
    return new AnswerFailure(this.#error(kind, issues), this.calls, answer)
  }

  #error(kind: ErrorKind, issues: readonly [ErrorIssue, ...ErrorIssue[]]): WireError {
    const { watch } = this.#parts
    const [first, ...others] = issues.map(({ message, hint, ...issue }) => ({
      ...issue,
      message: watch.redact(message),
      ...(hint === undefined ? {} : { hint: watch.redact(hint) }),
    }))
    return wireError(kind, [first ?? issues[0], ...others])
  }

  /** Whether the limits and budgets of the run, rather than the workflow, made the answer too short. */
  #isCutAnew(failed: UpstreamFailure | EgressFailure): boolean {
    const isCut = failed instanceof UnusableAnswer && failed.isCut && this.#lastBound < this.#most
    this.#cutAt = isCut ? this.#lastBound : null
    return isCut
  }

  get #most(): number {
    return this.#parts.request.inference.max_tokens ?? defaultOutput
  }

  /** An answer that was cut off is worth asking for again where it may become twice as long. */
  get #least(): { readonly least?: number } {
    return this.#cutAt === null ? {} : { least: Math.min(this.#most, 2 * this.#cutAt) }
  }

  /** Makes the call in a batch, where the step has a place in one and the batch takes it. */
  async #made(draft: NamedCall, most: number | null, build: BuildCall): Promise<Answer> {
    const { watch } = this.#parts
    const { batch } = watch
    if (batch === undefined) return this.#paced(draft, most, build)
    const made = await batch.call({
      attempt: this.#attempt + 1,
      input: () => draft.built.estimate(),
      output: this.#most,
      ...this.#least,
      body: (bound) => (bound === null || bound === most ? draft : build(bound)).built.body(),
    })
    if (made === null) return batch.directly(() => this.#paced(draft, most, build))
    this.#lastBound = made.max_tokens ?? Number.POSITIVE_INFINITY
    try {
      const answer = await this.#once(draft, null, made)
      made.settle(answer.usage, true)
      return answer
    } catch (error) {
      made.settle(error instanceof UpstreamFailure ? error.usage : null, watch.signal.aborted)
      throw error
    }
  }

  /** Makes the call when it is its turn, as rates and pauses of the backend have it. */
  async #paced(draft: NamedCall, most: number | null, build: BuildCall): Promise<Answer> {
    const { watch, request } = this.#parts
    if (watch.pace === undefined) return this.#reserved(draft, most, build, null)
    const { name, backend, inference } = request
    const tokens = (): number => draft.built.estimate() + (inference.max_tokens ?? defaultOutput)
    const pacing = watch.pace({ model: name, backend, tokens })
    const paced = pacing instanceof Promise ? await pacing : pacing
    try {
      const answer = await this.#reserved(draft, most, build, paced)
      paced.ended(answer.usage === null ? null : totalTokens(answer.usage), true)
      return answer
    } catch (error) {
      const usage = error instanceof UpstreamFailure ? error.usage : null
      if (error instanceof UpstreamFailure && isHeldBack(error)) paced.holdBack(error.error.retryAfterMs)
      paced.ended(usage === null ? null : totalTokens(usage), false)
      throw error
    }
  }

  /** Makes the call when the limits of the run have room for it. */
  #reserved(draft: NamedCall, most: number | null, build: BuildCall, paced: PacedCall | null): Promise<Answer> {
    const { reserve } = this.#parts.watch
    return reserve === undefined ? this.#once(draft, paced) : this.#withinLimits(reserve, draft, most, build, paced)
  }

  async #withinLimits(
    reserve: NonNullable<ModelWatch["reserve"]>,
    draft: NamedCall,
    most: number | null,
    build: BuildCall,
    paced: PacedCall | null,
  ): Promise<Answer> {
    const { turn, name, model, price, inference, cache, hosted_tools = [] } = this.#parts.request
    const reservation = await reserve({
      turn,
      attempt: this.#attempt + 1,
      model: name,
      id: model,
      price,
      cache: cache?.mode ?? null,
      ...(hosted_tools.length > 0 && { hosted: expectedUses(hosted_tools) }),
      input_tokens: draft.built.estimate(),
      max_tokens: inference.max_tokens ?? null,
      ...this.#least,
    })
    this.#lastBound = reservation.max_tokens ?? Number.POSITIVE_INFINITY
    try {
      const call = reservation.max_tokens === most ? draft : build(reservation.max_tokens)
      const answer = await this.#once(call, paced)
      reservation.settle(answer.usage, true)
      return answer
    } catch (error) {
      // Nobody knows what a call that is cut off costs.
      reservation.settle(error instanceof UpstreamFailure ? error.usage : null, this.#parts.watch.signal.aborted)
      throw error
    }
  }

  async #once({ built, format }: NamedCall, paced: PacedCall | null, made?: BatchedCall): Promise<Answer> {
    const { request, watch, limits, clock } = this.#parts
    const attempt = ++this.#attempt
    this.#url = built.url
    const started_at = isoTime(made?.submitted_at ?? watch.now())
    const price = made === undefined || request.price === null ? request.price : batchPrice(request.price)
    const started = clock.monotonic()
    const { step } = request
    const call_id = step === undefined ? undefined : `${step}.${request.turn}.${attempt}`
    const record = (usage: TokenUsage | null, held: string | null): void => {
      const call: ModelCallRecord = {
        ...(call_id !== undefined && { call_id }),
        turn: request.turn,
        attempt,
        started_at,
        duration_ms: made === undefined ? Math.round(clock.monotonic() - started) : watch.now() - made.submitted_at,
        model: request.name,
        id: request.model,
        provider: request.provider,
        ...ownPrice(request),
        ...(usage === null ? {} : { usage: pricedUsage(usage, price) }),
        ...(made !== undefined && { batch: made.batch }),
        ...(held === null ? {} : { format: held }),
        ...(held === null && watch.signal.aborted ? { cut_off: true } : {}),
      }
      this.calls.push(call)
      watch.ended?.(call)
    }
    try {
      const { sent } = watch
      const noted = sent === undefined || call_id === undefined ? {} : { sent: sent.bind(null, call_id) }
      const answer = await built.send({
        attempt,
        limits,
        watch,
        now: () => clock.now(),
        ...noted,
        ...(made !== undefined && { made: made.answer }),
        ...(paced !== null && { exhausted: (ms) => paced.holdBack(ms) }),
      })
      if (answer.response !== undefined) watch.responded?.(request.turn, attempt, answer.response)
      record(answer.usage, format)
      return answer
    } catch (error) {
      record(error instanceof UpstreamFailure ? error.usage : null, null)
      throw error
    }
  }

  /** Waits before the same is tried again, or gives up. */
  async #wait(failed: UpstreamFailure | EgressFailure): Promise<void> {
    const { request, watch, clock, random } = this.#parts
    const { max_retries = defaultRetries, retry_base_delay_ms = defaultBaseDelayMs } = request.inference
    const passing =
      failed instanceof UpstreamFailure
        ? failed.error.retryable
        : failed.reason === "connection" || failed.reason === "descriptors"
    if (!passing || this.#retries >= max_retries) throw this.#givenUp(failed)
    const retryAfterMs = failed instanceof UpstreamFailure ? failed.error.retryAfterMs : null
    const delay_ms = retryDelay(this.#retries, retry_base_delay_ms, retryAfterMs, random.fraction())
    this.#retries++
    await this.#announce(failed.message, delay_ms)
    if (delay_ms > 0) await clock.sleep(delay_ms, watch.signal)
    watch.signal.throwIfAborted()
  }

  async #announce(reason: string, delay_ms: number, requirements?: readonly Rejection[]): Promise<void> {
    const { watch, clock, standing } = this.#parts
    const { added, ...stands } = standing()
    const new_calls = this.calls.slice(this.#reportedCalls)
    const isNew = added !== this.#reportedAdded && added.length + this.#reportedAdded.length > 0
    this.#reportedCalls = this.calls.length
    this.#reportedAdded = added
    await watch.retried({
      attempt: this.#attempt + 1,
      reason: watch.redact(reason),
      delay_ms,
      progress: {
        new_calls,
        retries: this.#retries,
        not_before: clock.now() + delay_ms,
        ...stands,
        ...(isNew ? { added } : {}),
      },
      ...(requirements === undefined ? {} : { requirements }),
    })
  }

  #givenUp(failed: UpstreamFailure | EgressFailure): RunFailure {
    const { path } = this.#parts.request
    const tries = this.#retries > 0 ? ` (after ${this.#retries + 1} attempts)` : ""
    const message = `${failed.message}${tries}`
    if (failed instanceof UpstreamFailure) {
      const { status } = failed.error
      if (failed instanceof UnusableAnswer) {
        return this.failForAnswer("provider_error", [{ path, message: failed.message, upstream_status: 200 }])
      }
      if (status === 401 || status === 403) {
        return this.fail("provider_error", [{ path, upstream_status: status, ...this.#refused(message) }])
      }
      if (isElsewhere(failed)) {
        const said = `${message} at ${shownAddress(this.#url)}. ${missingVersion(this.#parts.request) ?? this.#parts.otherKind}`
        return this.fail("provider_error", [{ path, message: said, upstream_status: status ?? 404 }])
      }
      return this.fail("provider_error", [{ path, message, ...(status === null ? {} : { upstream_status: status }) }])
    }
    if (failed.isOverload) return this.fail("overloaded", [{ path, message }])
    return this.fail(failed.timeout ? "timeout" : "provider_error", [{ path, message }])
  }

  /** Which key was refused, and where: by names, because what the backend says may quote the key. */
  #refused(message: string): { readonly message: string; readonly hint: string } {
    const { request, watch } = this.#parts
    const { provider, secrets } = watch.login?.(request.name) ?? { provider: request.provider, secrets: [] }
    const { api_key, headers } = request.backend
    const host = URL.parse(this.#url)?.host ?? this.#url
    const names = secrets.map((name) => `secrets.${name}`).join(", ")
    const sendsKey = api_key !== null || Object.keys(headers).length > 0
    const key = names === "" ? "what its workflow sends as `api_key` or `headers`" : names
    return {
      message: `${message}: provider.${provider} at ${host} ${sendsKey ? `does not accept ${key}` : "requires a key, and the workflow sends none"}`,
      hint: sendsKey
        ? `Check that ${key} is a key for ${host} that has not expired, and that it may use the model ${request.model}.`
        : `Write \`api_key: secrets.name\` in provider.${provider}, and declare it: \`secrets { name: string }\`.`,
    }
  }

  /** An error of egress, with the place and the calls so far; a bug stays as it is. */
  withCalls(error: unknown): unknown {
    if (!(error instanceof RunFailure)) return error
    const { path } = this.#parts.request
    const [first, ...others] = error.error.issues.map((issue) => ({
      ...issue,
      path: issue.path === "" ? path : issue.path,
    }))
    return this.fail(error.error.kind, [first ?? { path, message: error.error.message }, ...others])
  }
}

/** The backend has too much to do, or the caller has had its share. */
function isHeldBack({ error: { status } }: UpstreamFailure): boolean {
  return status === 429 || status === 529
}

function totalTokens({ input_tokens, output_tokens }: TokenUsage): number {
  return input_tokens + output_tokens
}

function isSame(one: Built, other: Built): boolean {
  return one.url === other.url && one.body() === other.body()
}

/** Without a login or a query, which may hold a key. */
function shownAddress(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? url : `${parsed.origin}${parsed.pathname}`
}

/** An endpoint without a version may lack it. */
function missingVersion({ backend: { api, endpoint } }: ModelRequest): string | null {
  const url = URL.parse(endpoint)
  if (url === null || /\/v\d/.test(url.pathname)) return null
  const { version } = apiRequests[api]
  const path = url.pathname.endsWith("/") ? url.pathname.slice(0, -1) : url.pathname
  const lacks = path === "" ? "no path" : `no \`${version}\` in its path`
  return `The endpoint has ${lacks}: write \`endpoint: "${url.origin}${path}${version}"\` if the backend serves its API there`
}

/** The address has nothing of this API, rather than no such model. */
function isElsewhere({ error: { status, code, message } }: UpstreamFailure): boolean {
  return (status === 404 || status === 405) && !/model|deployment/i.test(`${code ?? ""} ${message}`)
}
