import { allRuns } from "../../src/ports/run-list.ts"
import { describeSource } from "../../src/compiler/source-jobs.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { LogEvent } from "../../src/log/events.ts"
import type { Lease } from "../../src/ports/store.ts"
import { idOf } from "../../src/workflows/triggers/schedules.ts"
import { calendarOf } from "../../src/plan/schedule-times.ts"
import type { TriggerOutcome } from "../../src/ports/trigger-store.ts"
import type { NamedWorkflow } from "../../src/workflows/workflow-folder.ts"
import type { WebhookPlan } from "../../src/plan/plan-triggers.ts"
import { Triggers, type FoundTrigger } from "../../src/workflows/triggers/triggers.ts"
import { quiet, randomFaults, type History, type Settings } from "./history.ts"
import { learnedMs } from "./invariants.ts"
import { Ledger } from "./ledger.ts"
import type { TracedCall } from "./replay.ts"
import { planned, SimulatedService, wrongBy } from "./simulated-service.ts"
import type { Applied } from "./simulated-store.ts"
import { memoryHome } from "./store-home.ts"
import { World, WorldClock } from "./world.ts"

// Schedules and webhooks of services that share a store: processes die, stand still, stop and come back, their clocks are wrong, operators pause and
// resume, and senders send a delivery until it is taken, and again.

const minuteMs = 60_000
const troubleMs = 12 * minuteMs
/** For as long as nothing goes wrong, and then nothing runs, and then one process does. */
const calmMs = 5 * minuteMs
const goneMs = 7.5 * minuteMs
const backMs = 3 * minuteMs
const startMs = 1_000
/** The longest time for which a process stands still, and then some. */
const stoodStillMs = 3 * minuteMs
const caller = "ann"

/** One process, with the triggers that it serves. */
interface Serving {
  readonly service: SimulatedService
  readonly triggers: Triggers
}

/** A time in which a trigger was paused for certain: from the answer to the one request to the other request. */
interface Paused {
  readonly from: number
  until: number
}

function sourceOf(cron: string, catch_up: string): string {
  return `input { at: string, before: maybe string, since: maybe string }
secrets { hook_secret: string }
schedule timer { cron: "${cron}" catch_up: ${catch_up} input { at: due.at, before: previous.output?.at, since: previous.due_at } }
webhook hook { verify: github secret: secrets.hook_secret input { at: body.id, before: null, since: null } }
output { at: input.at }
`
}

/** The folder of every process: one workflow, which stays as it is. */
function folderOf(source: string) {
  const loaded = {
    source,
    uses: new Set<string>(),
    version: "0123456789ab",
    description: null,
    described: describeSource({ source }),
  }
  const workflow: NamedWorkflow = {
    name: "flow",
    serving: loaded,
    broken: null,
    version: loaded.version,
    issues: [],
    refused: false,
  }
  return {
    ready: Promise.resolve(),
    list: () => [workflow],
    get: (name: string) => (name === workflow.name ? workflow : undefined),
    onChange: () => () => undefined,
  }
}

