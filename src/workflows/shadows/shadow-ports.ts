import { isJsonObject } from "../../base/is-json-object.ts"
import type { LogEvent, WireError } from "../../log/events.ts"
import type { AskNode, Plan, WaitNode } from "../../plan/plan-shape.ts"
import type { ModelBatches } from "../../ports/model-batches.ts"
import type { ModelClient } from "../../ports/model.ts"
import { failure, wireError, type RunFailure } from "../../ports/run-failure.ts"
import { LeaseLost, type RunStore } from "../../ports/store.ts"
import { overlayStore } from "../../ports/wrap-store.ts"
import { parseTime } from "../../base/parse-time.ts"
import type { GivenResult, GivenValue, RunPorts } from "../../run/context/run-context.ts"
import type { Files } from "../../run/files/files.ts"
import { fitData } from "../../run/waiting/send-event.ts"
import type { Redactor } from "../../run/secrets/redact.ts"
import type { RecordedRun } from "./recorded-run.ts"
import { ShadowTools } from "./shadow-tools.ts"

/** What becomes of a shadow while it runs. */
export class ShadowCourse {
  /** Calls that were not made. */
  skipped = 0
  /** Why nothing can be said of it; null as long as something can. */
  inconclusive: string | null = null
  #stop: () => void = () => undefined

  stopsBy(stop: () => void): void {
    this.#stop = stop
    if (this.inconclusive !== null) setImmediate(stop)
  }

  /** It stops at once. */
  give(why: string): void {
    this.inconclusive ??= why
    this.#stop()
  }

  /** The same inside of it. */
  endHere(path: string, why: string): RunFailure {
    this.give(why)
    return failure("cancelled", path, why)
  }
}

/** Events by which others would hear of a shadow: people, vendors, clocks. None is stored. */
const reachesOut: { readonly [Type in LogEvent["type"]]?: string } = {
  question_asked: "It asks a person, and no recorded answer fits",
  wait_started: "It waits, and no recorded outcome fits",
  run_waiting: "It waits, and no recorded outcome fits",
  batch_prepared: "It makes its calls in a batch",
}

/**
 * The ports of a shadow: those of any run, but for tools that do not act, people and clocks that answer what the shadowed run was answered, no budgets, and files that are only read.
 */
export function shadowPorts(
  ports: RunPorts,
  plan: Plan,
  recorded: RecordedRun,
  redactor: Redactor,
  course: ShadowCourse,
): RunPorts {
  const { budgets: _budgets, batches: _batches, files, store, model, ...rest } = ports
  const common: Omit<RunPorts, "tools"> = {
    ...rest,
    store: ownLogOnly(store, course),
    model: withoutHosting(model, course),
    batches: noBatches(course),
    ...(files !== undefined && { files: { ...files, files: readOnly(files.files, course) } }),
  }
  const portsOf = (file: string | null, own: Plan): RunPorts => ({
    ...common,
    tools: new ShadowTools(ports.tools, own, {
      recorded: (tool, values) => recorded.call(file, tool, redactor.redact(values)),
      skipped: () => course.skipped++,
    }),
    // No call of a tool waits for an approval: what matters is not made.
    given: (step, iteration) =>
      step.startsWith("tool.") ? { output: {} } : answerOf(own, recorded, file, step, iteration, course),
    givenWait: (step, iteration) => outcomeOf(own, recorded, file, step, iteration, course),
    within(workflow) {
      const called = own.workflows?.[workflow]
      if (called === undefined) throw new Error(`No file is called as ${workflow}`)
      return portsOf(called.file, called.plan)
    },
  })
  return portsOf(null, plan)
}

function answerOf(
  plan: Plan,
  recorded: RecordedRun,
  file: string | null,
  step: string,
  iteration: number | null,
  course: ShadowCourse,
): GivenResult | undefined {
  const node = plan.nodes.find((one): one is AskNode => one.kind === "ask" && one.id === step)
  if (node === undefined) return undefined
  const outcome = recorded.outcome(file, step, iteration) ?? null
  if (outcome === "expired" && node.on_expiry === null) return { error: timeout(step, `Nobody answered ${step}`) }
  if (outcome !== null && outcome !== "expired") {
    const fitted = fitData(outcome.value, node.output, plan.types)
    if ("data" in fitted && isJsonObject(fitted.data)) return { output: fitted.data }
  }
  throw course.endHere(step, `${step} has no recorded answer that fits`)
}

function outcomeOf(
  plan: Plan,
  recorded: RecordedRun,
  file: string | null,
  step: string,
  iteration: number | null,
  course: ShadowCourse,
): GivenValue {
  const node = plan.nodes.find((one): one is WaitNode => one.kind === "wait" && one.id === step)
  const outcome = recorded.outcome(file, step, iteration) ?? null
  if (node !== undefined && outcome !== null) {
    const { awaits } = node
    if (outcome === "expired") {
      if (awaits.kind === "event" && awaits.on_expiry === null) {
        return { error: timeout(step, `No event ${awaits.event} came in time`) }
      }
    } else if (awaits.kind === "event") {
      const fitted = fitData(outcome.value, awaits.output, plan.types)
      if ("data" in fitted) return { value: fitted.data }
    } else if (typeof outcome.value === "string" && parseTime(outcome.value) !== undefined) return outcome
  }
  throw course.endHere(step, `${step} has no recorded outcome that fits`)
}

function timeout(path: string, message: string): WireError {
  return wireError("timeout", [{ path, message }])
}

/** Nothing is written but its own log. What it uses is nobody's: it enters no ledger. */
function ownLogOnly(store: RunStore, course: ShadowCourse): RunStore {
  return overlayStore(store, {
    append(lease, events) {
      const why = events.map(({ type }) => reachesOut[type]).find((one) => one !== undefined)
      if (why === undefined) return store.append(lease, events)
      course.give(why)
      return Promise.reject(new LeaseLost(lease.run_id))
    },
    onCancel(run_id, cancel) {
      course.stopsBy(cancel)
      return store.onCancel(run_id, cancel)
    },
    cache: {
      get: async () => undefined,
      put: async () => undefined,
      purge: async () => 0,
      forget: async () => undefined,
    },
  })
}

/** What a provider hosts may act, and what a model makes is a file. */
function withoutHosting(model: ModelClient, course: ShadowCourse): ModelClient {
  return {
    async turn(request, watch) {
      const { hosted_tools = [], outputs = [], path } = request
      if (hosted_tools.length > 0) throw course.endHere(path, `${path} uses tools that its provider hosts`)
      if (outputs.length > 0) throw course.endHere(path, `${path} makes files`)
      return model.turn(request, watch)
    },
  }
}

function noBatches(course: ShadowCourse): ModelBatches {
  const refuse = (): never => {
    throw course.endHere("", "It makes its calls in a batch")
  }
  return {
    knowsFormat: () => false,
    submit: async () => refuse(),
    find: async () => refuse(),
    look: async () => refuse(),
    results: async () => refuse(),
    cancel: async () => refuse(),
    remove: async () => refuse(),
  }
}

function readOnly(files: Files, course: ShadowCourse): Files {
  return new Proxy(files, {
    get(target, name) {
      if (name === "put") return async () => Promise.reject(course.endHere("", "It makes a file"))
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value
    },
  })
}
