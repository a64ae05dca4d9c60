import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { AgentNode, DynamicNode, OutputNode, Plan } from "../plan/plan-shape.ts"
import { runAgent } from "./agent/agent.ts"
import { resolveBackends } from "./backends.ts"
import { Budget } from "./budget/budget.ts"
import type { ShownRunLimits } from "./budget/limit-scopes.ts"
import { limitsOfRun } from "./budget/limit-scopes.ts"
import { TimeLimits } from "./budget/time-limits.ts"
import type { Deadlines } from "./deadlines.ts"
import { describe, problem, setOwn, textOf } from "./evaluate.ts"
import { evaluateEffects, evaluateToKeep } from "./evaluate-effects.ts"
import type { LogEvent, WireError } from "./events.ts"
import { endsRun, failure, wireError } from "./failure.ts"
import { EvaluationWork } from "./evaluation-work.ts"
import { thisWriter, whyNotTakenUp } from "./log/log-version.ts"
import { RunLog } from "./log/log.ts"
import { Permits } from "./permits.ts"
import type { Lease, RunRequest } from "../ports/store.ts"
import { LeaseLost, StoreFailure } from "../ports/store.ts"
import type { Gate } from "../ports/gate.ts"
import { RunFailure } from "../ports/run-failure.ts"
import { mayWait } from "../plan/may-wait.ts"
import { prepare, type Prepared } from "../plan/prepare.ts"
import { validateRequest } from "./fit-request.ts"
import { namedSecrets, redactor } from "./secrets/redact.ts"
import { secretsOfRun } from "./secrets/secrets-of-run.ts"
import type { ReplayState } from "./log/resume.ts"
import { noPast, placeKey, readPast } from "./log/resume.ts"
import { runClock } from "./run-clock.ts"
import type { RunLimits, RunContext, RunPorts } from "./run-context.ts"
import { outerScope } from "./run-context.ts"
import { runEach, runGraph } from "./scheduler.ts"
import { sizeOf } from "./value-size.ts"
import { openServers } from "./tools/tool-servers.ts"
import type { PriceOf } from "./usage.ts"
import { showSpent } from "./usage.ts"
import { workflowEffects } from "./tools/workflow-effects.ts"

/** Why a run is taken up again. */
export interface Resumption {
  readonly reason: string
  /** The process before gave it back by itself; else that process died. */
  readonly given_back: boolean
}

export interface RunJob {
  readonly plan: Plan
  readonly request: RunRequest
  readonly caller: string
  readonly lease: Lease
  /** Milliseconds since the epoch: no event of the run is older. */
  readonly created_at: number
  /** Aborts when the lease is lost, or the process gives the run back: it then stops without a further word. */
  readonly leave: AbortSignal
  /** Passed right before every call that leaves this process. */
  readonly gate: Gate
  /** Why there is a log already; null for a run that is new. */
  readonly resumed: Resumption | null
  readonly deadlines: Deadlines
}

/**
 * Runs a plan to its end: everything that happens is appended to the run's log, the terminal event last, and when that is
 * out no call of the run is open. With a log already there it goes on from it. Gives the terminal event, or null when the
 * run was left to another process. Rejects only with a `StoreFailure`: then the run is as its log says, and the process that claims
 * it goes on.
 */
export async function run(job: RunJob, ports: RunPorts, limits: RunLimits): Promise<LogEvent | null> {
  if (job.leave.aborted) return null
  const past = job.resumed === null ? noPast : await readPast(ports.store, job.lease.run_id, pricesOf(job.plan))
  if (past.ended) return null
  const error = whyNotTakenUp(past.writer)
  if (error !== null) return endAtOnce(job, { why: "failed", error }, ports)
  const { plan, request } = job
  const secrets = secretsOfRun(plan, request, ports.serverSecrets)
  // A secret of the server may have been removed since the run was admitted.
  const misfit = request.workflow === undefined ? null : validateRequest(plan, request.input, secrets)
  if (misfit !== null) return endAtOnce(job, { why: "failed", error: misfit }, ports)
  return new Run({ ...job, request: { ...request, secrets } }, ports, limits, past).toEnd()
}

