import { allRuns } from "../../ports/run-list.ts"
import type { TriggerAnswer } from "../../api/triggers.ts"
import type { WireError } from "../../log/events.ts"
import type { EventPlan, SchedulePlan, TriggerPlan, WebhookPlan } from "../../plan/plan-triggers.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { isStoreTrouble } from "../../ports/store.ts"
import type { RunStore } from "../../ports/store.ts"
import type { LastOutcome, TriggerOutcome, TriggerState } from "../../ports/trigger-store.ts"
import { freshTrigger } from "../../ports/trigger-store.ts"
import { sendEvent, type EventResult } from "../../run/waiting/send-event.ts"
import type { Runs } from "../../run/runs.ts"
import type { NamedWorkflow, WorkflowFolder } from "../workflow-folder.ts"
import type { ServedSchedule } from "./schedules.ts"
import { calendarFor, changeTrigger, idOf, Schedules } from "./schedules.ts"
import { usableSecrets } from "./webhook-signature.ts"
import type { Started, TriggerParts } from "./start-triggered.ts"
import { keyOf, startTriggered } from "./start-triggered.ts"
import type { Delivery } from "./trigger-values.ts"
import { deliveredEvent, deliveredInput, scheduledInput } from "./trigger-values.ts"

export interface TriggersOptions extends Omit<TriggerParts, "runs"> {
  readonly folder: Pick<WorkflowFolder, "ready" | "list" | "get" | "onChange">
  readonly store: RunStore
  readonly runs: Runs
  /** Hears of outcomes; `lagMs` is how late a due time's run was started. */
  readonly counted: (workflow: string, name: string, outcome: TriggerOutcome, lagMs: number | null) => void
  /** The mark of a schedule was ahead of the store's time, and was taken back. */
  readonly tookBack: (workflow: string, schedule: string, mark: number) => void
  readonly bug: (error: unknown) => void
}

/** A schedule or webhook that is served. */
export interface FoundTrigger<Plan extends TriggerPlan = TriggerPlan> {
  readonly workflow: NamedWorkflow
  readonly plan: Plan
}

export type Delivered =
  | { readonly run_id: string }
  /** Of a webhook that sends events. */
  | { readonly event: EventResult }
  /** The condition of the webhook does not hold. */
  | "unwanted"
  | "paused"
  | { readonly error: RunFailure["error"] }

/** How many runs of a workflow are looked at for the last one of a webhook. */
const lookedAt = 100
/** How often a refused delivery of a webhook is written down. */
const refusalMs = 1_000

/** The schedules and webhooks of the workflows that are served. */
export class Triggers {
  readonly #options: TriggersOptions
  readonly #schedules: Schedules
  /** When a refusal of each webhook was written down last. */
  readonly #refusals = new Map<string, number>()
  #stopListening: () => void = () => {}

