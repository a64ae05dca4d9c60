import about from "../../../package.json" with { type: "json" }
import { randomUUID } from "node:crypto"
import { getHeapStatistics } from "node:v8"
import { auditRuns } from "../../adapters/telemetry/audit-runs.ts"
import { createMetrics } from "../../adapters/telemetry/metrics.ts"
import { observeStore } from "../../adapters/telemetry/observe-store.ts"
import { logRuns } from "../../adapters/telemetry/log-runs.ts"
import type { RunObserver } from "../../adapters/telemetry/run-observer.ts"
import { timeFirstToken } from "../../adapters/telemetry/time-first-token.ts"
import { shareParts } from "../../run/log/shared-parts.ts"
import { timeStore } from "../../adapters/telemetry/time-store.ts"
import { ThrottledLog } from "../../server/throttled-log.ts"
import { errorStatus } from "../../api/error-kinds.ts"
import { TraceContexts } from "../../adapters/telemetry/trace-contexts.ts"
import { ownTrace } from "../../adapters/telemetry/own-traces.ts"
import { startTraces } from "../../adapters/telemetry/traces.ts"
import { isoTime } from "../../base/iso-time.ts"
import type { ClockReports } from "../../ports/store-clock.ts"
import { Compiler, type SourceToPlan } from "../../compiler/compiler.ts"
import type { Planned } from "../../compiler/source-jobs.ts"
import { startDemoServer } from "../../demo/demo-server.ts"
import { createDemoModel } from "../../demo/handle-demo.ts"
import { PlanCache } from "../../run/plan-cache.ts"
import { isStoreTrouble } from "../../ports/store.ts"
import type { RunLimits, RunPorts } from "../../run/context/run-context.ts"
import { defaultLimits } from "../../run/context/run-context.ts"
import { Health, type TroubleKind } from "../../run/health.ts"
import type { MemoryBounds } from "../../run/shares/memory-share.ts"
import { Notifier, type NotifierPorts } from "../../run/notifications/deliver-notices.ts"
import { Budgets } from "../../run/budget/budgets.ts"
import { Rates } from "../../run/budget/rates.ts"
import { Runs } from "../../run/runs.ts"
import { watchStore } from "../../run/watch-store.ts"
import { createServer } from "../../server/create-server.ts"
import { Groups } from "../../server/groups.ts"
import type { ServerLog } from "../../server/route-dependencies.ts"
import { ServerSecrets } from "../../workflows/server-secrets.ts"
import { Scorer } from "../../workflows/scores/scorer.ts"
import { openMemoryStore } from "../../adapters/memory/memory-store.ts"
import { nano } from "../../ports/ledger.ts"
import { Releases } from "../../workflows/releases/releases.ts"
import { Shadows } from "../../workflows/shadows/shadows.ts"
import { Triggers } from "../../workflows/triggers/triggers.ts"
import { ServedVersions } from "../../workflows/served-versions.ts"
import { WorkflowFolder } from "../../workflows/workflow-folder.ts"
import { auditTo, openTrail } from "./audit.ts"
import { createLog } from "./log.ts"
import type { ProcessLink } from "./processes/link.ts"
import { mcpRoute } from "./mcp-route.ts"
import { countDescriptors } from "../../adapters/system/descriptors.ts"
import { tooFewDescriptors, watchDescriptors } from "../../adapters/system/watch-descriptors.ts"
import { inlineFiles } from "../../run/files/inline-files.ts"
import { openFiles } from "./open-files.ts"
import type { OpenedStore } from "./open-store.ts"
import { isPostgres, openStore, StartRefusal } from "./open-store.ts"
import { runsPerCaller } from "./runs-per-caller.ts"
import { playgroundFiles } from "./playground-files.ts"
import { ProcessCount } from "./process-count.ts"
import { BudgetFile, openPrices, openRates } from "./price-file.ts"
import type { Settings } from "./settings.ts"
import { codeHost } from "./code-host.ts"
import { warnOfSettings } from "./warn-of-settings.ts"
import { withoutLogin } from "./without-login.ts"
import { isLoopback } from "./is-loopback.ts"
import { egressPolicy, joinPorts, traceTargets } from "./join-ports.ts"

