import { isJsonObject } from "../../src/base/is-json-object.ts"
import { maxRepairs } from "./simulated-model.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import type { Limits, Plan } from "../../src/plan/plan-shape.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import { LedgerFold } from "../../src/log/ledger-fold.ts"
import { allRuns } from "../../src/ports/run-list.ts"
import { bucketsOf, countedRun } from "../../src/ports/run-stats.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { showMoney, toMoney } from "../../src/log/money.ts"
import { secretOf, type Client, type Job } from "./client.ts"
import type { Ledger, LedgerCall } from "./ledger.ts"
import type { SimulatedReceiver } from "./simulated-receiver.ts"
import { epoch } from "./world.ts"
import { planned } from "./simulated-service.ts"
import { planAt } from "../../src/plan/call-scope.ts"
import {
  answerProblems,
  callEventProblems,
  insidesOf,
  isPartOf,
  roundProblems,
  workflowApprovalProblems,
  type Inside,
} from "./inner-calls.ts"
import { isInnermost, sentSource, sentStep } from "./nested.ts"
import { isRefusedAnswer, judgedQuestions } from "./workflows.ts"

/** Which process held the right to write to a run, from when to when. */
export interface Tenure {
  readonly owner: string
  readonly fence: number
  readonly from: number
  /** When its owner began to work on the run, which may be before the store has it. */
  readonly begunAt: number
  until: number
  /** Until when the store has promised the run to its owner. */
  promised: number
}

export interface StoredEvent {
  readonly at: number
  readonly event: LogEvent
}

/** What the store did, run by run. */
export interface StoreBook {
  readonly tenures: ReadonlyMap<string, readonly Tenure[]>
  readonly stored: ReadonlyMap<string, readonly StoredEvent[]>
  /** By run and question: the answer that the store took. */
  readonly answers: ReadonlyMap<string, JsonValue>
  readonly receiver: SimulatedReceiver | null
  /** No process stood still: time limits hold. */
  readonly punctual: boolean
  /** No process has learned a wrong time from the store. */
  readonly timely: boolean
  /** By process: when it was gone. */
  readonly deaths: ReadonlyMap<string, number>
}

/** The invariants that a history violates; none, as a rule. */
export async function violations(
  store: RunStore,
  clients: readonly Client[],
  ledger: Ledger,
  book: StoreBook,
): Promise<string[]> {
  const found: string[] = []
  const runOf = new Map<string, string>()
  const jobs = new Map<string, Job>()
  const cancelled = new Set(clients.flatMap(({ job, cancelled }) => (cancelled ? [job.label] : [])))
  for (const client of clients) {
    const { label } = client.job
    found.push(...client.problems.map((problem) => `${label}: ${problem}`))
    if (client.ids.size > 1) found.push(`${label}: one key gave ${client.ids.size} runs`)
    if (client.run_id === null) continue
    jobs.set(label, client.job)
    const known = runOf.get(label)
    if (known !== undefined && known !== client.run_id) found.push(`${label}: one key gave two runs`)
    runOf.set(label, client.run_id)
    const log = await store.read(client.run_id, 0, 100_000)
    found.push(...logProblems(log).map((problem) => `${label}: ${problem}`))
    found.push(...questionProblems(client.run_id, log, book).map((problem) => `${label}: ${problem}`))
    found.push(...approvalProblems(label, log, ledger, client.job.source).map((problem) => `${label}: ${problem}`))
    const used = ledger.calls.filter(({ run }) => run === label)
    const { job, run_id } = client
    const all = insidesOf(log, job.id)
    const own = [
      ...limitProblems(job, used, all, book.punctual && book.timely ? (book.stored.get(run_id) ?? []) : null),
      ...(book.timely ? earlyProblems(job, run_id, book) : []),
      ...secretProblems(job, log),
      ...cancelProblems(cancelled.has(label), log),
      ...callEventProblems(job.source, job.id, log),
      ...workflowApprovalProblems(log, all, planOf(job)),
      ...all.flatMap((inside) => [
        ...skipProblems(inside.log),
        ...answerProblems(inside, job.id),
        ...roundProblems(inside, all, job.source),
      ]),
      ...all
        .filter(({ scope }) => isInnermost(job.source, scope))
        .flatMap((inside) => [
          ...countProblems(
            job,
            used.filter(({ part }) => part === inside.part),
          ),
          ...concurrencyProblems(job, inside.log),
          ...listProblems(job, inside),
          ...requirementProblems(job, inside.log),
          ...runValueProblems(run_id, log, inside),
        ]),
    ]
    found.push(...own.map((problem) => `${label}: ${problem}`))
    if (!client.done) found.push(`${label}: the client never saw the end`)
    if (client.job.rerun !== null) {
      const before = await store.read(client.job.rerun.run_id, 0, 100_000)
      found.push(...rerunProblems(client.job, before, log, ledger).map((problem) => `${label}: ${problem}`))
    }
    for (const [at, event] of client.events.entries()) {
      if (event !== log[at] && JSON.stringify(event) !== JSON.stringify(log[at])) {
        found.push(`${label}: event ${at + 1} is not what the client saw: ${JSON.stringify(event)}`)
        break
      }
    }
  }
  for (const [label, job] of jobs) {
    const run_id = runOf.get(label) ?? ""
    found.push(...callProblems(job, run_id, ledger, book).map((problem) => `${label}: ${problem}`))
  }
  found.push(...(await noticeProblems(store, book)))
  found.push(...(await useProblems(store)))
  const once = new Map<string, number>()
  for (const { once: text } of ledger.calls) if (text !== null) once.set(text, (once.get(text) ?? 0) + 1)
  for (const [text, count] of once) if (count > 1) found.push(`note "${text}" was called ${count} times`)
  return found
}

