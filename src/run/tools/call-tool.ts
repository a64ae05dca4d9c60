import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { cutText } from "../../base/cut-text.ts"
import { memoryOf } from "../../base/memory-of.ts"
import { isLarge, loopTurns } from "../../event-loop/loop-turns.ts"
import { projectValue } from "../../types/project-value.ts"
import type { ToolPlan } from "../../plan/plan-shape.ts"
import { countedCall } from "./counted-call.ts"
import type { ModelCallRecord, WireError } from "../../log/events.ts"
import { endsRun } from "../context/failure.ts"
import type { ReplayData } from "../../log/replay-data.ts"
import { shown } from "../log/log.ts"
import { parseJson } from "../values/parse-json.ts"
import type { AskReply, HostedTool, HostSession, HttpAnswer, ToolAnswer } from "../../ports/tools.ts"
import { RunFailure, failure, wireError } from "../../ports/run-failure.ts"
import { placeKey, type AskedByServer, type CallOutcome, type CallReplayState } from "../../log/replay-state.ts"
import type { Place } from "../shares/permits.ts"
import { CallApproval, type Approval, type NotSent } from "../asking/approval.ts"
import { approvalDigest } from "../questions/approval-digest.ts"
import { askForServer, replyOf, type AskingCall } from "../asking/elicitation.ts"
import { resolveEndpoint } from "../context/backends.ts"
import { originOf } from "./server-of.ts"
import { callStored, callWithLease, type RunContext } from "../context/run-context.ts"
import { partsText, partsValue } from "./tool-parts.ts"
import { keepToolFiles, placeBlobs } from "./answer-files.ts"
import { holdsFile } from "../../types/holds-file.ts"
import { mcpAskRounds, runShownBytes } from "../../base/limits.ts"

/** One call of a tool, a model's or the workflow's own. */
export interface ToolCall {
  /** The place that errors name: `agent.review`, `dynamic.related`. */
  readonly path: string
  readonly about: {
    readonly agent?: string
    readonly dynamic?: string
    readonly iteration?: number
    readonly items?: readonly number[]
  }
  readonly tool: string
  readonly values: JsonObject
  /** The arguments as the event shows them: secrets by name. */
  readonly shownValues: JsonObject
  readonly kept: () => ReplayData<"tool_call_started">
  /** Only for a call in an expression. */
  readonly site?: string
  /** The call as the log of an interrupted run has it. */
  readonly past: CallReplayState | null
  /** A failure that the model may see is returned as an outcome; a failed `call` of the workflow throws. */
  readonly answersModel: boolean
  /** Each call waits for a person; null: no approval is needed. */
  readonly approval: Approval | null
  /** A place among the open calls that the caller holds for the first call that claims it. */
  readonly place?: Place | undefined
}