/** Ends a run that no process works on, without doing any of its work. */
export async function endAtOnce(
  {
    plan,
    lease,
    created_at,
    request,
  }: Pick<RunJob, "lease" | "created_at" | "request"> & { readonly plan: Plan | null },
  how: RunStop,
  ports: RunPorts,
): Promise<LogEvent | null> {
  const past = await readPast(ports.store, lease.run_id, pricesOf(plan))
  if (past.ended) return null
  const clock = runClock(ports.clock, past.lastAt ?? created_at)
  const log = new RunLog(ports.store, lease, clock, past.lastId, () => undefined)
  if (past.startedAt === null) log.add("workflow_started", {}, thisWriter)
  const duration_ms = past.startedAt === null ? 0 : clock.now() - past.startedAt
  const spent = { usage: showSpent(past.spent), ...limitsAtEnd(plan, request, past, duration_ms) }
  return storeEnd(
    log,
    how.why === "cancelled"
      ? log.add("workflow_cancelled", { ...spent, duration_ms })
      : log.add("workflow_failed", { error: how.error, ...spent, duration_ms }),
  )
}

function limitsAtEnd(
  plan: Plan | null,
  { options }: RunRequest,
  past: ReplayState,
  duration_ms: number,
): { readonly limits?: ShownRunLimits } {
  if (plan === null) return {}
  const budget = new Budget(limitsOfRun(plan, options.limits ?? null), past.used, new AbortController().signal)
  const seconds = (agent: string | null): number => {
    const time = agent === null ? undefined : past.agentTimes.get(agent)
    if (agent === null) return duration_ms / 1000
    return time === undefined ? 0 : ((time.endedAt ?? past.lastAt ?? time.startedAt) - time.startedAt) / 1000
  }
  return budget.limited ? { limits: budget.shown(seconds) } : {}
}

async function storeEnd(log: RunLog, end: LogEvent): Promise<LogEvent | null> {
  try {
    await log.stored()
    return end
  } catch (error) {
    if (error instanceof LeaseLost) return null
    throw error
  }
}

/** Why a run ends before its work is done. */
export type RunStop = { readonly why: "failed"; readonly error: WireError } | { readonly why: "cancelled" }

/** … or stops here. */
type Stop = RunStop | { readonly why: "left" } | { readonly why: "store"; readonly error: StoreFailure }

class Run {
  readonly #job: RunJob
  readonly #running: RunContext
  readonly #startedAt: number
  readonly #abort = new AbortController()
  #stop: Stop | null = null
  #result: JsonObject = {}