/** What all runs have used is what their logs say, each call once: whatever crashed, and whoever went on. */
async function useProblems(store: RunStore): Promise<string[]> {
  const said = new Map<string, { runs: number; tokens: number; cost: number }>()
  const runs = await store.list({ ...allRuns, limit: 1_000_000 })
  for (const { run_id } of runs) {
    const fold = new LedgerFold()
    for (const event of await store.read(run_id, 0, 100_000, "kept")) fold.take(event)
    for (const { model, runs: count, tokens, cost } of fold.rows()) {
      const sum = said.get(model) ?? { runs: 0, tokens: 0, cost: 0 }
      said.set(model, { runs: sum.runs + count, tokens: sum.tokens + tokens, cost: sum.cost + cost })
    }
  }
  const found: string[] = []
  const all = { caller: null, from: 0, to: Number.MAX_SAFE_INTEGER }
  for (const { name, ...sum } of await store.ledger.spending({ ...all, by: "model" })) {
    const own = said.get(name) ?? { runs: 0, tokens: 0, cost: 0 }
    said.delete(name)
    if (JSON.stringify(sum) !== JSON.stringify(own)) {
      found.push(`the ledger has ${JSON.stringify(sum)} of model ${name}, and the logs say ${JSON.stringify(own)}`)
    }
  }
  for (const [name, sum] of said) found.push(`the ledger has nothing of model ${name}: ${JSON.stringify(sum)}`)
  const begun = (await store.ledger.spending({ ...all, by: "day" })).reduce((sum, day) => sum + day.runs, 0)
  if (begun !== runs.length) found.push(`the ledger has ${begun} runs, and there are ${runs.length}`)
  const query = { ...allRuns, since: 0, min_cost: null, min_seconds: null, unit: "hour" } as const
  const counted = bucketsOf(runs.flatMap((run) => countedRun(run, query)))
  const stored = await store.stats(query)
  if (JSON.stringify(stored) !== JSON.stringify(counted)) {
    found.push(`the counts are ${JSON.stringify(stored)}, and the runs say ${JSON.stringify(counted)}`)
  }
  return found
}

function logProblems(log: readonly LogEvent[]): string[] {
  const found: string[] = []
  for (const [at, { id }] of log.entries()) if (id !== at + 1) found.push(`event ${at + 1} has the id ${id}`)
  const ends = log.filter(({ type }) => isTerminal(type)).length
  if (ends !== 1) found.push(`${ends} terminal events after ${log.length} events`)
  if (log.length > 0 && ends > 0 && !isTerminal(log.at(-1)?.type ?? "workflow_started")) {
    found.push("the terminal event is not the last")
  }
  const completed = new Map<string, number>()
  for (const event of log) {
    if (event.type !== "agent_completed") continue
    const step = `${event.data.scope ?? ""} ${stepOf(event.data)}`
    if (completed.has(step)) found.push(`${step} completed twice`)
    completed.set(step, event.id)
  }
  return found
}

