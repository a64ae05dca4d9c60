import assert from "node:assert/strict"
import { setImmediate as turn } from "node:timers/promises"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { compile } from "../../src/compile.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { allRuns, type RunStatus } from "../../src/ports/run-list.ts"
import { actionKeptMs, type RunAct } from "../../src/ports/run-actions.ts"
import { StoreFailure, type RunStore } from "../../src/ports/store.ts"
import { wrapStore } from "../../src/ports/wrap-store.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { RunActions } from "../../src/server/run-actions.ts"
import { InProcessTools } from "./in-process-tools.ts"
import { Random } from "./random.ts"
import { defaultOptions } from "./run-plan.ts"
import { ScriptedModel } from "./scripted-model.ts"
import { within } from "./within.ts"

// Actions on many runs, while the processes that go on with them die at any call of the store, or work beside each other: whatever happens, each run is acted on once.

const source = "input { n: integer }\noutput { n: input.n }\n"
const acts: readonly RunAct[] = ["retry_failed", "cancel", "delete"]

export interface ActionSeen {
  readonly deaths: number
  /** Processes that worked at the same time as another one. */
  readonly beside: number
  readonly done: number
  readonly refused: number
}

interface Target {
  readonly run_id: string
  readonly caller: string
  readonly status: RunStatus
}

export async function actionHistory(store: RunStore, seed: number): Promise<ActionSeen> {
  const random = new Random(seed)
  const targets: Target[] = []
  for (let count = 3 + random.below(10); count > 0; count--) targets.push(await makeRun(store, random))
  const act = acts[random.below(acts.length)] ?? "delete"
  const id = `action-${systemRandom.id()}`
  const by_operator = act !== "retry_failed" && random.next() < 0.3
  const plan = { act, dry_run: random.next() < 0.15, run_ids: targets.map(({ run_id }) => run_id) }
  const now = systemClock.now()
  await store.actions.add({ id, caller: "ann", by_operator, plan }, now, now + actionKeptMs)
  let [deaths, beside] = [0, 0]
  const all: Process[] = []
  for (;;) {
    const isLast = all.length >= 20
    const count = !isLast && random.next() < 0.3 ? 2 : 1
    if (count > 1) beside += count
    const begun = Array.from({ length: count }, () =>
      begin(store, isLast ? Infinity : random.below(40), random.next() < 0.5),
    )
    all.push(...begun)
    for (const { actions } of begun) actions.begin(id)
    const isDone = async (): Promise<boolean> => (await store.actions.read(id))?.completed === true
    const over = async (): Promise<void> => {
      while (!begun.every(({ isDead }) => isDead()) && !(await isDone())) await turn()
    }
    await within(60_000, `the action of seed ${seed}`, over())
    await Promise.all(begun.map(({ actions }) => actions.stop()))
    deaths += begun.filter(({ isDead }) => isDead()).length
    if (await isDone()) break
  }
  const action = await store.actions.read(id)
  assert.ok(action !== null)
  const unfit = targets.filter((target) => whyNot(target, act, by_operator) !== null)
  const fit = targets.filter((target) => !unfit.includes(target))
  const { progress } = action
  assert.equal(progress.next, targets.length)
  assert.deepEqual(
    progress.failed,
    unfit.map((target) => ({ run_id: target.run_id, message: whyNot(target, act, by_operator) })),
    `seed ${seed}: ${act}`,
  )
  assert.equal(progress.done, plan.dry_run ? 0 : fit.length, `seed ${seed}: ${act}`)
  await check(store, plan.dry_run ? [] : fit, targets, act, seed)
  await Promise.all(all.map(({ runs }) => runs.drain(0).catch(() => undefined)))
  return { deaths, beside, done: progress.done, refused: progress.failed.length }
}