/** The service as a whole, with a life: it listens, and it stops. */
export interface Service {
  /** The files of the folder: how many there are, and the names of those that are refused. Null without a folder. */
  readonly workflows: { readonly files: number; readonly refused: readonly string[] } | null
  /** What workflows may reach. */
  readonly egress: ReturnType<typeof egressPolicy>["kind"]
  /** Resolves to an address to call it under, once connections are accepted. */
  listen(): Promise<string>
  /** What it listens on: with `0.0.0.0`, all addresses of the machine. Null before it does. */
  readonly bound: () => string | null
  /** Takes no more work, waits for what is under way at most this long, then closes everything. The log has the reason, such as a signal; null for a service that has not started. */
  stop(graceMs: number, reason: string | null): Promise<void>
}

/** Parts that are not settings and differ only in tests. */
export interface OnlyInTests {
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
  /** Connections at a time. */
  readonly maxConnections?: number
  /** Where log lines go instead of standard error. */
  readonly log?: ServerLog
}

/** Traces that cannot be delivered are logged this often. */
/** What callers' batches of the demo model take, all together. */
const servedBatchBytes = 64 * 1024 * 1024
const tracesEveryMs = 600_000

/** A notification that failed is tried again; one that was given up is not. The receiver is named without its path, which may hold a secret. */
function logNotice(log: ServerLog, ...attempt: Parameters<NonNullable<NotifierPorts["attempted"]>>): void {
  const [outcome, { run_id, event, attempts, url }, error] = attempt
  if (outcome === "delivered") return
  const about = { run_id, event, receiver: URL.parse(url)?.origin ?? "", attempts, error }
  if (outcome === "failed") log.info(about, "notification failed")
  else log.warn(about, "notification given up")
}

/** Nothing is decided by a clock that is wrong, so that this harms no run. Times in this log are that clock's. */
function clockReports(log: ServerLog): ClockReports {
  const seconds = (ms: number): number => Math.round(ms / 1000)
  return {
    wrong: (aheadMs) => log.warn({ offset_seconds: seconds(aheadMs) }, "the clock of this machine is wrong"),
    jumped: (byMs) => log.warn({ seconds: seconds(byMs) }, "the store's time was set"),
  }
}

/** How often objects of files are looked for that no row names. */
const leftoversEveryMs = 6 * 3_600_000

/** A short retention is kept to more closely. */
const sweepEvery = (retention: number): number => Math.min(60_000, Math.max(250, retention / 4))

/**
 * Joins ports to adapters as the settings say. Throws a `StartRefusal` or a `StoreFailure`,
 * each with a sentence for the operator.
 */