function stepOf({ agent, iteration }: { readonly agent: string; readonly iteration?: number }): string {
  return iteration === undefined ? `agent.${agent}` : `agent.${agent}[${iteration}]`
}

/** By step: the steps without a loop whose outcome it builds on. */
type Needs = ReadonlyMap<string, readonly string[]>

function needsOf(source: string): Needs {
  const compiled = planned({ source })
  const nodes = "plan" in compiled ? compiled.plan.nodes : []
  const single = new Set(nodes.filter((node) => node.kind === "agent" && node.loop === null).map(({ id }) => id))
  return new Map(nodes.map(({ id, depends_on }) => [id, depends_on.filter((other) => single.has(other))]))
}

function callProblems({ label, id, source, rerun }: Job, run_id: string, ledger: Ledger, book: StoreBook): string[] {
  const found: string[] = []
  const stored = book.stored.get(run_id) ?? []
  const tenures = book.tenures.get(run_id) ?? []
  const needs = needsOf(source)
  const end = stored.find(({ event }) => isTerminal(event.type))?.at ?? Number.POSITIVE_INFINITY
  const events = stored.map(({ event }) => event)
  const storedAt = new Map(stored.map(({ at, event }) => [event.id, at]))
  const all = insidesOf(events, id)
  // By part and step.
  const done = new Map<string, number>()
  const settled = new Map<string, number>()
  // A step that a re-run did not run again has its outcome in the log of the earlier run, also before the re-run's own log says so.
  const again = new Set(ledger.calls.flatMap(({ run, part, step }) => (run === label ? [`${part} ${step}`] : [])))
  const before = rerun === null ? [] : (book.stored.get(rerun.run_id) ?? []).map(({ event }) => event)
  for (const { part, log } of insidesOf(before, id)) {
    for (const { type, data } of log) {
      const step = type === "agent_completed" ? `${part} agent.${data.agent}` : null
      if (step !== null && !again.has(step)) settled.set(step, 0)
    }
  }
  for (const { part, log } of all) {
    for (const { id: event, type, data } of log) {
      const at = storedAt.get(event) ?? 0
      if (type === "agent_completed") settled.set(`${part} agent.${data.agent}`, at)
      if (type === "step_skipped") settled.set(`${part} ${data.step}`, at)
      // Its result is in the log of the earlier run.
      if (type === "step_reused") settled.set(`${part} ${data.step}`, 0)
      if (type === "agent_completed" && data.iteration === undefined) done.set(`${part} agent.${data.agent}`, at)
    }
  }
  for (const call of ledger.calls) {
    if (call.run !== label) continue
    const { part, step } = call
    if (call.at > end) found.push(`${call.kind} was called for ${step} after the end of the run`)
    for (const inside of all) {
      if (inside.ended === null || !isPartOf(part, inside)) continue
      if (call.at <= (storedAt.get(inside.ended.id) ?? 0)) continue
      found.push(`${call.kind} was called for ${step} after the end of ${inside.scope ?? ""}`)
    }
    const completed = done.get(`${part} ${step}`)
    if (call.kind === "model" && completed !== undefined && call.at > completed) {
      found.push(`${step} had completed, and its model was called again`)
    }
    for (const needed of needs.get(step.split(/[./]/, 2).join(".")) ?? []) {
      if ((settled.get(`${part} ${needed}`) ?? Number.POSITIVE_INFINITY) > call.at) {
        found.push(`${call.kind} was called for ${step} before the outcome of ${needed} was stored`)
      }
    }
    if (!tenures.some(({ owner, from, until }) => owner === call.owner && from <= call.at && call.at <= until)) {
      found.push(`${call.owner} called ${call.kind} for ${step} without holding the run`)
    }
  }
  return found
}

/** Every question has one outcome, which is the one that the store took first. */
function questionProblems(run_id: string, log: readonly LogEvent[], book: StoreBook): string[] {
  const found: string[] = []
  const asked = new Set<string>()
  const outcomes = new Map<string, JsonValue>()
  for (const event of log) {
    if (event.type === "question_asked") asked.add(event.data.id)
    if (event.type !== "question_answered" && event.type !== "question_expired") continue
    const { id } = event.data
    if (!asked.has(id)) found.push(`question ${id} has an outcome and was not asked`)
    if (outcomes.has(id)) found.push(`question ${id} has two outcomes`)
    outcomes.set(id, event.type === "question_answered" ? event.data.answer : "expired")
  }
  for (const [id, outcome] of outcomes) {
    const taken = book.answers.get(`${run_id}/${id}`)
    if (JSON.stringify(taken ?? "expired") !== JSON.stringify(outcome)) {
      found.push(`question ${id}: the store took ${JSON.stringify(taken)}, the run ${JSON.stringify(outcome)}`)
    }
  }
  return found
}

