import type { ClaimedLease, CreateOutcome, Lease, RunStore } from "../../src/ports/store.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { causedBy, noticeEvents, type Notify } from "../../src/ports/notices.ts"
import { wrongMs } from "../../src/ports/store-clock.ts"
import type { GivenAnswer } from "../../src/ports/waits.ts"
import type { Limits } from "../../src/plan/plan-shape.ts"
import { Random } from "../support/random.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import { Client, type Job } from "./client.ts"
import { violations, type StoredEvent, type Tenure } from "./invariants.ts"
import { Ledger } from "./ledger.ts"
import { requestFeatures } from "./coverage.ts"
import type { SetClock, TracedCall } from "./replay.ts"
import { leaseMs, SimulatedService, wrongBy, type Faults } from "./simulated-service.ts"
import { noFaults } from "./simulated-store.ts"
import { noReceiverFaults, receiverOrigin, SimulatedReceiver } from "./simulated-receiver.ts"
import { randomWorkflow } from "./workflows.ts"
import { memoryHome } from "./store-home.ts"
import { World } from "./world.ts"

interface AppliedCreation {
  readonly run_id: string
  readonly owner: string
  readonly outcome: CreateOutcome
  /** Of a run that began before the store had it. */
  readonly begunAt?: number
}

interface AppliedOutcome {
  readonly run_id: string
  readonly kind: "question"
  readonly id: string
  readonly outcome: GivenAnswer
  readonly stored: boolean
}

export interface History {
  readonly seed: number
  readonly problems: readonly string[]
  readonly diary: readonly string[]
  readonly figures: Figures
  /** How often what happened. */
  readonly counts: ReadonlyMap<string, number>
  /** What the store was asked for, and the store. */
  readonly trace: readonly TracedCall[]
  readonly store: RunStore
  /** When it was over, on the store's clock. */
  readonly end: SetClock["at"]
}

export interface Figures {
  readonly runs: number
  readonly events: number
  readonly calls: number
  readonly crashes: number
  readonly resumed: number
  readonly completed: number
}

export const quiet: Faults = {
  store: noFaults,
  model: { retried: 0, failed: 0, hanging: 0, slow: 0, deaf: 0 },
  tools: { failed: 0, unanswered: 0, hanging: 0, slow: 0, deaf: 0, wrong: 0 },
  receiver: noReceiverFaults,
}

/** How long things go wrong, and how long everything may take to end when they no longer do. */
const troubleMs = 40_000
const recoveryMs = 3_600_000

export interface Settings {
  /** Writes down what the memory store is asked for. */
  readonly traced?: boolean
}