export async function compose(
  settings: Settings,
  opening: Promise<OpenedStore> = openStore(settings),
  onlyInTests: OnlyInTests = {},
  link: ProcessLink | null = null,
): Promise<Service> {
  refuseRetention(settings)
  const log = onlyInTests.log ?? createLog(settings.logLevel, link === null ? null : process.pid)
  // The parent has the file: its lines are a chain.
  const trail = link === null ? openTrail(settings.auditFile, log) : null
  const audit = auditTo(trail ?? { append: (fields) => link?.audit(fields) }, log)
  const isFirst = link === null || link.number === 0
  const policy = egressPolicy(settings)
  const targets = traceTargets(settings)
  const serverSecrets = openSecrets(settings, log)
  const prices = openPrices(settings)
  const rateList = openRates(settings)
  const budgetFile =
    settings.budgets === undefined ? null : new BudgetFile(settings.budgets, (sentence) => log.error({}, sentence))
  const code = codeHost(settings.codeMs)
  const compiler = new Compiler({ maxCalled: settings.maxCalled, code: { allowed: settings.code, host: code.host } })
  const folder = await openFolder(settings, compiler, log, isFirst)
  const untraced = new ThrottledLog<{ readonly code?: string }>(tracesEveryMs, (facts, times) =>
    log.error({ ...facts, times }, "traces are not delivered"),
  )
  const traces = await startTraces(process.env, about.version, (message) => {
    // The exporter's message may quote what the collector answered.
    const code = /\b(?:E[A-Z]{4,}|[45]\d\d)\b/.exec(message)?.[0]
    untraced.happened(code === undefined ? {} : { code })
  })
  const opened = await opening
  const { clock } = opened
  if (isFirst) warnOfSettings(settings, log)
  for (const sentence of opened.warnings) log.error({}, sentence)
  const tooFew = tooFewDescriptors(settings.maxRuns)
  if (tooFew !== null) log.error({}, tooFew)
  let releases: Releases | null = null
  let scorer: Scorer | null = null
  let shadows: Shadows | null = null
  const metrics = createMetrics(
    {
      active: () => runs.active,
      queued: () => runs.queued,
      streams: () => streams.size,
      waiting: () => opened.store.waits.counts(),
      paced: () => rates.waiting(),
      budgets: async () => budgets?.ratios(settings.apiKeys?.map(({ name }) => name) ?? [""]) ?? [],
      releases: async () => (await releases?.standings()) ?? [],
      isAlone: link === null,
      files: async () => ({
        bytes: files === null ? 0 : (await files.store.totals(null)).bytes,
        added: files?.added ?? 0,
      }),
      clock,
    },
    Object.keys(errorStatus),
  )
  const processes = new ProcessCount(opened, () => link?.up ?? 1)
  const rates = new Rates(clock, {
    list: rateList,
    processes: () => processes.count,
    waited: (kind, host, ms) => metrics.service.paced(kind, host, ms),
  })
  const contexts = new TraceContexts((run_id) => traces?.context(run_id) ?? null)
  const passesTraces = targets.kind !== "none"
  const observers: RunObserver[] = [
    metrics.observer,
    {
      taken: (run) => releases?.taken(run),
      left: (run_id) => releases?.left(run_id),
      appended: (run_id, events) => releases?.appended(run_id, events),
    },
    { appended: (_run_id, events) => scorer?.appended(events) },
    {
      taken: (run) => shadows?.taken(run),
      left: (run_id) => shadows?.left(run_id),
      appended: (run_id, events) => shadows?.appended(run_id, events),
    },
    ...(traces === null ? [] : [traces.observer]),
    logRuns(log),
    auditRuns(audit),
    ...(passesTraces ? [contexts] : []),
  ]
  const health = new Health(clock, log)
  const timed = timeStore(shareParts(opened.store), metrics.service.store, () => clock.monotonic())
  const watched = watchStore(timed, health, clock, (failure) => {
    if (isPostgres(settings.store)) streams.giveUp(failure)
  })
  const descriptors = watchDescriptors(health)
  const store = observeStore(watched.store, observers)
  const files = await openFiles(settings, store.files, clock)
  const demo = settings.demo ? await startDemoServer({ batchSeconds: settings.demoBatchSeconds }) : null
  const joined = joinPorts(
    policy,
    store,
    clock,
    demo,
    passesTraces ? { targets, contexts } : null,
    (error) => log.error({ err: error }, "unexpected error"),
    settings.maxRuns,
    () => descriptors.met(),
  )
  const owner = randomUUID()
  const budgets =
    budgetFile === null
      ? null
      : new Budgets({
          list: () => budgetFile.list,
          store,
          clock,
          holder: owner,
          bug: (error) => log.error({ err: error }, "unexpected error"),
        })
  const ports = {
    ...joined,
    ...prices,
    ...(budgets !== null && { budgets }),
    rates,
    model: inlineFiles(
      timeFirstToken(
        joined.model,
        () => clock.monotonic(),
        (api, ms) => metrics.service.firstToken(api, ms),
      ),
      files,
    ),
    ...(files !== null && { files: { files, egress: joined.egress } }),
    ...(traces !== null && { ownTrace }),
    taken(run) {
      for (const observer of observers) observer.taken?.(run)
    },
    planned(run_id, scope, plan) {
      for (const observer of observers) observer.planned?.(run_id, scope, plan)
    },
    ...(traces !== null && { responded: (...about) => traces.observer.responded?.(...about) }),
    ...(traces !== null &&
      settings.traceContent !== "none" && {
        content: traces.content(settings.traceContent, settings.traceUnmarked === "all"),
      }),
    started(run_id, queuedMs) {
      for (const observer of observers) observer.started?.(run_id, queuedMs)
    },
    ...(settings.code !== "none" && { code: code.host }),
    serverSecrets: (workflow: string, names: readonly string[]) => serverSecrets.of(workflow, names),
    secretsRead({ run_id, caller, workflow }, secrets) {
      audit({ act: "read_secrets", run_id, caller, ...(workflow !== null && { workflow: workflow.name }), secrets })
    },
    note: (run_id: string, sentence: string, level: "info" | "error") => log[level]({ run_id }, sentence),
    trouble: () => (health.trouble === null ? null : troubleForCallers[health.trouble.kind]),
    shortage: () => (descriptors.isShort() ? troubleForCallers.descriptors : null),
  } satisfies RunPorts
  const plans = new PlanCache((source, share) => compiler.plan(source, share))
  const planOf = (source: SourceToPlan, share: string): Promise<Planned> => plans.get(source, share)
  const perCaller = runsPerCaller(settings)
  const limits: RunLimits = {
    ...defaultLimits,
    maxIterations: settings.maxIterations,
    maxCalled: settings.maxCalled,
    timeout_ms: Math.min(defaultLimits.timeout_ms, settings.maxRunTime),
    maxRunMs: settings.maxRunTime,
    cacheTtlMs: settings.cacheTtl,
    // Where larger bodies are allowed, larger values are too.
    valueBytes: Math.max(defaultLimits.valueBytes, 2 * settings.maxBody),
    keptBytes: settings.maxRunMemory,
    logBytes: settings.maxRunLog,
    codeMs: settings.codeMsPerRun,
    requestBytes: settings.keepRequests ? defaultLimits.requestBytes : 0,
  }
  const runs = new Runs(ports, planOf, {
    owner,
    leaseMs: opened.leaseMs,
    isVolatile: settings.store === "memory",
    maxRuns: settings.maxRuns,
    maxQueued: settings.maxQueued,
    maxRunsPerCaller: perCaller,
    memory: memoryBounds(settings.maxRuns, perCaller),
    ...(link !== null && { places: (limits) => link.places(limits) }),
    maxWaiting: settings.maxWaiting,
    storedPerCaller: () => storedPerCaller(settings, opened.capacity()),
    limits,
  })
  link?.onDeath(() => runs.recoverNow())
  const allMetrics = link?.metrics(async () => (await metrics.text()).text)
  const notifyOrigins = new Set(settings.notifyOrigins)
  const triggers =
    folder === null
      ? null
      : new Triggers({
          folder,
          store,
          runs,
          planOf,
          serverSecrets,
          clock,
          caller: triggerCaller(settings) ?? "",
          counted: (...outcome) => metrics.triggered(...outcome),
          tookBack: (workflow, schedule, mark) =>
            log.warn(
              { workflow, schedule, mark: isoTime(mark) },
              "the mark of a schedule was ahead, and was taken back",
            ),
          bug: (error) => log.error({ err: error }, "unexpected error"),
        })
  const versions =
    folder === null
      ? null
      : new ServedVersions({
          folder,
          store: store.versions,
          compiler,
          clock,
          replica: owner,
          retentionMs: settings.versionRetention,
          callableMs: settings.versionCallable,
          tell: (workflow, sentence, level) => isFirst && log[level]({ workflow }, sentence),
          bug: (error) => log.error({ err: error }, "unexpected error"),
        })
  releases =
    folder === null
      ? null
      : new Releases({
          folder,
          store,
          serverSecrets,
          planOf,
          clock,
          log,
          bug: (error) => log.error({ err: error }, "unexpected error"),
        })
  shadows =
    folder === null
      ? null
      : new Shadows({
          folder,
          ports,
          limits,
          planOf,
          owner,
          leaseMs: opened.leaseMs,
          costPerDay: Math.round(settings.shadowCostPerDay * nano),
          isBusy: () => runs.queued > 0,
          isStopped: async (name, candidate) => (await releases?.isStopped(name, candidate)) ?? true,
          compared: (name) => releases?.judgeSoon(name),
        })
  scorer = new Scorer({
    store,
    planOf,
    judge: {
      clock,
      random: ports.random,
      model: ports.model,
      tools: ports.tools,
      rates,
      serverSecrets: ports.serverSecrets,
      bug: (error) => log.error({ err: error }, "unexpected error"),
      ...prices,
      openStore: () => openMemoryStore(clock),
    },
    costPerDay: Math.round(settings.scoreCostPerDay * nano),
    isBusy: () => runs.queued > 0,
    scored: (workflow, name, value) => {
      metrics.scored(workflow, name, value)
      releases?.judgeSoon(workflow)
    },
    asked: (workflow, calls) => metrics.judged(workflow, calls),
    bug: (error) => log.error({ err: error }, "unexpected error"),
  })
  const groups = new Groups(settings.groups, (settings.apiKeys ?? []).length > 0)
  const mcpParts = { serverSecrets, audit, runs, store, planOf, groups, maxBody: settings.maxBody }
  const mcp = folder === null || releases === null ? null : mcpRoute({ ...mcpParts, folder, releases })
  const { app, drain, streams, actions, close } = createServer({
    version: about.version,
    maxBody: settings.maxBody,
    transit: transitBounds(settings.maxBody, perCaller < settings.maxRuns),
    keys: settings.apiKeys ?? [],
    operatorKeys: settings.operatorKeys ?? [],
    groups: settings.groups,
    browsers: { allowedHosts: settings.allowedHosts, allowedOrigins: settings.allowedOrigins },
    loopback: isLoopback(settings.host),
    rateLimit: settings.rateLimit,
    demo: settings.demo
      ? createDemoModel({ batchSeconds: settings.demoBatchSeconds, batchBytes: servedBatchBytes })
      : null,
    playground: settings.playground ? playgroundFiles() : null,
    runs,
    files,
    store,
    planOf,
    compiler,
    folder,
    serverSecrets,
    triggers,
    versions,
    releases,
    mcp,
    log,
    audit,
    notify: { origins: notifyOrigins, signed: settings.notifySecret !== undefined },
    readsBaggage: passesTraces,
    retentionMs: settings.retention,
    traceUrl: settings.traceUrl ?? null,
    clock,
    budgets,
    metrics: {
      key: settings.metricsKey ?? null,
      text: async () => (allMetrics === undefined ? metrics.text() : { type: metrics.type, text: await allMetrics() }),
      service: metrics.service,
    },
    ...(link !== null && {
      processes: () => ({ up: link.up, of: link.processes }),
      spending: { spent: (caller) => link.spent(caller), onSpent: (listener) => link.onSpent(listener) },
    }),
    trouble: () => health.trouble?.kind ?? null,
    shortage: ports.shortage,
    requestTimeoutMs: onlyInTests.requestTimeoutMs,
    maxConnections: onlyInTests.maxConnections ?? connectionLimit(),
  })
  await app.ready()
  const { notifySecret } = settings
  const notifier =
    notifySecret === undefined
      ? null
      : new Notifier(
          { ...ports, attempted: (...attempt) => (metrics.notified(attempt[0]), logNotice(log, ...attempt)) },
          { origins: notifyOrigins, secrets: notifySecret },
        )
  const { privateRetention } = settings
  let leftoversAt = 0
  const sweepAll = async (): Promise<void> => {
    const now = clock.now()
    await store.sweep(now - settings.retention, privateRetention === undefined ? undefined : now - privateRetention)
    await files?.sweepObjects()
    // It looks at every object.
    if (files === null || clock.monotonic() < leftoversAt) return
    leftoversAt = clock.monotonic() + leftoversEveryMs
    await files.sweepLeftovers()
  }
  const sweep = (): void => {
    sweepAll()
      // Trouble with the store is logged once for all that it concerns.
      .catch((error: unknown) => isStoreTrouble(error) || log.error({ err: error }, "sweep failed"))
  }
  const keepsTime = new AbortController()
  void clock.keep({ time: () => store.time(), learned: opened.learned }, clockReports(log), keepsTime.signal)
  const shortest = Math.min(settings.retention, settings.fileRetention, privateRetention ?? Infinity)
  const sweeper = setInterval(sweep, sweepEvery(shortest)).unref()
  return {
    bound() {
      const found = app.server.address()
      if (found === null || typeof found === "string") return found
      return `http://${found.family === "IPv6" ? `[${found.address}]` : found.address}:${found.port}`
    },
    workflows: folder?.found ?? null,
    egress: policy.kind,
    async listen() {
      const address = await app.listen({ host: settings.host, port: settings.port, backlog: 4096 })
      await runs.recover()
      budgetFile?.watch((paths) => {
        log.info({ budgets: paths }, "the budgets have changed")
        budgets?.changed(paths).catch((error: unknown) => {
          if (!isStoreTrouble(error)) log.error({ err: error }, "unexpected error")
        })
      })
      // Before schedules: a pin decides which ones there are.
      await versions?.start()
      triggers?.start().catch((error: unknown) => log.error({ err: error }, "unexpected error"))
      actions.start()
      scorer?.start()
      // A process that died may have left a deletion half done.
      sweep()
      log.info({ version: about.version, address, store: withoutLogin(settings.store) }, "service started")
      return address
    },
    async stop(graceMs, reason) {
      if (reason !== null) log.info({ reason, runs: runs.active, queued: runs.queued }, "service stops")
      clearInterval(sweeper)
      processes.stop()
      keepsTime.abort(new Error("The service stops"))
      drain()
      releases?.close()
      await triggers?.stop()
      await versions?.stop()
      await actions.stop()
      await scorer?.close()
      await shadows?.close()
      await runs.drain(graceMs)
      budgetFile?.stop()
      await budgets?.close()
      await notifier?.stop(Math.min(graceMs, 2_000))
      watched.stop()
      descriptors.stop()
      await close()
      await mcp?.close()
      await folder?.close()
      await compiler.close()
      await code.close()
      await store.close()
      await files?.close()
      await ports.close()
      await traces?.close()
      await demo?.close()
      untraced.close()
      trail?.close()
      if (reason !== null) log.info({ reason }, "service stopped")
    },
  }
}