/** Where a tool needs approval, what is called is what was shown and approved. */
function approvalProblems(label: string, log: readonly LogEvent[], ledger: Ledger, source: string): string[] {
  const tools = importsOf(source).flatMap(({ name, text }) => (text.includes("approval") ? [name] : []))
  if (tools.length === 0) return []
  const shown = new Map<string, JsonValue | undefined>()
  const approved = new Set<unknown>()
  for (const event of log) {
    if (event.type === "question_asked" && event.data.kind === "approval")
      shown.set(event.data.id, event.data.arguments)
    if (event.type !== "question_answered") continue
    const values = shown.get(event.data.id) as { text?: unknown } | undefined
    if ((event.data.answer as { approve?: unknown }).approve === true && values !== undefined) approved.add(values.text)
  }
  return ledger.calls
    .filter(({ run, tool, text }) => run === label && tool !== null && tools.includes(tool) && !approved.has(text))
    .map(({ tool, text }) => `${tool ?? ""} "${text}" was called without approval`)
}

/** The tools that a source imports. */
function importsOf(source: string): { readonly name: string; readonly text: string }[] {
  return [...source.matchAll(/^tool (\w+) .*/gm)].map(([text, name = ""]) => ({ name, text }))
}

/** A tool is not called more often than its import allows. An idempotent call that is repeated counts once. */
function countProblems({ source }: Job, calls: readonly LedgerCall[]): string[] {
  return importsOf(source).flatMap(({ name, text }) => {
    const most = Number(/max_calls: (\d+)/.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
    const count = new Set(calls.flatMap((call) => (call.tool === name ? [call.text] : []))).size
    return count > most ? [`${count} calls of ${name}, ${most} are allowed`] : []
  })
}

/**
 * No output that a requirement refuses completes its agent, no such answer settles a question, and no model is sent outputs back more often
 * than allowed.
 */
function requirementProblems({ source, items }: Job, log: readonly LogEvent[]): string[] {
  const refused = new Map(
    [...source.matchAll(/^agent (\w+)[^]*?^\}/gm)].flatMap(([text, name = ""]) => {
      const [, never, other] = /require result\.n (?:(> 6)|!= (\d))/.exec(text) ?? []
      if (never !== undefined) return [[name, (): boolean => true] as const]
      return other === undefined ? [] : [[name, (n: unknown): boolean => n === Number(other)] as const]
    }),
  )
  const judged = judgedQuestions(source)
  const found: string[] = []
  const sentBack = new Map<string, number>()
  for (const { type, data } of log) {
    if (type === "question_answered" && judged.has(data.name) && isRefusedAnswer(data.answer, items)) {
      found.push(`ask.${data.name} has an answer that its requirements refuse`)
    }
    if (
      type === "agent_completed" &&
      isJsonObject(data.output) &&
      refused.get(data.agent)?.(data.output["n"]) === true
    ) {
      found.push(`${stepOf(data)} completed with an output that its requirement refuses`)
    }
    if (type === "agent_fallback") sentBack.delete(stepOf(data))
    if (type !== "agent_retried" || data.requirements === undefined) continue
    const count = (sentBack.get(stepOf(data)) ?? 0) + 1
    sentBack.set(stepOf(data), count)
    if (count > maxRepairs) found.push(`${stepOf(data)} had ${count} outputs sent back by one model`)
  }
  return found
}

/** An output as text, without the values of the run: a re-run has its own. */
function withoutRun(output: object): string {
  return JSON.stringify(output, (key, value: unknown) => (key === "ran" ? null : value))
}

/** The output shows the run's id, and one time of its own, however often it was resumed. */
function runValueProblems(run_id: string, log: readonly LogEvent[], { output }: Inside): string[] {
  const [first] = log
  const ran = output?.["ran"]
  if (first === undefined || typeof ran !== "string") return []
  const [id, started = "", date] = ran.split(" ")
  const isRight = id === run_id && started <= first.at && started.slice(0, 10) === date
  return isRight ? [] : [`the output shows the run as ${ran}, which began at ${first.at}`]
}