/** Makes the call, unless the log knows its outcome. Rejects when the transport fails. */
export async function callTool(running: RunContext, call: ToolCall): Promise<CallOutcome> {
  const { past, path, tool } = call
  const mayAsk = running.plan.servers[running.plan.tools[tool]?.server ?? ""]?.elicitation !== undefined
  // What a person decided is not decided again for another run by the cache.
  if ((call.approval !== null || mayAsk) && call.about.agent !== undefined) {
    running.approvedAgents.add(placeKey(call.about.agent, call.about.iteration))
  }
  if (past?.outcome !== undefined && past.outcome !== null) {
    if (past.outcome.kind === "failed" && past.outcome.modelText === null) throw new RunFailure(past.outcome.error)
    return past.outcome
  }
  const { log, ports } = running
  const { plan, hosted, host } = toolOf(running, tool)
  const idempotent = plan.idempotent || hosted.idempotent
  const callId = past?.callId ?? ports.random.id()
  let startedAt = past?.startedAt ?? ports.clock.now()
  const about = { ...call.about, tool, server: plan.server, call_id: callId }
  const by = { agent: call.about.agent, site: call.site }

  const failed = (message: string, modelText: string | null, http?: HttpAnswer): CallOutcome => {
    const upstream = http === undefined || isSuccess(http) ? {} : { upstream_status: http.status }
    const error = wireError("tool_error", [{ path, message, ...upstream }])
    const duration_ms = ports.clock.now() - startedAt
    log.add(
      "tool_call_failed",
      { ...about, ...httpOf(http), error, duration_ms },
      { ...(modelText === null ? {} : { told: modelText }), ...running.requests?.endCall(callId) },
    )
    return { kind: "failed", error, modelText, refused: false }
  }
  const end = (message: string, modelText: string, http?: HttpAnswer): CallOutcome => {
    const outcome = failed(message, call.answersModel ? modelText : null, http)
    if (call.answersModel || outcome.kind !== "failed") return outcome
    throw new RunFailure(outcome.error)
  }

  const begun = past !== null && past.startedAt !== null
  // What the server asked before an interruption is still asked: the call goes on with the answers.
  const asked = past?.asked ?? null
  if (begun && !idempotent && asked === null) return end(interrupted(tool), interrupted(tool))

  const begin = (): void => {
    running.requests?.beginCall(callId, shownWhereSecret(call))
    if (begun) return
    startedAt = ports.clock.now()
    const site = call.site === undefined ? {} : { site: call.site }
    const kept = call.kept()
    log.add("tool_call_started", { ...about, arguments: shown(call.shownValues), ...site, ...callsOf(kept) }, kept)
    running.content?.calls(callId, tool, by, call.shownValues)
  }
  const send = (): Promise<ToolAnswer> => {
    // A call that still waits for its place, or for room in the limits, has not begun: the log must not say that it may have
    // taken effect.
    begin()
    const make = (): Promise<ToolAnswer> => host.call(tool, call.values, callId, running.signal)
    // Should the process die once the start is stored, the log knows that the call may have been made.
    return callStored(running, () => (idempotent && hosted.retries !== true ? onceMore(running, make) : make()))
  }
  const repeat = (reply: AskReply): Promise<ToolAnswer> =>
    callStored(running, () => host.call(tool, call.values, callId, running.signal, reply))
  const goOn = async (waiting: AskedByServer): Promise<ToolAnswer> => {
    const reply = await replyOf(running, waiting)
    return running.permits.use(() => {
      running.requests?.beginCall(callId, shownWhereSecret(call))
      log.add("tool_call_continued", { ...about, round: waiting.round })
      return repeat(reply)
    })
  }
  // A test that gives the result gives the approval with it.
  const { iteration = null, items = [] } = call.about
  const given = { call_id: callId, iteration, items, byModel: call.answersModel }
  const isGiven = ports.given?.(`tool.${tool}`, null, given) !== undefined
  const approval = isGiven || asked !== null ? null : approvalOf(running, call, callId)
  const tooLarge = approval?.tooLarge ?? null
  if (tooLarge !== null) {
    begin()
    const message = `The arguments take ${tooLarge} bytes: nobody is asked to approve more than ${runShownBytes}`
    return end(`${tool}: ${message}`, message)
  }

  let sent: ToolAnswer | NotSent
  try {
    // One that is made once more after an interruption, or was asked about before, is counted already.
    const count = (): Promise<ToolAnswer> => (past === null ? countedCall(running, call.about.agent, send) : send())
    if (asked !== null) sent = await goOn(asked)
    else if (approval === null) sent = await running.permits.use(count, call.place)
    else {
      if (past === null) await countedCall(running, call.about.agent, () => Promise.resolve())
      sent = await sendApproved(running, approval, send)
    }
    for (let round = (asked?.round ?? 0) + 1; "asks" in sent && sent.asks !== undefined; round++) {
      const { asks } = sent
      if (round > mcpAskRounds) sent = { text: `the server asked more than ${mcpAskRounds} times`, is_error: true }
      else if (asks.entries.length === 0) {
        sent = await running.permits.use(() => repeat({ responses: {}, state: asks.state }))
      } else sent = await goOn(await askForServer(running, askingOf(running, call, callId), asks, round))
    }
  } catch (error) {
    if (running.signal.aborted || !(error instanceof RunFailure) || endsRun(error.error, running.scope)) throw error
    const clean = atCaller(running.redactor.redact(error.error), path)
    log.add(
      "tool_call_failed",
      { ...about, error: clean.error, duration_ms: ports.clock.now() - startedAt },
      { ...running.requests?.endCall(callId) },
    )
    throw clean
  }
  if ("refusal" in sent) return end(`${tool}: ${sent.refusal}`, sent.refusal)
  const work = answerWork(running, sent)
  try {
    if (work !== null) await work.turn()
    if (sent.isLowerCase === true) running.redactor.alsoHideLowerCase()
    const clean = running.redactor.redact(sent)
    if (work !== null) await work.turn()
    const type = plan.output !== null && holdsFile(plan.output, running.plan.types) ? plan.output : null
    const placed = type === null || clean.is_error ? clean : placeBlobs(clean, type, running.plan.types)
    const read = readAnswer(placed, plan, hosted, running)
    if (!read.fits) return end(`${tool}: ${cutText(read.message, 1000)}`, read.message, clean.http)
    const stored = type === null ? read : await keepToolFiles(running, read.value, { path, tool, callId, type })
    if ("problem" in stored) return end(`${tool}: ${stored.problem}`, stored.problem, clean.http)
    if (work !== null) await work.turn()
    const asShown = shown(stored.value)
    const duration_ms = ports.clock.now() - startedAt
    const parts = call.answersModel && placed.parts !== undefined ? { parts: placed.parts } : {}
    running.content?.gave(callId, tool, by, stored.value)
    const kept = {
      ...(asShown === stored.value ? {} : { result: stored.value }),
      ...parts,
      ...running.requests?.endCall(callId),
    }
    log.add(
      "tool_call_completed",
      { ...about, ...httpOf(clean.http), result: asShown, duration_ms },
      Object.keys(kept).length === 0 ? undefined : kept,
    )
    if (work !== null) await work.turn()
    return { kind: "completed", result: stored.value, ...parts }
  } finally {
    work?.end()
  }
}