/** Throws a `StartRefusal` where the file is wrong, or where strangers could use what it holds. */
function openSecrets(settings: Settings, log: ServerLog): ServerSecrets {
  let secrets: ServerSecrets
  try {
    secrets = new ServerSecrets({
      file: settings.secretsFile,
      variables: settings.secretVariables,
      tell: (sentence) => log.error({}, sentence),
    })
  } catch (error) {
    throw new StartRefusal(error instanceof Error ? error.message : String(error))
  }
  if (secrets.present && !isLoopback(settings.host) && (settings.apiKeys ?? []).length === 0) {
    throw new StartRefusal(
      `This service has secrets of its own and would listen on ${settings.host} without asking for keys: everyone who ` +
        "reaches it could run workflows with them. Set WIRE_API_KEYS, or WIRE_HOST to 127.0.0.1.",
    )
  }
  return secrets
}

/** `tells`: whether this process says what is wrong with the files. Where there are several, one does. */
async function openFolder(
  settings: Settings,
  compiler: Compiler,
  log: ServerLog,
  tells: boolean,
): Promise<WorkflowFolder | null> {
  const { workflows } = settings
  if (workflows === undefined) return null
  const isNamed = triggerCaller(settings) !== null
  try {
    const folder = await WorkflowFolder.open({
      folder: workflows,
      compiler,
      tell: (workflow, sentence, level) => tells && log[level](workflow === "" ? {} : { workflow }, sentence),
      maxRunMs: settings.maxRunTime,
      makesShadows: settings.shadowCostPerDay > 0,
      whyNoTriggers: isNamed ? null : noTriggerCaller(settings),
      bug: (error) => log.error({ err: error }, "unexpected error"),
    })
    if (!isNamed) await refuseTriggers(folder)
    return folder
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error
    throw new StartRefusal(
      `WIRE_WORKFLOWS is "${workflows}": it must be a folder that can be read (${String(error.code)}).`,
    )
  }
}