/** Of a loop with `concurrency`, no more items than that are begun and not ended, also after a crash. */
function concurrencyProblems({ source }: Job, log: readonly LogEvent[]): string[] {
  const found: string[] = []
  const blocks = source.matchAll(/^(agent|ask) (\w+) for [^\n]*\{\n([^]*?)^\}/gm)
  for (const [, kind = "", name = "", body = ""] of blocks) {
    const most = Number(/^ +concurrency: (\d+)/m.exec(body)?.[1] ?? Number.POSITIVE_INFINITY)
    const open = new Set<number | string>()
    for (const { type, data } of log) {
      const item = kind === "agent" ? agentItem(type, data, name) : questionItem(type, data, name)
      if (item?.begins === true) open.add(item.id)
      else if (item !== null) open.delete(item.id)
      if (open.size > most) {
        found.push(`${open.size} items of ${kind}.${name} at a time, ${most} are allowed`)
        break
      }
    }
  }
  return found
}

/** A step, or a call of it, is skipped once. */
function skipProblems(log: readonly LogEvent[]): string[] {
  const skipped = new Set<string>()
  return log.flatMap(({ type, data }) => {
    if (type !== "step_skipped") return []
    const { step, site, iteration, items } = data
    const place = `${site ?? step} ${iteration ?? ""} ${items?.join(".") ?? ""}`
    const again = skipped.has(place)
    skipped.add(place)
    return again ? [`${place} was skipped twice`] : []
  })
}

/** A completed workflow has called once for each item of its lists. */
function listProblems({ source, items }: Job, { log, output }: Inside): string[] {
  if (output === null) return []
  const found: string[] = []
  for (const [, name = "", list = ""] of source.matchAll(/^dynamic \{ (\w+): (\[.*\]) \}$/gm)) {
    const ones = list.includes(`when one != "i1"`) ? items.filter((item) => item !== "i1").length : items.length
    const expected = list.includes(" for two in ") ? ones * items.length : ones
    const places = new Set<string>()
    for (const { type, data } of log) {
      const begun = type === "tool_call_started" || type === "resource_read" || type === "prompt_rendered"
      if (!begun && type !== "step_reused" && type !== "step_skipped") continue
      const { site, items: positions } = data
      if (site?.startsWith(`dynamic.${name}/`) === true) places.add(positions?.join(".") ?? "")
    }
    if (places.size !== expected) found.push(`dynamic.${name} has called for ${places.size} of ${expected} items`)
  }
  return found
}

type Item = { readonly id: number | string; readonly begins: boolean } | null

function agentItem(type: LogEvent["type"], data: LogEvent["data"], name: string): Item {
  if (!("agent" in data) || data.agent !== name || !("iteration" in data)) return null
  const begins = type === "agent_started"
  return begins || type === "agent_completed" || type === "agent_failed" ? { id: data.iteration ?? 0, begins } : null
}

function questionItem(type: LogEvent["type"], data: LogEvent["data"], name: string): Item {
  if (!("name" in data) || data.name !== name || !("id" in data)) return null
  const begins = type === "question_asked"
  return begins || type === "question_answered" || type === "question_expired" ? { id: data.id, begins } : null
}

/** A secret is in no event, although a tool says it aloud. */
function secretProblems(job: Job, log: readonly LogEvent[]): string[] {
  if (!job.source.includes("secrets {")) return []
  const secret = secretOf(job)
  const shown = log.find((event) => JSON.stringify(event).includes(secret))
  return shown === undefined ? [] : [`the event ${shown.id} shows a secret`]
}

/** A process that dies or stops cancels no run. */
function cancelProblems(wasAsked: boolean, log: readonly LogEvent[]): string[] {
  return log.at(-1)?.type === "workflow_cancelled" && !wasAsked ? ["it was cancelled, and nobody asked for that"] : []
}