/** What has become of the runs. */
async function check(
  store: RunStore,
  acted: readonly Target[],
  targets: readonly Target[],
  act: RunAct,
  seed: number,
): Promise<void> {
  const ours = new Set(targets.map(({ run_id }) => run_id))
  const listed = await store.list({ ...allRuns, started_by: "rerun", limit: 1_000 })
  const again: string[] = []
  for (const { run_id } of listed) {
    const earlier = (await store.request(run_id)).rerun?.run_id ?? ""
    if (ours.has(earlier)) again.push(earlier)
  }
  const once = act === "retry_failed" ? acted.map(({ run_id }) => run_id) : []
  assert.deepEqual(again.toSorted(), once.toSorted(), `seed ${seed}: re-runs`)
  for (const target of targets) {
    const found = await store.lookup(target.run_id)
    const isActed = acted.includes(target)
    assert.equal(found.found, act === "delete" && isActed ? "expired" : "run", `seed ${seed}: ${act}`)
    if (found.found !== "run") continue
    assert.equal(found.run.cancel_requested, act === "cancel" && isActed && target.status === "queued", `seed ${seed}`)
  }
}

function whyNot({ caller, status }: Target, act: RunAct, by_operator: boolean): string | null {
  if (!by_operator && caller !== "ann") return "There is no such run"
  if (act === "cancel") return status === "completed" || status === "failed" ? "The run has ended" : null
  if (status === "queued") return "The run has not ended"
  return act === "retry_failed" && status === "completed" ? "The run has completed" : null
}

const usage = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0,
}

async function makeRun(store: RunStore, random: Random): Promise<Target> {
  const run_id = systemRandom.id()
  const caller = random.next() < 0.8 ? "ann" : "bob"
  const request = { source, input: { n: random.below(9) }, secrets: {}, options: defaultOptions }
  const created_at = systemClock.now()
  const made = await store.create({ run_id, caller, request, created_at, idempotency: null }, "elsewhere", 3_600_000)
  assert.ok(made.outcome === "created")
  const at = new Date(created_at).toISOString()
  const error = { kind: "timeout", message: "x", issues: [] } as const
  const ends: Readonly<Record<"completed" | "failed" | "cancelled", LogEvent>> = {
    completed: {
      id: 1,
      at,
      type: "workflow_completed",
      data: { output: { result: { n: 1 } }, usage, duration_ms: 1 },
    },
    failed: { id: 1, at, type: "workflow_failed", data: { error, duration_ms: 1 } },
    cancelled: { id: 1, at, type: "workflow_cancelled", data: { duration_ms: 1 } },
  }
  const status = (["failed", "completed", "cancelled", "queued", "failed"] as const)[random.below(5)] ?? "failed"
  if (status !== "queued") await store.append(made.lease, [ends[status]])
  return { run_id, caller, status }
}

interface Process {
  readonly actions: RunActions
  readonly runs: Runs
  readonly isDead: () => boolean
}

/** A process that dies at a call of the store. `after`: the store has done what it was asked, and nobody hears of it. */
function begin(store: RunStore, calls: number, after: boolean): Process {
  let left = calls
  const dead = (): StoreFailure => new StoreFailure("This process has died")
  const mortal = wrapStore(store, (name, method) => {
    // Whoever looks for news reads nothing that matters here.
    if (/^(?:follow|close|(?:\w+\.)?on[A-Z]\w*)$/.test(name)) return null
    return (...args) => {
      if (left <= 0) return Promise.reject(dead())
      left--
      if (left > 0 || after) {
        const answer = method(...args)
        return left > 0 ? answer : Promise.resolve(answer).then(() => Promise.reject(dead()))
      }
      return Promise.reject(dead())
    }
  })
  const compiled = compile(source)
  const planOf = async () => compiled as never
  const owner = systemRandom.id()
  const ports = {
    store: { ...mortal, begin: undefined } as unknown as RunStore,
    model: new ScriptedModel(() => {
      throw new Error("The workflow has no agent")
    }),
    tools: new InProcessTools({ tools: {} }),
    clock: systemClock,
    random: systemRandom,
    bug: () => undefined,
  }
  const settings = { owner, leaseMs: 10_000, maxRuns: 20, maxQueued: 20, limits: defaultLimits }
  const runs = new Runs(ports, planOf, settings)
  const silent = (): undefined => undefined
  const actions = new RunActions({
    store: ports.store,
    files: null,
    runs,
    planOf,
    folder: null,
    serverSecrets: { of: () => ({}) } as never,
    audit: silent,
    notify: { origins: new Set<string>(), signed: false },
    log: { debug: silent, info: silent, warn: silent, error: (about) => assert.fail(String(about["err"])) },
    countErased: silent,
    clock: systemClock,
  })
  return { actions, runs, isDead: () => left <= 0 }
}