/** Throws a `StartRefusal` where private values would stay longer than their runs. */
function refuseRetention({ retention, privateRetention }: Settings): void {
  if (privateRetention === undefined || privateRetention <= retention) return
  throw new StartRefusal(
    "WIRE_PRIVATE_RETENTION is longer than WIRE_RETENTION, which deletes whole runs: make it shorter, or WIRE_RETENTION longer.",
  )
}

/** Throws a `StartRefusal` where a file has a schedule or webhook, and nobody is named whose runs they would be. */
async function refuseTriggers(folder: WorkflowFolder): Promise<void> {
  await folder.ready
  for (const { name, issues } of folder.list()) {
    const issue = issues.find(({ code }) => code === "workflow-trigger")
    if (issue === undefined) continue
    await folder.close()
    throw new StartRefusal(`${name}.wire: ${issue.message}.`)
  }
}

/** The caller that runs of triggers belong to; null where none is named. Without keys, all callers are one. */
function triggerCaller({ apiKeys = [], triggerCaller: name }: Settings): string | null {
  if (apiKeys.length === 0) return ""
  return apiKeys.some((key) => key.name === name) && name !== undefined ? name : null
}

function noTriggerCaller({ triggerCaller: name }: Settings): string {
  return name === undefined
    ? "The workflow has a schedule or webhook, and nobody is named whose runs they start: set WIRE_TRIGGER_CALLER to a name of WIRE_API_KEYS"
    : `WIRE_TRIGGER_CALLER is "${name}": it must be a name of WIRE_API_KEYS`
}