/** A re-run with the same source and input repeats no call that the earlier run had completed, and gives the same output. */
function rerunProblems(job: Job, earlier: readonly LogEvent[], log: readonly LogEvent[], ledger: Ledger): string[] {
  const found: string[] = []
  const edited = job.edited ? [...job.source.matchAll(/^agent \w+/gm)].at(-1)?.[0].replace(" ", ".") : null
  const before = new Set(
    insidesOf(earlier, job.id).flatMap(({ part, log: own }) =>
      own.flatMap(({ type, data }) => (type === "agent_completed" ? [`${part} ${stepOf(data)}`] : [])),
    ),
  )
  const from = (job.rerun?.from ?? []).map((step) => sentStep(job.source, step))
  for (const { scope, part, log: own } of insidesOf(log, job.id)) {
    for (const { type, data } of own) {
      if (type !== "step_reused") continue
      const { step, iteration } = data
      const reused = `${part} ${iteration === undefined ? step : `${step}[${iteration}]`}`
      if (step === edited) found.push(`${step} is asked something else, and was reused`)
      const own = scope === null ? "" : `${scope}/`
      // Where a model makes the call, only the model can call again.
      if (from.some((path) => path === `${own}${step}` || path.startsWith(`${own}inner@${step}#`))) {
        found.push(`${step} was to run again, and was reused`)
      }
      if (step.startsWith("agent.") && !before.has(reused)) found.push(`${reused} was reused, and had not completed`)
    }
  }
  const [was, is] = [earlier.at(-1), log.at(-1)]
  if (job.edited || job.rerun?.from.length !== 0 || was?.type !== "workflow_completed") return found
  if (!isWhole(earlier) || is?.type === "workflow_cancelled") return found
  for (const { run, kind, step } of ledger.calls) {
    if (run === job.label && kind === "model") found.push(`the model was called for ${step}, whose result was there`)
  }
  // It fails where a server cannot be reached, or the time is over; a call that may fail is left out then.
  if (isWhole(log) && is?.type === "workflow_completed" && withoutRun(is.data.output) !== withoutRun(was.data.output)) {
    found.push("its output is another one")
  }
  return found
}

/** Whether every step of a run had its own result: none failed and was left out, and nobody was late. */
function isWhole(log: readonly LogEvent[]): boolean {
  return !log.some(({ type, data }) => type === "question_expired" || (type === "step_skipped" && data.error))
}

function planOf({ source }: Job): Plan {
  const compiled = planned(sentSource(source))
  if (!("plan" in compiled)) throw new Error("The workflow is not valid")
  return compiled.plan
}

/** What the outside world was asked for stays within the limits of the request, of each workflow and of its agents. */
function limitProblems(
  job: Job,
  calls: readonly LedgerCall[],
  all: readonly Inside[],
  stored: readonly StoredEvent[] | null,
): string[] {
  const whole = planOf(job)
  const limited = (limits: Limits | null, own: readonly LedgerCall[], began: LogEvent | null): string[] => [
    ...overLimit(limits, own),
    ...(stored === null || began === null ? [] : timeProblems(limits, own, stored, began.id)),
  ]
  const found = limited(job.limits, calls, stored?.[0]?.event ?? null)
  for (const inside of all) {
    const { scope, part, began } = inside
    const plan = planAt(whole, scope)
    if (plan === undefined) continue
    const within = calls.filter((call) => isPartOf(call.part, inside))
    found.push(...limited(plan.limits, within, began))
    for (const node of plan.nodes) {
      if (node.kind !== "agent" || node.limits === null) continue
      const { id, workflows = [] } = node
      // A conversation that is compacted is another agent's; its values are computed before it begins.
      const own = within.filter(({ step, part: of }) =>
        of === part ? step === id || (step.startsWith(`${id}.`) && !step.includes("/")) : workflows.length > 0,
      )
      found.push(...overLimit(node.limits, own).map((problem) => `${id}: ${problem}`))
    }
  }
  return found
}

function overLimit(limits: Limits | null, calls: readonly LedgerCall[]): string[] {
  const found: string[] = []
  const models = calls.filter(({ kind }) => kind === "model").length
  const tokens = calls.reduce((sum, call) => sum + call.tokens, 0)
  if (models > (limits?.model_calls ?? models)) found.push(`${models} model calls, ${limits?.model_calls} are allowed`)
  // An idempotent call may be attempted several times; the others are made once.
  const tools = calls.filter(({ once }) => once !== null).length
  if (tools > (limits?.tool_calls ?? tools)) found.push(`${tools} tool calls, ${limits?.tool_calls} are allowed`)
  if (tokens > (limits?.tokens ?? tokens)) found.push(`${tokens} tokens, ${limits?.tokens} are allowed`)
  const cost = calls.reduce((sum, call) => sum + call.cost, 0n)
  if (limits?.cost !== undefined && cost > toMoney(limits.cost)) {
    found.push(`the calls cost ${showMoney(cost)}, ${limits.cost} is allowed`)
  }
  return found
}