  constructor(job: RunJob, givenPorts: RunPorts, limits: RunLimits, past: ReplayState) {
    const { plan, request, caller, lease } = job
    const ports = { ...givenPorts, clock: runClock(givenPorts.clock, past.lastAt ?? job.created_at) }
    const { signal } = this.#abort
    const maxConcurrency = Math.max(1, request.options.max_concurrency ?? limits.max_concurrency)
    const bounds = limitsOfRun(plan, request.options.limits ?? null)
    let named: JsonObject | null = null
    this.#job = job
    this.#startedAt = past.startedAt ?? ports.clock.now()
    this.#running = {
      runId: lease.run_id,
      caller,
      plan,
      prepared: prepare(plan),
      input: request.input,
      secrets: request.secrets,
      named: () => (named ??= namedSecrets(request.secrets)),
      options: request.options,
      ports,
      limits,
      log: new RunLog(ports.store, lease, ports.clock, past.lastId, (error) => this.#fail(error), {
        most: limits.log_bytes,
        before: past.logBytes,
        patience_ms: limits.store_patience_ms,
      }),
      permits: new Permits(maxConcurrency, signal),
      maxConcurrency,
      signal,
      gate: job.gate,
      past,
      redactor: redactor(request.secrets),
      agents: new Map(),
      answers: new Map(),
      dynamics: new Map(),
      histories: new Map(),
      summaries: new Map(),
      backends: new Map(),
      host: null,
      toolCalls: new Map(past.toolCalls),
      siteCalls: siteCallsOf(past, prepare(plan)),
      budget: new Budget(bounds, past.used, signal),
      time: new TimeLimits({
        limits: bounds,
        clock: ports.clock,
        deadlines: job.deadlines,
        startedAt: this.#startedAt,
        waits: past.waits.map(({ from, to }) => ({ from, to: to ?? ports.clock.now() })),
        agents: past.agentTimes,
        fail: (error) => this.#fail(error),
      }),
      spent: past.spent,
      work: new EvaluationWork(limits.value_bytes, limits.kept_bytes),
      backgroundWork: new Set(),
      fail: (error) => this.#fail(error),
    }
  }

  async toEnd(): Promise<LogEvent | null> {
    const { log, past, permits, ports, prepared } = this.#running
    const { leave, resumed } = this.#job
    const onLeave = (): void => {
      log.giveUp()
      this.#end({ why: "left" })
    }
    leave.addEventListener("abort", onLeave, { once: true })
    const stopListening = ports.store.onCancel(this.#running.runId, () => this.#end({ why: "cancelled" }))
    const stopWatch = this.#watchTime()
    const stopLimits = this.#running.time.watch()
    try {
      if (past.startedAt === null) log.add("workflow_started", {}, thisWriter)
      if (!past.planned) log.add("workflow_planned", { nodes: prepared.planned, ...this.#limits() })
      // Also where the log is empty: a call may have been made before its first piece was stored.
      if (resumed !== null) await this.#resume(resumed)
      const failed = this.#fatalFailure()
      if (failed !== null) this.#end({ why: "failed", error: failed })
      else if (this.#stop === null) await this.#work()
      // Whatever the run was stopped by: nothing of it may be open when it says so.
      await permits.idle()
      while (this.#running.backgroundWork.size > 0) await Promise.all(this.#running.backgroundWork)
      return await this.#close()
    } finally {
      stopWatch()
      stopLimits()
      stopListening()
      leave.removeEventListener("abort", onLeave)
      await this.#closeHost()
    }
  }

  /**
   * Stored before any work is done: should this process die of the run as well, the next one has to know. A run that got no
   * further each time that it was taken up is ended, or it would take down one process after the other.
   */
  async #resume({ reason, given_back }: Resumption): Promise<void> {
    const { log, past } = this.#running
    if (!given_back && past.vainResumes >= mostVainResumes) {
      const message = `The run was taken up ${past.vainResumes} times and got no further: each time the process that ran it died`
      this.#fail(failure("limit_exceeded", "", message))
      return
    }
    log.add("run_resumed", { reason }, given_back ? { ...thisWriter, given_back } : thisWriter)
    await log.stored().catch((error: unknown) => this.#fail(error))
  }

  /** An agent had failed for good, and the process died before the run's end was written. */
  #fatalFailure(): WireError | null {
    const { past, plan } = this.#running
    const skips = (name: string): boolean => {
      const node = plan.nodes.find((one) => one.kind === "agent" && one.name === name)
      return node?.kind === "agent" && node.on_failure === "skip"
    }
    return past.failures.find(({ agent, error }) => endsRun(error) || !skips(agent))?.error ?? null
  }

  async #work(): Promise<void> {
    const { plan, prepared } = this.#running
    try {
      if (mayWait(plan))
        throw failure("evaluation_error", "", "This service cannot run workflows that wait for people yet")
      resolveBackends(this.#running)
      await openServers(this.#running)
    } catch (error) {
      this.#fail(error)
      return
    }
    await runGraph(
      prepared.waitsFor,
      prepared.dependents,
      (position) => {
        const node = plan.nodes[position]
        switch (node?.kind) {
          case "dynamic":
            return this.#resolveDynamic(node)
          case "agent":
            return this.#runTimed(node)
          case "ask":
            return Promise.reject(new Error(`Nobody answers ${node.id}`))
          case "output":
            return this.#makeOutput(node)
          case undefined:
            return Promise.reject(new Error(`The plan has no node ${position}`))
        }
      },
      () => this.#stop !== null,
      (error) => this.#fail(error),
    )
  }

  async #resolveDynamic(node: DynamicNode): Promise<void> {
    const { ports, log, past, dynamics } = this.#running
    const startedAt = ports.clock.now()
    const effects = workflowEffects(this.#running, node.id, { dynamic: node.name })
    const { value } = await evaluateToKeep(node.value, outerScope(this.#running, node.id), effects)
    dynamics.set(node.name, value)
    if (!past.dynamics.has(placeKey(node.name, null))) {
      log.add("dynamic_resolved", { name: node.name, duration_ms: ports.clock.now() - startedAt })
    }
  }

  async #runTimed(node: AgentNode): Promise<void> {
    try {
      await (node.loop === null ? this.#runOnce(node) : this.#runLoop(node, node.loop))
    } finally {
      this.#running.time.agentEnded(node.name)
    }
  }

  async #runOnce(node: AgentNode): Promise<void> {
    this.#running.agents.set(node.name, await runAgent(this.#running, node, null, () => new Map()))
  }

  async #runLoop(node: AgentNode, loop: NonNullable<AgentNode["loop"]>): Promise<void> {
    const { ports, log, past, agents, limits, maxConcurrency, signal } = this.#running
    const scope = outerScope(this.#running, node.id)
    const effects = workflowEffects(this.#running, node.id, { agent: node.name })
    const items = await evaluateEffects(loop.items, scope, effects)
    if (!Array.isArray(items)) {
      throw problem(textOf(loop.items), `agent.${node.name} loops over an array, found ${describe(items)}`, scope)
    }
    if (items.length > limits.max_iterations) {
      throw failure(
        "limit_exceeded",
        scope.path,
        `agent.${node.name} would loop over ${items.length} items; at most ${limits.max_iterations} are allowed`,
      )
    }
    const iterations = items.length
    const startedBefore = past.loopsStarted.get(node.name)
    const startedAt = startedBefore ?? ports.clock.now()
    if (startedBefore === undefined) log.add("agent_loop_started", { agent: node.name, iterations })
    const outputs: JsonValue[] = Array.from({ length: iterations }, () => null)
    await runEach(
      iterations,
      maxConcurrency,
      async (index) => {
        signal.throwIfAborted()
        const variables = () => this.#loopVariables(node, loop, items[index] ?? null, index)
        outputs[index] = await runAgent(this.#running, node, index, variables)
        const room = log.room()
        if (room !== null) await room
      },
      (error) => this.#fail(error),
    )
    if (!past.loopsCompleted.has(node.name)) {
      const duration_ms = ports.clock.now() - startedAt
      log.add("agent_loop_completed", { agent: node.name, iterations, duration_ms })
    }
    agents.set(node.name, outputs)
  }

  #loopVariables(
    node: AgentNode,
    { pattern }: NonNullable<AgentNode["loop"]>,
    item: JsonValue,
    iteration: number,
  ): ReadonlyMap<string, JsonValue> {
    if (pattern.kind === "item") return new Map([[pattern.variable, item]])
    const variables = new Map<string, JsonValue>()
    for (const { field, variable } of pattern.fields) {
      if (!isJsonObject(item) || !Object.hasOwn(item, field)) {
        const scope = { ...outerScope(this.#running, node.id), iteration }
        throw problem(variable, `the item's field ${field} is not there, found ${describe(item)}`, scope)
      }
      variables.set(variable, item[field] ?? null)
    }
    return variables
  }

  async #makeOutput(node: OutputNode): Promise<void> {
    const { limits } = this.#running
    const scope = outerScope(this.#running, "output")
    const effects = workflowEffects(this.#running, "output", { dynamic: "output" })
    const result: JsonObject = {}
    let bytes = 1
    for (const { key, value } of node.fields) {
      const here = { ...scope, path: `output.${key}` }
      const found = evaluateEffects(value, here, effects)
      const made = found instanceof Promise ? await found : found
      bytes += 2 + sizeOf(key).bytes + sizeOf(made, limits.output_bytes - bytes).bytes
      if (bytes > limits.output_bytes) {
        const message = `The output is larger than the ${limits.output_bytes} bytes of JSON that are allowed`
        throw failure("payload_too_large", "output", message)
      }
      setOwn(result, key, made)
    }
    this.#result = result
  }

  /** The first reason to stop is the one that counts; everything that is open hears of it at once. */
  #end(stop: Stop): void {
    // A log that cannot be written any more outdoes every other reason: nothing can be said about them.
    if (this.#stop !== null && stop.why !== "left" && stop.why !== "store") return
    this.#stop = stop
    if (!this.#abort.signal.aborted) this.#abort.abort(stopping)
  }

  #fail(error: unknown): void {
    if (error instanceof LeaseLost) this.#end({ why: "left" })
    else if (error instanceof StoreFailure) this.#end({ why: "store", error })
    else if (this.#stop !== null) return
    else if (error instanceof RunFailure) this.#end({ why: "failed", error: error.error })
    else {
      this.#running.ports.bug(error)
      this.#end({ why: "failed", error: internalError })
    }
  }

  /** A resumed run whose time was up long ago does not begin again. */
  #watchTime(): () => void {
    const { options, limits, ports } = this.#running
    const allowed = options.timeout_ms ?? limits.timeout_ms
    const passed = ports.clock.now() - this.#startedAt
    return this.#job.deadlines.add(allowed - passed, () => {
      this.#fail(failure("timeout", "", `The run took longer than ${allowed} ms`))
    })
  }

  #limits(): { readonly limits?: ShownRunLimits } {
    const { budget, time } = this.#running
    return budget.limited ? { limits: budget.shown((agent) => time.elapsed(agent)) } : {}
  }

  async #close(): Promise<LogEvent | null> {
    const { log, ports, spent } = this.#running
    const spentNow = { usage: showSpent(spent), ...this.#limits() }
    const stop = this.#stop
    const duration_ms = ports.clock.now() - this.#startedAt
    switch (stop?.why) {
      case undefined:
        return storeEnd(
          log,
          log.add("workflow_completed", { output: { result: this.#result }, ...spentNow, duration_ms }),
        )
      case "failed":
        return storeEnd(log, log.add("workflow_failed", { error: stop.error, ...spentNow, duration_ms }))
      case "cancelled":
        return storeEnd(log, log.add("workflow_cancelled", { ...spentNow, duration_ms }))
      case "left":
        // What has happened is worth storing, if this is still the one who may.
        await log.stored().catch(() => undefined)
        return null
      case "store":
        throw stop.error
    }
  }

  async #closeHost(): Promise<void> {
    try {
      await this.#running.host?.close()
    } catch (error) {
      this.#running.ports.bug(error)
    }
  }
}

/** Prices of the declared models; without a plan none are known. */
function pricesOf(plan: Plan | null): PriceOf {
  return (model) => (plan !== null && Object.hasOwn(plan.models, model) ? (plan.models[model]?.price ?? null) : null)
}

/** How often a run is taken up after a process that died, without getting any further. */
const mostVainResumes = 3

// Made once: an error takes the trouble to remember where it was made.
const stopping = new Error("The run stops")

const internalError: WireError = wireError("internal_error", [
  { path: "", message: "An internal error stopped the run" },
])

/** Calls made by site; a log of release 0.1 has them under other names. */
function siteCallsOf(past: ReplayState, { legacySites }: Prepared): Map<string, number> {
  const counts = new Map(past.siteCalls)
  for (const [site, legacy] of counts.size === 0 ? [] : legacySites) {
    const made = past.siteCalls.get(legacy)
    if (made !== undefined) counts.set(site, made + (past.siteCalls.get(site) ?? 0))
  }
  return counts
}