/** Gives the work on a large answer turns of the event loop, since many may come at once. Null for a small one. */
function answerWork(running: RunContext, answer: ToolAnswer): { turn(): Promise<void>; end(): void } | null {
  const bytes = memoryOf(answer)
  if (!isLarge(bytes)) return null
  const arrival = running.arrivals.open(running.signal)
  void arrival.add(bytes)
  return {
    // Also when the run stops: what a tool has done must be in the log.
    turn: () => loopTurns.spend(bytes, arrival.caller),
    end: () => arrival.close(),
  }
}

/** What the first event of a turn says of its model calls. */
export function callsOf(kept: ReplayData<"tool_call_started">): { readonly calls?: readonly ModelCallRecord[] } {
  return "answer" in kept && kept.answer !== undefined ? { calls: kept.answer.calls } : {}
}

/** What an event says of the answer of an api. */
function httpOf(http: HttpAnswer | undefined): { readonly http?: HttpAnswer } {
  return http === undefined ? {} : { http }
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status <= 299
}

/** Waits for the approval without a place among the open calls, and makes the call if it is still what was approved. */
async function sendApproved(
  running: RunContext,
  approval: CallApproval,
  send: () => Promise<ToolAnswer>,
): Promise<ToolAnswer | NotSent> {
  for (;;) {
    const refusal = await approval.refusal()
    if (refusal !== null) return { refusal }
    const sent = await running.permits.use(async () => {
      const now = await approval.check()
      return now === "approved" ? send() : now
    })
    if (sent !== "asked again") return sent
  }
}

function approvalOf(running: RunContext, call: ToolCall, callId: string): CallApproval | null {
  const { approval, tool, about, path, past } = call
  if (approval === null) return null
  const { plan, hosted, host } = toolOf(running, tool)
  const { servers, apis } = running.plan
  const { server, remote } = plan
  const expression = (plan.http === undefined ? servers : apis)?.[server]?.endpoint
  if (expression === undefined) throw new Error(`Server ${server} is not in the plan`)
  const endpoint = resolveEndpoint(running, expression, `${originOf(plan)}.endpoint`, running.named())
  const sent = running.redactor.redact(shownAs(call))
  // The definition from when the run connected, until it is looked at again.
  let definition: JsonObject | null = hosted.definition
  return new CallApproval(running, {
    callId,
    about,
    arguments: sent,
    approval,
    kept: () => ({ call: call.kept(), ...(about.agent === undefined ? {} : { agent: about.agent }) }),
    asked: past?.questions ?? [],
    path,
    subject: { name: tool, question: `Allow ${server}.${remote}?`, tool: remote, server, endpoint },
    digest: (words) =>
      approvalDigest({ run_id: running.runId, call_id: callId, endpoint, remote, definition, arguments: sent, words }),
    async look() {
      definition = await callStored(running, () => host.published(tool, running.signal))
      return definition === null ? { refusal: `mcp.${server} no longer offers the tool ${remote}` } : null
    },
  })
}

/** The arguments that are sent and no others, with secrets by name. */
function shownAs({ values, shownValues }: ToolCall): JsonObject {
  return Object.fromEntries(Object.keys(values).map((name) => [name, shownValues[name] ?? null]))
}