const troubleForCallers: Readonly<Record<TroubleKind, string>> = {
  store: "The store cannot be written to right now: no run can begin. Try again later",
  descriptors: "The service is out of file descriptors. Try again later",
}

/** Runs take a few times as much as is counted for them: a quarter of the heap leaves room for the rest. */
function memoryBounds(maxRuns: number, runsPerCaller: number): MemoryBounds {
  const all = getHeapStatistics().heap_size_limit / 4
  return { all, perCaller: runsPerCaller < maxRuns ? all / 2 : all, perRun: all / maxRuns }
}

/** Bodies that are being received and answers that are not read yet: together they may be a quarter as large as the heap, but there is always room for several. */
function transitBounds(maxBody: number, hasShares: boolean): MemoryBounds {
  const all = Math.max(getHeapStatistics().heap_size_limit / 4, 8 * maxBody)
  return { all, perCaller: hasShares ? all / 2 : all, perRun: 0 }
}

/** A connection takes up to this much memory while its request arrives, its headers and a small body. */
const connectionBytes = 64 * 1024

/** Connections at a time. Runs need file descriptors, too. */
function connectionLimit(): number {
  const byMemory = getHeapStatistics().heap_size_limit / connectionBytes
  const descriptors = countDescriptors()
  return Math.floor(Math.min(byMemory, descriptors === null ? Infinity : (descriptors.most * 3) / 4))
}

/** Bytes of the store. The last of it is for the service itself: a full disk stops everything. */
function storedPerCaller(settings: Settings, capacity: number | null): number {
  const given = settings.maxStoredPerCaller
  if (given !== undefined) return given === 0 ? Number.POSITIVE_INFINITY : given
  if (capacity === null || capacity === 0) return Number.POSITIVE_INFINITY
  // Without keys all callers are one.
  const isShared = new Set((settings.apiKeys ?? []).map(({ name }) => name)).size > 1
  return Math.floor(capacity * (isShared ? 0.5 : 0.9))
}