/** One seed, one history: services, clients, faults, and what was wrong in the end. */
export async function simulate(seed: number, { traced = false }: Settings = {}): Promise<History> {
  const world = new World(seed)
  const { random } = world
  const trace: TracedCall[] = []
  const ledger = new Ledger(world)
  const tenures = new Map<string, Tenure[]>()
  const stored = new Map<string, StoredEvent[]>()
  /** Runs that have not ended. */
  const open = new Set<string>()
  const answers = new Map<string, JsonValue>()
  const bugs: unknown[] = []
  /** Runs that were taken from a process that held them. */
  const taken: string[] = []
  let crashes = 0
  /** No process stands still. */
  let punctual = true
  /** No process has started while the store's clock was wrong: it would know of no other time. */
  let timely = true
  /** By process: when it was gone. */
  const deaths = new Map<string, number>()
  const receiver = random.chance(0.15) ? new SimulatedReceiver(world, randomNotify(random)) : null

  /** A run is its owner's for the length of a lease. */
  const promised = (): number => world.now + leaseMs
  const hold = (run_id: string, lease: Lease | null, begunAt = world.now): void => {
    const list = tenures.get(run_id) ?? []
    const last = list.at(-1)
    if (last !== undefined) last.until = Math.min(last.until, world.now)
    if (lease !== null) {
      const { owner, fence } = lease
      list.push({ owner, fence, from: world.now, begunAt, until: Number.POSITIVE_INFINITY, promised: promised() })
    }
    tenures.set(run_id, list)
  }
  const applied = (operation: string, detail: unknown): void => {
    if (operation === "create") {
      const { run_id, owner, outcome, begunAt } = detail as AppliedCreation
      if (outcome.outcome === "created") {
        hold(run_id, outcome.lease, begunAt)
        open.add(run_id)
      }
      world.note(`create ${run_id} by ${owner}: ${outcome.outcome}`)
    } else if (operation === "claim") {
      const lease = detail as ClaimedLease
      world.note(`claim ${lease.run_id} by ${lease.owner}`)
      const held = tenures.get(lease.run_id)?.at(-1)
      if (held !== undefined && held.until > world.now && held.promised > world.now) {
        taken.push(`${lease.owner} took ${lease.run_id} from ${held.owner}, which held it`)
      }
      if (held !== undefined && held.until > world.now) {
        const owner = services.find(({ machine }) => machine.name === held.owner)
        world.count(`lease: runs out while its process is ${owner?.machine.state ?? "gone"}`)
      }
      hold(lease.run_id, lease)
    } else if (operation === "renew") {
      const { run_id, fence } = detail as Lease
      const held = tenures.get(run_id)?.at(-1)
      if (held?.fence === fence) held.promised = promised()
    } else if (operation === "release") {
      const lease = detail as Lease
      world.note(`release ${lease.run_id} by ${lease.owner}`)
      if (tenures.get(lease.run_id)?.at(-1)?.fence === lease.fence) hold(lease.run_id, null)
    } else if (operation === "settle") {
      const { run_id, id, outcome, stored: isStored } = detail as AppliedOutcome
      if (isStored) answers.set(`${run_id}/${id}`, outcome.answer)
    } else if (operation === "append") {
      const { lease, events } = detail as { lease: Lease; events: readonly LogEvent[] }
      const list = stored.get(lease.run_id) ?? []
      for (const event of events) {
        list.push({ at: world.now, event })
        world.note(() => `${lease.owner} stores ${lease.run_id} ${event.id} ${event.type} ${about(event)}`)
      }
      stored.set(lease.run_id, list)
      for (const { type } of events) world.count(`event: ${type}`)
      const caused = causedBy(events)
      if (caused !== null && receiver?.notify.events.includes(caused.event) === true) {
        receiver.awaited.add(`${lease.run_id}/${caused.event_id}`)
      }
      const last = events.at(-1)?.type
      if (last === undefined) return
      if (isTerminal(last)) open.delete(lease.run_id)
      if (isTerminal(last) || last === "run_waiting") hold(lease.run_id, null)
    }
  }

  const home = memoryHome(world, applied, traced ? trace : null)
  const faults = randomFaults(world)
  let names = 0
  const services: SimulatedService[] = []
  const begin = (): void => {
    const name = `p${++names}`
    world.note(`start of ${name}`)
    const service = new SimulatedService(name, world, home, { ledger, receiver }, faultsNow(), (error) =>
      bugs.push(error),
    )
    if (service.clock.offset_ms !== 0) world.count("process: its clock is wrong")
    if (home.ownClock.offset_ms !== 0) timely = false
    service.onDeath(() => deaths.set(name, world.now))
    services.push(service)
  }
  let troubled = true
  const faultsNow = (): Faults => (troubled ? faults : quiet)
  const anyService = (): SimulatedService | null => {
    const running = services.filter(({ machine, isReady }) => machine.state === "running" && isReady)
    return running.length === 0 ? null : random.pick(running)
  }

  const restart = (service: SimulatedService): void => {
    service.stop(random.next() * 10_000).then(
      () => service.die(world),
      () => undefined,
    )
    world.after(random.next() * 15_000, null, begin)
  }

  const count = 1 + random.below(random.chance(0.2) ? 5 : 3)
  for (let at = 0; at < count; at++) begin()

  const clients: Client[] = []
  const jobs = 1 + random.below(random.chance(0.3) ? 4 : 2)
  for (let at = 0; at < jobs; at++) {
    const key = random.chance(0.8) ? `key${at}` : null
    const job: Job = {
      label: `run${at}`,
      id: `run${at}`,
      source: workflowOf(seed, random),
      items: random.list(random.below(4), (index) => `i${index}`),
      key,
      edited: false,
      isJson: key === null && !random.chance(0.5),
      named: random.chance(0.3),
      options: {
        cache_key: random.chance(0.15) ? "cache" : null,
        max_concurrency: random.chance(0.2) ? 1 + random.below(3) : null,
        deltas: random.chance(0.15),
      },
      timeout_ms: random.chance(0.1) ? 1_000 + random.below(30_000) : null,
      limits: random.chance(0.3) ? randomLimits(random) : null,
      notify: receiver?.notify ?? null,
      rerun: null,
    }
    // Two clients that ask for the same, at about the same time, are given the same run.
    const twins = key !== null && random.chance(0.3) ? 2 : 1
    if (twins === 2) world.count("client: a second one asks for the same")
    for (const feature of requestFeatures(job)) world.count(feature)
    const asked = random.next() * 3_000
    for (let twin = 0; twin < twins; twin++) {
      const client = new Client(world, job, anyService)
      clients.push(client)
      world.after(asked + random.next() * 50, null, () => client.start())
      if (random.chance(0.15)) world.after(asked + random.next() * 30_000, null, () => client.cancel())
    }
  }

  /** Things go wrong for a while; then everything has time to end. */
  const live = async (most: number): Promise<void> => {
    let aheadMs = 0
    troubled = true
    for (const service of services) service.faults = faults
    for (let at = most; at > 0; at--) {
      world.after(random.next() ** 2 * troubleMs, null, () => {
        const service = anyService()
        if (service === null || !troubled) return
        const { machine } = service
        const trouble = random.below(7)
        const crash = (): void => {
          world.note(`crash of ${machine.name}`)
          crashes++
          service.die(world)
          world.after(random.next() * 15_000, null, begin)
        }
        if (trouble === 6) {
          world.count("process: crashes in place of its next step")
          machine.fuse = { left: 1 + random.below(30), blow: crash }
        } else if (trouble <= 1) {
          world.count("process: crashes")
          crash()
        } else if (trouble === 2) {
          const ms = random.next() * 40_000
          const stand = (): void => {
            world.count("process: stands still")
            world.note(`${machine.name} stands still for ${ms.toFixed(0)} ms`)
            punctual = false
            world.pause(machine)
            world.after(ms, null, () => world.wake(machine))
          }
          // At any time it would mostly be idle: half of them stand still between two steps of what they do.
          if (random.chance(0.5)) stand()
          else {
            world.count("process: stands still in place of its next step")
            machine.fuse = { left: 1 + random.below(30), blow: stand }
          }
        } else if (trouble === 3) {
          world.note(`${machine.name} begins to stop`)
          world.count("process: is told to stop")
          restart(service)
        } else {
          const ms = wrongBy(random)
          // The store's own clock, too, for a moment.
          const isStores = random.chance(0.2)
          const clock = isStores ? home.ownClock : service.clock
          if (isStores) aheadMs = Math.max(aheadMs, ms)
          const isBriefly = isStores || random.chance(0.5)
          world.note(`the clock of ${isStores ? "the store" : machine.name} is set by ${ms.toFixed(0)} ms`)
          world.count(isStores ? "store: its clock jumps" : "process: its clock is set")
          clock.offset_ms += ms
          // Processes that run believe a small jump at once, and those that start believe any.
          const isBelieved =
            Math.abs(clock.offset_ms) <= wrongMs ||
            services.some(({ isReady, machine: { state } }) => !isReady && state !== "dead")
          if (isStores && isBelieved) timely = false
          if (isBriefly) world.after(random.next() * 10_000, null, () => (clock.offset_ms -= ms))
        }
      })
    }

    const isOver = (): boolean =>
      open.size === 0 && clients.every(({ done }) => done) && (receiver?.awaited.size ?? 0) === 0
    await world.run(troubleMs, isOver)
    troubled = false
    world.note("nothing goes wrong any more")
    for (const service of services) {
      world.wake(service.machine)
      service.faults = quiet
      delete service.machine.fuse
    }
    // Those that hang go on hanging, so that only a cancel or the time limit ends their runs.
    begin()
    // A process that starts while the store's own clock is ahead believes it, and its questions expire so much later.
    if (!(await world.run(recoveryMs + aheadMs, isOver))) world.note("not everything ended")
  }

  await live(random.below(8))
  const ended = new Map(clients.flatMap(({ job, run_id, done }) => (run_id === null || !done ? [] : [[run_id, job]])))
  const again = [...ended].filter(() => random.chance(0.25))
  if (again.length > 0) {
    ledger.suffix = "'"
    for (const [run_id, job] of again) {
      const from = random.chance(0.3) ? ["agent.a0"] : []
      const edited = random.chance(0.2)
      const rerun: Job = {
        ...job,
        label: `${job.label}'`,
        source: edited
          ? job.source.replace(/(instruction: "(?!.*instruction: )[^\n]*)"\n/s, '$1 again"\n')
          : job.source,
        edited,
        isJson: false,
        key: `${job.label}'`,
        limits: null,
        rerun: { run_id, from },
      }
      world.count(edited ? "client: runs an edited workflow again" : "client: runs again")
      if (from.length > 0) world.count("client: runs again from a step")
      const client = new Client(world, rerun, anyService)
      clients.push(client)
      world.note(`re-run of ${run_id}${from.length === 0 ? "" : ` from ${from.join()}`}`)
      world.after(random.next() * 3_000, null, () => client.start())
      if (random.chance(0.1)) world.after(random.next() * 20_000, null, () => client.cancel())
    }
    await live(random.below(4))
  }

  const { audit } = home
  const book = { tenures, deaths, stored, answers, receiver, punctual, timely }
  const problems = await violations(audit, clients, ledger, book).catch((error: Error) => [
    `what is stored cannot be read: ${error.message}`,
  ])
  problems.push(...taken)
  for (const run_id of open) problems.push(`run ${run_id} never ended`)
  for (const bug of bugs) problems.push(`a bug was reported: ${bug instanceof Error ? bug.stack : String(bug)}`)
  for (const { machine } of services) world.kill(machine)
  const all = [...stored.values()].flat().map(({ event }) => event)
  return {
    seed,
    problems,
    diary: world.diary,
    counts: world.counts,
    trace,
    store: audit,
    end: { now: home.clock.now(), monotonic: home.clock.monotonic() },
    figures: {
      runs: tenures.size,
      events: all.length,
      calls: ledger.calls.length,
      crashes,
      resumed: all.filter(({ type }) => type === "run_resumed").length,
      completed: all.filter(({ type }) => type === "workflow_completed").length,
    },
  }
}

/** Neighbouring seeds share a few workflows: compiling them would take most of the time of a history. */
const neighbours = 128
const sharedWorkflows = 24
const workflows = new Map<number, string>()

function workflowOf(seed: number, random: Random): string {
  const number = Math.floor(seed / neighbours) * sharedWorkflows + random.below(sharedWorkflows)
  let text = workflows.get(number)
  if (text === undefined) {
    text = randomWorkflow(new Random(number))
    if (workflows.size > 200) workflows.clear()
    workflows.set(number, text)
  }
  return text
}

export function randomFaults({ random }: World): Faults {
  const often = (most: number): number => (random.chance(0.5) ? 0 : random.next() * most)
  return {
    store: {
      failed: often(0.1),
      unanswered: often(0.05),
      late: often(0.03),
      slow: often(0.1),
      unheard: often(0.5),
      twice: often(0.3),
    },
    model: { retried: often(0.3), failed: often(0.1), hanging: often(0.03), slow: often(0.3), deaf: often(0.3) },
    tools: {
      failed: often(0.1),
      unanswered: often(0.1),
      hanging: often(0.03),
      slow: often(0.2),
      deaf: often(0.3),
      wrong: often(0.1),
    },
    receiver: { failed: often(0.2), refused: often(0.2), unanswered: often(0.2), slow: often(0.2) },
  }
}

function randomNotify(random: Random): Notify {
  return { url: `${receiverOrigin}/hook`, events: noticeEvents.filter(() => random.chance(0.7)) }
}

function randomLimits(random: Random): Limits {
  return {
    ...(random.chance(0.5) ? { tokens: 500 + random.below(20_000) } : {}),
    ...(random.chance(0.3) ? { cost: 0.0005 + random.next() ** 2 * 0.02 } : {}),
    ...(random.chance(0.4) ? { model_calls: 1 + random.below(12) } : {}),
    ...(random.chance(0.4) ? { tool_calls: 1 + random.below(8) } : {}),
    ...(random.chance(0.2) ? { time_seconds: 1 + random.below(60) } : {}),
  }
}

function about({ data }: LogEvent): string {
  const { agent, iteration, tool, error } = data as {
    agent?: string
    iteration?: number
    tool?: string
    error?: { message: string }
  }
  return [agent, iteration, tool, error?.message].filter((part) => part !== undefined).join(" ")
}