  constructor(options: TriggersOptions) {
    this.#options = options
    const { store, runs, clock } = options
    this.#schedules = new Schedules({
      clock,
      triggers: store.triggers,
      start: (schedule, calendar, due) => this.#startScheduled(schedule, calendar, due),
      cancel: (run_id) => runs.cancel(run_id),
      status: (run_id) => runs.status(run_id),
      decided: ({ workflow, plan }, outcome, lag) => options.counted(workflow, plan.name, outcome, lag),
      tookBack: ({ workflow, plan }, mark) => options.tookBack(workflow, plan.name, mark),
      bug: options.bug,
    })
  }

  /** The caller that the runs belong to. */
  get caller(): string {
    return this.#options.caller
  }

  /** Schedules are followed from now on. */
  async start(): Promise<void> {
    const { folder } = this.#options
    await folder.ready
    const serve = (): void => this.#schedules.serve(this.#servedSchedules())
    this.#stopListening = folder.onChange(serve)
    serve()
  }

  async stop(): Promise<void> {
    this.#stopListening()
    await this.#schedules.stop()
  }

  *#servedSchedules(): Generator<ServedSchedule> {
    for (const { workflow, plan } of this.#all()) {
      if (plan.kind === "schedule") yield { workflow: workflow.name, plan }
    }
  }

  *#all(): Generator<FoundTrigger> {
    for (const workflow of this.#options.folder.list()) {
      for (const plan of workflow.serving?.described.triggers ?? []) yield { workflow, plan }
    }
  }

  find(workflow: string, name: string): FoundTrigger | undefined {
    const found = this.#options.folder.get(workflow)
    const plan = found?.serving?.described.triggers.find((one) => one.name === name)
    return found === undefined || plan === undefined ? undefined : { workflow: found, plan }
  }

  /** The store's time. */
  get now(): number {
    return this.#options.clock.now()
  }

  /** Answers when every file has been compiled. */
  get ready(): Promise<void> {
    return this.#options.folder.ready
  }

  // -------------------------------------------------------------------------------------------------------- showing

  async list(): Promise<TriggerAnswer[]> {
    const answers: TriggerAnswer[] = []
    for (const found of [...this.#all()].sort(byName)) answers.push(await this.show(found))
    return answers
  }

  async show({ workflow, plan }: FoundTrigger): Promise<TriggerAnswer> {
    const { store, clock } = this.#options
    const id = idOf(workflow.name, plan.name)
    const { state } = (await store.triggers.read(id)) ?? { state: freshTrigger }
    const own = { workflow: workflow.name, name: plan.name }
    const paused = (await store.triggers.pause(id))?.paused ?? false
    if (plan.kind === "webhook") {
      const last = await this.#showLast(await this.#lastDelivered(workflow.name, plan.name, state))
      const sends = plan.event === undefined ? {} : { event: plan.event.name }
      return { ...own, kind: "webhook", path: pathOf(workflow.name, plan.name), ...sends, paused, last }
    }
    const next_at = paused ? null : new Date(calendarFor(plan).next(clock.now())).toISOString()
    const last = await this.#showLast(state.last)
    return { ...own, kind: "schedule", cron: plan.cron, timezone: plan.timezone, next_at, paused, last }
  }

  async #showLast(last: LastOutcome | null): Promise<TriggerAnswer["last"]> {
    if (last === null) return null
    const { run_id, due_at, outcome, error } = last
    return {
      run_id,
      due_at: due_at === null ? null : new Date(due_at).toISOString(),
      outcome,
      status: run_id === null ? null : await this.#options.runs.status(run_id),
      error,
    }
  }

  /** Found among the runs: a webhook that writes down each delivery would wait for itself. Refusals have no run, and are written down. */
  async #lastDelivered(workflow: string, name: string, { last, mark }: TriggerState): Promise<LastOutcome | null> {
    const { store, caller } = this.#options
    const runs = await store.list({ ...allRuns, caller, workflows: [workflow], limit: lookedAt })
    const run = runs.find(({ trigger }) => trigger !== null && "webhook" in trigger && trigger.webhook === name)
    if (run === undefined || (mark !== null && mark > run.created_at)) return last
    return { outcome: "started", run_id: run.run_id, due_at: null, error: null }
  }

  // ------------------------------------------------------------------------------------------------------- steering

  async pause({ workflow, plan }: FoundTrigger): Promise<void> {
    await this.#setPaused(idOf(workflow.name, plan.name), true)
  }

  /** A schedule starts from now. */
  async resume({ workflow, plan }: FoundTrigger): Promise<void> {
    await this.#setPaused(idOf(workflow.name, plan.name), false)
  }

  async #setPaused(id: string, paused: boolean): Promise<void> {
    const { store, clock } = this.#options
    const before = (await store.triggers.pause(id))?.paused ?? false
    if (before !== paused) await store.triggers.setPause(id, { paused, at: clock.now() })
  }

  runNow({ workflow, plan }: FoundTrigger<SchedulePlan>): Promise<Started> {
    return this.#schedules.runNow({ workflow: workflow.name, plan })
  }

  async #startScheduled(
    { workflow: name, plan }: ServedSchedule,
    calendar: ReturnType<typeof calendarFor>,
    due: number | null,
  ): Promise<Started> {
    const { folder, clock, store } = this.#options
    const workflow = folder.get(name)
    if (workflow === undefined)
      return {
        error: new RunFailure({ kind: "validation_error", message: `The workflow ${name} is gone`, issues: [] }).error,
      }
    const id = idOf(name, plan.name)
    const at = due ?? clock.now()
    const kept = plan.previous === undefined ? null : await store.triggers.kept(id)
    const input = caught(() => scheduledInput(plan, calendar, at, kept))
    if (input instanceof RunFailure) return { error: input.error }
    const due_at = due === null ? null : new Date(due).toISOString()
    const key = due_at === null ? null : keyOf(name, plan.name, due_at)
    const keeper = plan.previous === undefined ? undefined : { id, due_at: at }
    return startTriggered(this.#options, workflow, input, { schedule: plan.name, due_at }, key, keeper)
  }

  // ------------------------------------------------------------------------------------------------------ deliveries

  /** Secrets that deliveries may be signed with now. */
  secretsOf({ workflow, plan }: FoundTrigger<WebhookPlan>): string[] {
    return usableSecrets(plan, this.#options.serverSecrets.of(workflow.name, plan.secrets))
  }

  /** Takes in a delivery whose signature is right. */
  async deliver(found: FoundTrigger<WebhookPlan>, delivery: Delivery, name: string): Promise<Delivered> {
    const { store, caller, counted } = this.#options
    const { workflow, plan } = found
    const id = idOf(workflow.name, plan.name)
    if ((await store.triggers.pause(id))?.paused === true) return "paused"
    if (plan.event !== undefined) return this.#sendEvent(found, plan.event, delivery, name)
    const key = keyOf(workflow.name, plan.name, name)
    // The file may have changed since the same delivery came first.
    const before = await store.existing(caller, key)
    if (before !== null) return { run_id: before.run_id }
    const input = caught(() => deliveredInput(plan, delivery))
    if (input === null) {
      counted(workflow.name, plan.name, "skipped", null)
      return "unwanted"
    }
    const started =
      input instanceof RunFailure
        ? { error: input.error }
        : await startTriggered(this.#options, workflow, input, { webhook: plan.name, delivery: name }, key)
    if ("error" in started) {
      counted(workflow.name, plan.name, "refused", null)
      await this.#rememberRefusal(id, started.error)
    } else if (started.isNew) counted(workflow.name, plan.name, "started", null)
    return "error" in started ? started : { run_id: started.run_id }
  }

  async #sendEvent(
    { workflow, plan }: FoundTrigger<WebhookPlan>,
    sends: EventPlan,
    delivery: Delivery,
    id: string,
  ): Promise<Delivered> {
    const { store, caller, counted, planOf, serverSecrets } = this.#options
    const made = caught(() => deliveredEvent(plan, sends, delivery))
    if (made === null) {
      counted(workflow.name, plan.name, "skipped", null)
      return "unwanted"
    }
    const source = idOf(workflow.name, plan.name)
    if (made instanceof RunFailure) {
      counted(workflow.name, plan.name, "refused", null)
      await this.#rememberRefusal(source, made.error)
      return { error: made.error }
    }
    const { name, keep_seconds, everyone } = sends
    const event = await sendEvent(
      {
        store,
        planOf: (text) => planOf(text, caller),
        serverSecrets: (of, names) => serverSecrets.of(of, names),
      },
      { caller, everyone, id, source, name, ...made, keep_seconds },
    )
    counted(workflow.name, plan.name, event.outcome === "taken" ? "started" : "refused", null)
    return { event }
  }

  /** For `last`, now and then: many refusals at once would wait for each other. */
  async #rememberRefusal(id: string, error: WireError): Promise<void> {
    const { store, clock } = this.#options
    const now = clock.now()
    if (Math.abs(now - (this.#refusals.get(id) ?? 0)) < refusalMs) return
    this.#refusals.set(id, now)
    const last: LastOutcome = { outcome: "refused", run_id: null, due_at: null, error }
    await changeTrigger(store.triggers, id, (state) => ({ ...state, mark: now, last })).catch((trouble: unknown) => {
      if (!isStoreTrouble(trouble)) throw trouble
    })
  }
}

/** Where a webhook takes deliveries. */
export function pathOf(workflow: string, name: string): string {
  return `/hooks/${workflow}/${name}`
}

function byName(a: FoundTrigger, b: FoundTrigger): number {
  const [one, other] = [`${a.workflow.name} ${a.plan.name}`, `${b.workflow.name} ${b.plan.name}`]
  return one < other ? -1 : 1
}

function caught<T>(work: () => T): T | RunFailure {
  try {
    return work()
  } catch (error) {
    if (error instanceof RunFailure) return error
    throw error
  }
}