/** By how much processes may differ in what they take for the store's time, which they learn over a slow network. */
export const learnedMs = 1_500

/** Whatever the clocks of processes say: no event is from the future, no question expires early, and no run fails before it had its time. */
function earlyProblems({ timeout_ms }: Job, run_id: string, { stored, tenures, deaths }: StoreBook): string[] {
  const found: string[] = []
  const events = stored.get(run_id) ?? []
  const expiries = new Map<string, number>()
  for (const { at, event } of events) {
    const now = epoch + at + learnedMs
    if (Date.parse(event.at) > now) found.push(`the event ${event.id} is from the future`)
    if (event.type === "question_asked") expiries.set(event.data.id, Date.parse(event.data.expires_at))
    if (event.type === "question_expired" && (expiries.get(event.data.id) ?? 0) > now) {
      found.push(`question ${event.data.id} expired early`)
    }
  }
  const end = events.at(-1)?.event
  if (end?.type !== "workflow_failed" || end.data.error.message.startsWith(`The run took longer than`) !== true) {
    return found
  }
  const had = (tenures.get(run_id) ?? []).reduce((sum, { owner, begunAt, until }) => {
    return sum + Math.max(0, Math.min(until, deaths.get(owner) ?? until) - begunAt)
  }, 0)
  const allowed = timeout_ms ?? 120_000
  const [, seconds] = /longer than ([\d.]+) s /.exec(end.data.error.message) ?? []
  const limit = seconds === undefined ? allowed : Number(seconds) * 1000
  if (had < limit) found.push(`it ran out of time after ${had.toFixed(0)} of ${limit} ms`)
  return found
}

/** Nobody is called when the time of the run, or of a call, is over. The time in which no process has it does not count. */
function timeProblems(
  limits: Limits | null,
  calls: readonly LedgerCall[],
  all: readonly StoredEvent[],
  first: number,
): string[] {
  const stored = all.filter(({ event }) => event.id >= first)
  const start = stored[0]?.at
  if (limits?.time_seconds === undefined || start === undefined) return []
  let end = start + limits.time_seconds * 1000
  let [before, waits]: [number, number | null] = [start, null]
  let last = Date.parse(stored[0]?.event.at ?? "")
  for (const { at, event } of stored) {
    if (waits !== null) end += at - waits
    // Between two owners. Each of them has learned the time by itself.
    if (event.type === "run_resumed") end += Math.max(0, Date.parse(event.at) - last) + learnedMs
    last = Date.parse(event.at)
    // It waits from when there is nothing else to do, which the event before says, however late a slow store takes the next.
    waits = event.type === "run_waiting" ? before : null
    before = at
  }
  const late = calls.find(({ at }) => at > end)
  return late === undefined ? [] : [`${late.kind} was called for ${late.step} after the time limit`]
}

/** A run that asks for notices gets one for each stored event that it names, and no others. */
async function noticeProblems(store: RunStore, { receiver, stored }: StoreBook): Promise<string[]> {
  if (receiver === null) return []
  const found = [...receiver.awaited].map((notice) => `the notice ${notice} never arrived`)
  const counts = new Map<string, number>()
  for (const { at, run_id, event_id } of receiver.received) {
    const cause = stored.get(run_id)?.find(({ event }) => event.id === event_id)
    if (cause === undefined || cause.at > at) found.push(`a notice of ${run_id} ${event_id} came before the event`)
    const notice = `${run_id}/${event_id}`
    counts.set(notice, (counts.get(notice) ?? 0) + 1)
  }
  for (const run_id of new Set(receiver.received.map((notice) => notice.run_id))) {
    for (const { event_id, attempts } of await store.outbox.ofRun(run_id)) {
      const count = counts.get(`${run_id}/${event_id}`) ?? 0
      if (count > attempts) found.push(`the notice ${run_id}/${event_id} came ${count} times in ${attempts} attempts`)
    }
  }
  return found
}