/** The same; undefined where they hold no secrets. */
function shownWhereSecret(call: ToolCall): JsonObject | undefined {
  const { values, shownValues } = call
  return Object.keys(values).every((name) => values[name] === shownValues[name]) ? undefined : shownAs(call)
}

function askingOf(running: RunContext, { tool, about, path, kept }: ToolCall, callId: string): AskingCall {
  // The start of the call has kept the turn of the model.
  const { answer: _, ...place } = { answer: undefined, ...kept() }
  return {
    tool,
    plan: toolOf(running, tool).plan,
    callId,
    iteration: about.iteration,
    items: about.items,
    kept: { call: place, ...(about.agent === undefined ? {} : { agent: about.agent }) },
    path,
  }
}

export function interrupted(tool: string): string {
  return `The call of ${tool} was interrupted, and its outcome is unknown: it may or may not have taken effect`
}

export function toolOf(
  running: RunContext,
  name: string,
): { readonly plan: ToolPlan; readonly hosted: HostedTool; readonly host: HostSession } {
  const plan = running.plan.tools[name]
  const hosted = running.host?.tools.get(name)
  if (plan === undefined || hosted === undefined || running.host === null) {
    throw new Error(`Tool ${name} was not looked up at the start of the run`)
  }
  return { plan, hosted, host: running.host }
}

/** A transport failure is met with one more call, where that does no harm. */
async function onceMore<T>(running: RunContext, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (running.signal.aborted || !(error instanceof RunFailure) || error.error.kind !== "tool_error") throw error
    return callWithLease(running, make)
  }
}

/** Names the caller in every issue: an adapter knows the server and the tool, not who called. */
export function atCaller(error: WireError, path: string): RunFailure {
  const issues = error.issues.length === 0 ? [{ path, message: error.message }] : error.issues
  return new RunFailure({ ...error, issues: issues.map((issue) => ({ ...issue, path })) })
}

type Reading = { readonly fits: true; readonly value: JsonValue } | { readonly fits: false; readonly message: string }

/** The result that an answer holds: structured content first, then JSON in its text, then the text itself. */
function readAnswer(answer: ToolAnswer, plan: ToolPlan, hosted: HostedTool, running: RunContext): Reading {
  const { structured, text, parts, is_error, http, advice = "" } = answer
  if (is_error && http !== undefined && !isSuccess(http)) {
    // Cut after it was redacted: a secret that is cut in two would not be found.
    const said = [cutText(text, 500), advice].filter((one) => one !== "").join("\n")
    return { fits: false, message: said === "" ? `HTTP ${http.status}` : `HTTP ${http.status}: ${said}` }
  }
  if (is_error) {
    const shownText = parts === undefined ? text : partsText(parts)
    const said =
      shownText !== ""
        ? shownText
        : structured === undefined
          ? "the tool reported an error"
          : JSON.stringify(structured)
    return { fits: false, message: said }
  }
  const json = structured === undefined ? parseJson(text) : structured
  if (plan.output === null && !hosted.typed) {
    if (structured === undefined && parts !== undefined) return { fits: true, value: partsValue(parts) }
    // A text that is JSON by chance counts as a value only if it is an object or array.
    if (structured !== undefined) return { fits: true, value: structured }
    return { fits: true, value: typeof json === "object" && json !== null ? json : text }
  }
  const fit = (value: JsonValue): { readonly value: JsonValue; readonly problems: readonly string[] } => {
    if (plan.output !== null) {
      const { value: projected, misfits } = projectValue(value, plan.output, running.plan.types, "result")
      return { value: projected, problems: misfits.map(({ message }) => message) }
    }
    const problems = hosted.checkResult(value)
    return { value, problems: problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)) }
  }
  const given = json === undefined ? text : json
  const { value, problems } = fit(given)
  if (problems.length === 0) return { fits: true, value }
  if (structured === undefined && given !== text && fit(text).problems.length === 0) return { fits: true, value: text }
  return { fits: false, message: `the result does not fit its type: ${problems.slice(0, 10).join("; ")}` }
}

/** Takes one of the calls that a run may make of a tool; false when there is none left. */
export function countCall(counts: RunContext["toolCalls"], name: string, most: number | null): boolean {
  const made = counts.get(name) ?? 0
  if (most !== null && made >= most) return false
  counts.set(name, made + 1)
  return true
}

export function usedUp(path: string, tool: string, most: number | null): RunFailure {
  return failure("limit_exceeded", path, `${tool} may be called ${most === 1 ? "once" : `${most} times`} (max_calls)`)
}