/** One seed, one history of schedules and webhooks. */
export async function simulateTriggers(seed: number, { traced = false }: Settings = {}): Promise<History> {
  const world = new World(seed)
  const { random } = world
  const trace: TracedCall[] = []
  const problems: string[] = []
  const bugs: unknown[] = []
  const cron = random.pick(["* * * * *", "*/2 * * * *", "1-59/3 * * * *"])
  const catchUp = random.pick(["last", "none"])
  const folder = folderOf(sourceOf(cron, catchUp))
  const calendar = calendarOf(cron, "UTC")
  if (calendar === undefined) throw new Error("The schedule of the history is wrong")
  /** By run: when it was stored, whatever the clock of its process said. */
  const createdAt = new Map<string, number>()
  /** The runs that have completed, in their order, and when. */
  const completed: { readonly run_id: string; readonly at: number }[] = []
  const applied: Applied = (operation, detail) => {
    if (operation === "append") {
      const { lease, events } = detail as { readonly lease: Lease; readonly events: readonly LogEvent[] }
      if (events.at(-1)?.type === "workflow_completed") completed.push({ run_id: lease.run_id, at: world.now })
    }
    if (operation === "create") createdAt.set((detail as { readonly run_id: string }).run_id, world.now)
  }
  const home = memoryHome(world, applied, traced ? trace : null)
  const epoch = new WorldClock(world, null).now() - world.now
  const ledger = new Ledger(world)
  const faults = randomFaults(world)
  let troubled = true
  /** The store's time was right, or wrong for a moment only: then it is known what has to happen at which time. */
  let punctual = true
  const wrongClocks = random.chance(0.5)
  let names = 0
  let crashes = 0
  const counts = new Map<TriggerOutcome, number>()
  const all: Serving[] = []
  /** When at least one process may have run. */
  const alive: { readonly from: number; until: number }[] = []

  const begin = (): Serving => {
    const name = `p${++names}`
    world.note(`start of ${name}`)
    const service = new SimulatedService(
      name,
      world,
      home,
      { ledger, receiver: null },
      troubled ? faults : quiet,
      (error) => bugs.push(error),
    )
    if (!wrongClocks || !troubled) service.clock.offset_ms = 0
    // A process that starts while the store's clock is wrong knows of no other time.
    if (home.ownClock.offset_ms !== 0) punctual = false
    if (service.clock.offset_ms !== 0) world.count("process: its clock is wrong")
    const triggers = new Triggers({
      folder,
      store: service.store,
      runs: service.runs,
      planOf: ({ source }) => Promise.resolve(planned({ source })),
      serverSecrets: { of: () => ({}) },
      clock: service.storeClock,
      caller,
      counted: (_workflow, trigger, outcome) => {
        world.note(`${name}: ${trigger} ${outcome}`)
        world.count(`trigger: ${trigger} ${outcome}`)
        if (trigger === "timer") counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      },
      tookBack: () => {
        world.note(`${name}: took a mark back`)
        world.count("trigger: a mark is taken back")
      },
      bug: (error) => bugs.push(error),
    })
    const whenReady = (): void => {
      if (service.isReady) void triggers.start()
      else world.after(200, service.machine, whenReady)
    }
    whenReady()
    const serving = { service, triggers }
    all.push(serving)
    if (living().length === 1) alive.push({ from: world.now, until: Number.POSITIVE_INFINITY })
    return serving
  }
  /** Also while no process is there that anything could happen to. */
  const pass = async (ms: number): Promise<void> => {
    world.after(ms, null, () => undefined)
    await world.run(ms, () => false)
  }
  const living = (): Serving[] => all.filter(({ service }) => service.machine.state !== "dead")
  const die = ({ service }: Serving): void => {
    if (service.machine.state === "dead") return
    service.die(world)
    const last = alive.at(-1)
    if (living().length === 0 && last !== undefined) last.until = world.now
  }
  const crash = (dying: readonly Serving[], maxMs: number): void => {
    for (const one of dying) {
      world.note(`crash of ${one.service.machine.name}`)
      crashes++
      die(one)
      world.after(random.next() * maxMs, null, () => void begin())
    }
  }
  const some = (): Serving | null => {
    const ready = living().filter(({ service }) => service.machine.state === "running" && service.isReady)
    return ready.length === 0 ? null : random.pick(ready)
  }
  const find = (name: string): FoundTrigger => {
    const workflow = folder.list()[0]
    const plan = workflow?.serving?.described.triggers.find((one) => one.name === name)
    if (workflow === undefined || plan === undefined) throw new Error(`There is no ${name}`)
    return { workflow, plan }
  }

  // ------------------------------------------------------------------------------------------------------- operators

  const pauses = new Map<string, Paused[]>([
    ["timer", []],
    ["hook", []],
  ])
  /** Until it works, over whatever process there is. */
  const steer = (name: string, act: "pause" | "resume", go: () => void): void => {
    const serving = some()
    const again = (): void => void world.after(500 + random.next() * 2_000, null, () => steer(name, act, go))
    if (serving === null) return again()
    world.note(`${act} ${name}`)
    let isOver = false
    const over = (next: () => void): void => {
      if (isOver) return
      isOver = true
      next()
    }
    serving.service.onDeath(() => over(again))
    serving.triggers[act](find(name)).then(
      () => over(go),
      () => over(again),
    )
  }
  const hold = (name: string, ms: number, whenResumed: () => void): void => {
    world.count(`operator: pauses the ${name}`)
    steer(name, "pause", () => {
      const paused: Paused = { from: world.now, until: Number.POSITIVE_INFINITY }
      world.note(`${name} is paused`)
      pauses.get(name)?.push(paused)
      world.after(ms, null, () => {
        // From the first request on it may be resumed.
        paused.until = world.now
        steer(name, "resume", () => {
          whenResumed()
          // A process that comes back now knows of the pause from the store alone.
          if (troubled && random.chance(0.5)) crash(living(), 5_000)
        })
      })
    })
  }

  // --------------------------------------------------------------------------------------------------------- senders

  const webhook = find("hook") as FoundTrigger<WebhookPlan>
  const given = new Map<string, Set<string>>()
  let awaited = 0
  const send = (id: string, more: number): void => {
    const again = (): void => void world.after(1_000 + random.next() * 5_000, null, () => send(id, more))
    const serving = some()
    if (serving === null) return again()
    const began = world.now
    let isOver = false
    const over = (next: () => void): void => {
      if (isOver) return
      isOver = true
      next()
    }
    serving.service.onDeath(() => over(again))
    const delivery = { body: { id }, headers: {}, query: {} }
    serving.triggers.deliver(webhook, delivery, id).then(
      (answer) =>
        over(() => {
          if (answer === "paused" || answer === "unwanted" || !("run_id" in answer)) return again()
          world.note(`delivery ${id}: ${answer.run_id}`)
          const held = pauses.get("hook")?.some(({ from, until }) => from <= began && world.now <= until)
          if (held === true) problems.push(`delivery ${id} was taken while its webhook was paused`)
          const ids = given.get(id) ?? new Set()
          given.set(id, ids.add(answer.run_id))
          if (more === 0) {
            awaited--
            return
          }
          world.count("sender: sends again")
          world.after(random.next() * 2 * minuteMs, null, () => send(id, more - 1))
        }),
      () => over(again),
    )
  }
  for (let at = 2 + random.below(4); at > 0; at--) {
    const id = `d${at}`
    awaited++
    world.after(random.next() * troubleMs, null, () => {
      send(id, random.below(3))
      // The sender did not wait for the answer.
      if (!random.chance(0.4)) return
      awaited++
      world.count("sender: sends twice at once")
      world.after(random.next() * 20, null, () => send(id, 0))
    })
  }

  // ---------------------------------------------------------------------------------------------------------- trouble

  for (let at = 1 + random.below(3); at > 0; at--) begin()
  let resuming = 0
  for (const name of ["timer", "hook"]) {
    if (!random.chance(0.5)) continue
    resuming++
    world.after(random.next() * 5 * minuteMs, null, () => hold(name, random.next() * 5 * minuteMs, () => resuming--))
  }
  for (let at = random.below(7); at > 0; at--) {
    world.after(random.next() * troubleMs, null, () => {
      const serving = some()
      if (serving === null || !troubled) return
      const { machine, clock, runs } = serving.service
      const trouble = random.below(5)
      if (trouble <= 1) {
        // All at once, now and then: nobody is there at a due time.
        const dying = random.chance(0.3) ? living() : [serving]
        world.count(dying.length > 1 ? "process: all crash" : "process: crashes")
        crash(dying, 3 * minuteMs)
      } else if (trouble === 2) {
        const ms = random.next() * 2 * minuteMs
        world.count("process: stands still")
        world.note(`${machine.name} stands still for ${ms.toFixed(0)} ms`)
        world.pause(machine)
        world.after(ms, null, () => world.wake(machine))
      } else if (trouble === 3) {
        world.count("process: is told to stop")
        world.note(`${machine.name} stops`)
        serving.triggers
          .stop()
          .then(() => runs.drain(1_000))
          .then(
            () => die(serving),
            () => undefined,
          )
        world.after(random.next() * 30_000, null, () => void begin())
      } else if (wrongClocks) {
        const ms = wrongBy(random)
        world.count("process: its clock is set")
        world.note(`the clock of ${machine.name} is set by ${ms.toFixed(0)} ms`)
        clock.offset_ms += ms
        if (random.chance(0.5)) world.after(random.next() * 10_000, null, () => (clock.offset_ms -= ms))
      }
    })
  }
  if (random.chance(0.3)) {
    // The store's own clock: for a moment, which does no harm, or until everybody believes it.
    const ms = wrongBy(random)
    const isBriefly = random.chance(0.5)
    punctual = isBriefly
    world.after(random.next() * troubleMs, null, () => {
      world.count(isBriefly ? "store: its clock jumps" : "store: its clock is wrong for minutes")
      world.note(`the clock of the store is set by ${ms.toFixed(0)} ms`)
      home.ownClock.offset_ms += ms
      if (living().some(({ service }) => !service.isReady)) punctual = false
      world.after(isBriefly ? random.next() * 45_000 : 5 * minuteMs, null, () => (home.ownClock.offset_ms -= ms))
    })
  }
  await pass(troubleMs)

  troubled = false
  world.note("nothing goes wrong any more")
  for (const { service } of all) {
    world.wake(service.machine)
    service.faults = quiet
  }
  begin()
  await world.run(20 * minuteMs, () => awaited === 0 && resuming === 0)
  // Until everybody believes the store's time again.
  if (!punctual) await pass(8 * minuteMs)
  if (awaited > 0) problems.push(`${awaited} deliveries were never taken`)
  if (resuming > 0) problems.push("a trigger was never resumed")
  const calmFrom = world.now + 2 * minuteMs
  await pass(2 * minuteMs + calmMs)
  const calmUntil = world.now - 30_000
  world.note("all processes are killed")
  const goneFrom = world.now
  for (const serving of living()) die(serving)
  await pass(goneMs)
  const isGone = alive.every(({ until }) => until <= goneFrom)
  const backFrom = world.now
  begin()
  await pass(backMs)

  // ------------------------------------------------------------------------------------------------------- judgement

  const { audit } = home
  const query = { ...allRuns, limit: 1000 }
  const runs = await audit.list({ ...query, caller })
  const started = new Map<number, number>()
  const startedAt = new Map<number, number>()
  const delivered = new Map<string, string[]>()
  for (const { trigger, run_id } of runs) {
    if (trigger === null) problems.push(`run ${run_id} has no trigger`)
    else if ("webhook" in trigger) {
      delivered.set(trigger.delivery, [...(delivered.get(trigger.delivery) ?? []), run_id])
    } else {
      const due = Date.parse(trigger.due_at ?? "") - epoch
      started.set(due, (started.get(due) ?? 0) + 1)
      const at = createdAt.get(run_id) ?? Number.POSITIVE_INFINITY
      startedAt.set(due, Math.min(startedAt.get(due) ?? at, at))
    }
  }
  const scheduled = runs.filter(({ trigger }) => trigger !== null && "schedule" in trigger)
  const inputs = new Map<string, JsonObject>()
  for (const { run_id } of scheduled) inputs.set(run_id, (await audit.request(run_id)).input)
  const ends = completed.filter(({ run_id }) => inputs.has(run_id))
  for (const [run_id, { before, since }] of inputs) {
    const created = createdAt.get(run_id) ?? Number.POSITIVE_INFINITY
    const own = ends.findLast(({ run_id, at }) => at <= created && inputs.get(run_id)?.["at"] === before)
    if (before !== since) problems.push(`run ${run_id} has the output and the time of two runs`)
    if (before !== null && own === undefined) problems.push(`run ${run_id} was given an output that nobody had made`)
    // A process may have stood still after it had read.
    const later = ends.findLast(({ at }) => at < created - stoodStillMs)
    if (later !== undefined && (own === undefined || own.at < later.at)) {
      problems.push(`run ${run_id} was not given the output of the last run before it`)
    }
  }
  const lastAt = inputs.get(ends.at(-1)?.run_id ?? "")?.["at"] ?? null
  const kept = await audit.triggers.kept(idOf("flow", "timer"))
  if ((kept?.output ?? null) !== (lastAt === null ? null : JSON.stringify({ at: lastAt }))) {
    problems.push(`the schedule remembers ${kept?.output}, and its last run gave ${JSON.stringify(lastAt)}`)
  }
  const show = (at: number): string => new Date(epoch + at).toISOString()
  for (const [due, count] of started) {
    if (count > 1) problems.push(`${show(due)} started ${count} runs`)
    if (calendar.next(epoch + due - 1) !== epoch + due) problems.push(`${show(due)} is no due time`)
  }
  for (const [id, ids] of delivered) if (ids.length > 1) problems.push(`delivery ${id} started ${ids.length} runs`)
  for (const [id, ids] of given) {
    if (ids.size > 1) problems.push(`delivery ${id} was answered with ${ids.size} runs`)
    for (const run_id of ids)
      if (delivered.get(id)?.includes(run_id) !== true) problems.push(`delivery ${id} has no run`)
  }
  if ((counts.get("started") ?? 0) > started.size) problems.push("more due times are counted as started than were")
  const dueIn = (from: number, until: number): number[] => {
    const found: number[] = []
    for (let at = calendar.next(epoch + from); at < epoch + until; at = calendar.next(at)) found.push(at - epoch)
    return found
  }
  // A due time that a wrong time of the store has started before has its run.
  for (const due of dueIn(calmFrom, calmUntil)) if (!started.has(due)) problems.push(`${show(due)} was never started`)
  if (punctual) {
    for (const [due, at] of startedAt) {
      if (due > at + learnedMs) problems.push(`${show(due)} was started at ${show(at)}`)
    }
    for (const { from, until } of pauses.get("timer") ?? []) {
      for (const due of dueIn(from, until - learnedMs)) {
        if (started.has(due)) problems.push(`${show(due)} was paused, and started`)
      }
    }
    if (isGone) {
      world.count("trigger: times are missed")
      const missed = dueIn(goneFrom, backFrom - minuteMs - 1_000)
      const last = dueIn(goneFrom, backFrom).at(-1)
      // A time that comes while the service starts may be the last one instead.
      const isLast = dueIn(backFrom, backFrom + startMs).length === 0
      for (const due of missed) {
        const expected = catchUp === "last" && due === last && isLast
        if (started.has(due) && due !== last) problems.push(`${show(due)} was missed, and started`)
        if (started.has(due) && catchUp === "none") problems.push(`${show(due)} was started with catch_up: none`)
        if (expected && !started.has(due)) problems.push(`${show(due)} was not caught up with`)
      }
    }
  }
  for (const bug of bugs) problems.push(`a bug was reported: ${bug instanceof Error ? bug.stack : String(bug)}`)
  for (const { service } of all) world.kill(service.machine)
  return {
    seed,
    problems: [...new Set(problems)],
    diary: world.diary,
    counts: world.counts,
    trace,
    store: audit,
    end: { now: home.clock.now(), monotonic: home.clock.monotonic() },
    figures: { runs: runs.length, events: 0, calls: 0, crashes, resumed: 0, completed: 0 },
  }
}
