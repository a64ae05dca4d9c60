import { describeSource } from "../../src/compiler/source-jobs.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { isTerminal, type LogEvent, type StartedWait } from "../../src/log/events.ts"
import type { Delivery, EventAnswer, NewEvent, Receipt } from "../../src/ports/event-store.ts"
import { allRuns } from "../../src/ports/run-list.ts"
import type { Lease } from "../../src/ports/store.ts"
import { sendEvent, type EventResult } from "../../src/run/waiting/send-event.ts"
import type { SourceText } from "../../src/source/source-files.ts"
import type { WebhookPlan } from "../../src/plan/plan-triggers.ts"
import { Triggers } from "../../src/workflows/triggers/triggers.ts"
import type { NamedWorkflow } from "../../src/workflows/workflow-folder.ts"
import type { Random } from "../support/random.ts"
import { defaultOptions } from "../support/run-plan.ts"
import { quiet, randomFaults, type History, type Settings } from "./history.ts"
import { learnedMs } from "./invariants.ts"
import { Ledger } from "./ledger.ts"
import type { TracedCall } from "./replay.ts"
import { planned, SimulatedService, wrongBy } from "./simulated-service.ts"
import type { Applied } from "./simulated-store.ts"
import { memoryHome } from "./store-home.ts"
import { epoch, World } from "./world.ts"

// Runs that wait for times and events, of services that share a store. Senders send events until they are answered, and again; events come before their waits, at the
// same moment, and after them; by a call and by a webhook. Processes crash in place of any step, stand still, and have clocks that are wrong, as does the store.

const troubleMs = 60_000
const calmMs = 60_000
/** Everything ends within this time after the calm. */
const restMs = 3_600_000
/** How late a wait may end on a service that is up: it looks every second, and messages take time. */
const lateMs = 3_000
const callers = ["ann", "bob"] as const
const keys = ["k0", "k1"] as const
const eventName = "paid"

/** A wait, as the log and the store have it. `order` counts what the store did. */
interface SeenWait {
  readonly run_id: string
  readonly started: StartedWait
  readonly opened: number
  readonly openedAt: number
  /** From then on nothing settles it. */
  over: number
  ended: { readonly at: number; readonly because: string; readonly output: JsonValue | undefined } | null
  readonly deliveries: number[]
}

interface SeenEvent {
  readonly event: NewEvent
  readonly received: number
  closed: { readonly order: number; readonly at: number; readonly answer: EventAnswer } | null
  readonly deliveries: { readonly order: number; readonly wait: string }[]
}

/** What one sender sends, with all answers to it. */
interface Sent {
  readonly label: string
  readonly answers: EventAnswer[]
}

/** The workflow of a history: waits after each other, for one event or one for each item, also in a workflow that it calls. */
function sourceOf(random: Random): SourceText {
  const pause = random.chance(0.6)
  const again = random.chance(0.5)
  const loops = random.chance(0.25)
  const expires = (): number => (random.chance(0.4) ? 2 + random.below(40) : 600)
  const expiry = (): string => (random.chance(0.7) ? "on_expiry: { n: -1 }" : "")
  const wait = (name: string, key: string, after: string, more: string): string =>
    `wait ${name}${more} { ${after} event: "${eventName}" key: ${key} expires_seconds: ${expires()} ${expiry()} output { n: integer } }`
  const waits = [
    pause ? `wait pause { seconds: ${(random.next() * 15).toFixed(1)} }` : "",
    loops
      ? wait("paid", "item", pause ? "after: wait.pause" : "", " for item in input.items")
      : wait("paid", "input.key", pause ? "after: wait.pause" : "", ""),
    again ? wait("again", "input.key", "after: wait.paid", "") : "",
    random.chance(0.5) ? `wait until { after: wait.paid until: input.until }` : "",
    random.chance(0.3)
      ? `provider p from openai { endpoint: "http://models.test/v1" }\nmodel m from p { id: "m" price { input: 1 output: 2 } }
agent a0 { model: model.m on_failure: skip instruction: "{{ input.id }} agent.a0"
    output { text: string  n: integer  ok: boolean  mood: enum { good, bad } } }`
      : "",
  ].filter((text) => text !== "")
  const input = "input { id: string  key: string  items: [string]  until: string }"
  const fields = [...waits.join("\n").matchAll(/^(wait|agent) (\w+)/gm)].map(
    ([, kind, name]) => `${name}: ${kind}.${name}`,
  )
  const source = [input, ...waits, `output { ${fields.join("  ")} }`].join("\n")
  if (!random.chance(0.25)) return { source }
  const inner = "id: input.id  key: input.key  items: input.items  until: input.until"
  const outer = [input, `workflow inner from "./inner.wire" {}`]
  const own = random.chance(0.5) ? wait("own", "input.key", "", "") : ""
  outer.push(own, `dynamic { r: call workflow.inner { input { ${inner} } } }`)
  outer.push(`output { r: dynamic.r ${own === "" ? "" : "own: wait.own"} }`)
  return { source: outer.join("\n"), modules: { "inner.wire": source } }
}

/** The webhook that sends events, in the folder of every process. */
function hookOf(random: Random): {
  readonly source: string
  readonly everyone: boolean
  readonly keep_seconds: number
} {
  const everyone = random.chance(0.5)
  const keep_seconds = random.chance(0.5) ? 0 : 60
  const source = `secrets { hook_secret: string }
webhook hook { verify: github secret: secrets.hook_secret event {
    name: "${eventName}" key: body.key data { n: body.n } keep_seconds: ${keep_seconds} ${everyone ? "to: all_callers" : ""} } }
output { ok: true }`
  return { source, everyone, keep_seconds }
}

function folderOf(source: string): ConstructorParameters<typeof Triggers>[0]["folder"] {
  const described = describeSource({ source })
  const loaded = { source, uses: new Set<string>(), version: "0123456789ab", description: null, described }
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

/** One seed, one history of waits and events. */
export async function simulateWaits(seed: number, { traced = false }: Settings = {}): Promise<History> {
  const world = new World(seed)
  const { random } = world
  const trace: TracedCall[] = []
  const problems: string[] = []
  const bugs: unknown[] = []
  const text = sourceOf(random)
  const compiled = planned(text)
  if (!("plan" in compiled)) throw new Error(`The workflow of the history is not valid: ${JSON.stringify(compiled)}`)
  const { plan } = compiled
  const hook = hookOf(random)
  const folder = folderOf(hook.source)

  // ------------------------------------------------------------------------------------------------- what the store did

  let order = 0
  const waits = new Map<string, SeenWait>()
  const events = new Map<number, SeenEvent>()
  /** Of each run: who asked for it, and its last event. */
  const runs = new Map<string, { readonly caller: string; end: LogEvent | null }>()
  const open = new Set<string>()
  const callerOf = (run_id: string): string => runs.get(run_id)?.caller ?? ""
  const applied: Applied = (operation, detail) => {
    order++
    if (operation === "create") {
      const { run_id, outcome } = detail as { readonly run_id: string; readonly outcome: { readonly outcome: string } }
      if (outcome.outcome === "created") open.add(run_id)
    } else if (operation === "append") {
      const { lease, events: stored } = detail as { readonly lease: Lease; readonly events: readonly LogEvent[] }
      for (const event of stored) saw(lease.run_id, event)
    } else if (operation === "receive") {
      const { event, receipt } = detail as { readonly event: NewEvent; readonly receipt: Receipt }
      if (receipt.outcome !== "stored") return
      world.note(`event ${receipt.number} is received: ${JSON.stringify(event)}`)
      events.set(receipt.number, { event, received: order, closed: null, deliveries: [] })
    } else if (operation === "deliver") {
      const { number, wait, delivery } = detail as { number: number; wait: string; delivery: Delivery }
      if (delivery !== "delivered") return
      world.note(`event ${number} goes to ${wait}`)
      events.get(number)?.deliveries.push({ order, wait })
      const seen = waits.get(wait)
      seen?.deliveries.push(number)
      if (seen !== undefined) seen.over = Math.min(seen.over, order)
      const due = Date.parse(seen?.started.expires_at ?? "")
      if (timely && epoch + world.now - learnedMs > due) problems.push(`${wait} took an event after its time`)
    } else if (operation === "close") {
      const { number, answer } = detail as { readonly number: number; readonly answer: EventAnswer }
      const seen = events.get(number)
      world.note(`event ${number} is closed: ${JSON.stringify(answer)}`)
      if (seen !== undefined) seen.closed ??= { order, at: world.now, answer }
    }
  }
  const saw = (run_id: string, event: LogEvent): void => {
    world.count(`event: ${event.type}`)
    world.note(() => `${run_id} ${event.id} ${event.type} ${JSON.stringify(event.data).slice(0, 200)}`)
    if (event.type === "wait_started") {
      const { at: _at, ...started } = event.data
      const began = { opened: order, openedAt: world.now }
      const seen = { run_id, started, ...began, over: Number.POSITIVE_INFINITY, ended: null, deliveries: [] }
      if (waits.has(started.id)) problems.push(`${started.id} began twice`)
      waits.set(started.id, seen)
    } else if (event.type === "wait_ended") {
      const seen = waits.get(event.data.id)
      const { because, output } = event.data
      if (seen === undefined || seen.ended !== null) problems.push(`${event.data.id} ended twice, or never began`)
      else {
        seen.ended = { at: world.now, because, output }
        seen.over = Math.min(seen.over, order)
        judgeTime(seen)
      }
    }
    if (!isTerminal(event.type)) return
    const run = runs.get(run_id)
    if (run !== undefined) run.end = event
    open.delete(run_id)
    for (const seen of waits.values()) if (seen.run_id === run_id) seen.over = Math.min(seen.over, order)
  }
  let calmFrom = Number.POSITIVE_INFINITY
  const judgeTime = ({ openedAt, started: { id, until, expires_at }, ended }: SeenWait): void => {
    const due = ended?.because === "event" ? undefined : (until ?? expires_at)
    if (due === undefined || !timely) return
    const early = Date.parse(due) - epoch - world.now
    if (early > learnedMs) problems.push(`${id} ended ${early} ms early`)
    // It may begin when its time has come already.
    const dueAt = Math.max(Date.parse(due) - epoch, openedAt)
    const late = world.now - dueAt
    if (dueAt > calmFrom && late > lateMs + learnedMs) problems.push(`${id} ended ${late} ms late`)
  }

  // ---------------------------------------------------------------------------------------------------------- processes

  const home = memoryHome(world, applied, traced ? trace : null)
  const ledger = new Ledger(world)
  const faults = randomFaults(world)
  let troubled = true
  /** No process has started while the store's clock was wrong: it would know of no other time. */
  let timely = true
  let names = 0
  let crashes = 0
  interface Serving {
    readonly service: SimulatedService
    readonly triggers: Triggers
  }
  const all: Serving[] = []
  const begin = (): void => {
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
    if (home.ownClock.offset_ms !== 0) timely = false
    const triggers = new Triggers({
      folder,
      store: service.store,
      runs: service.runs,
      planOf: (source) => Promise.resolve(planned(source)),
      serverSecrets: { of: () => ({}) },
      clock: service.storeClock,
      caller: callers[0],
      counted: () => undefined,
      tookBack: () => undefined,
      bug: (error) => bugs.push(error),
    })
    all.push({ service, triggers })
  }
  const some = (): Serving | null => {
    const ready = all.filter(({ service: { machine, isReady } }) => machine.state === "running" && isReady)
    return ready.length === 0 ? null : random.pick(ready)
  }
  const crash = ({ service }: Serving): void => {
    if (service.machine.state === "dead") return
    world.note(`crash of ${service.machine.name}`)
    crashes++
    service.die(world)
    world.after(random.next() * 15_000, null, begin)
  }
  /** Over whatever process there is, until it answers. */
  const persist = <T>(act: (serving: Serving) => Promise<T>, then: (value: T) => void): void => {
    const again = (): void => void world.after(300 + random.next() * 3_000, null, () => persist(act, then))
    const serving = some()
    if (serving === null) return again()
    let isOver = false
    const over = (next: () => void): void => {
      if (isOver) return
      isOver = true
      next()
    }
    serving.service.onDeath(() => over(again))
    act(serving).then(
      (value) => over(() => then(value)),
      () => over(again),
    )
  }

  // ------------------------------------------------------------------------------------------------------------ callers

  let awaited = 0
  const startRun = (label: string, caller: string, until: number): void => {
    awaited++
    const input = {
      id: label,
      key: random.pick(keys),
      items: random.list(random.below(3), () => random.pick(keys)),
      until: new Date(until).toISOString(),
    }
    const cancels = random.chance(0.1) ? random.next() * 30_000 : null
    const ask = (): void =>
      persist(
        async ({ service }) => {
          const admission = await service.runs.admit(plan, {
            caller,
            request: { ...text, input, secrets: {}, options: { ...defaultOptions, timeout_ms: null, limits: null } },
            idempotency: { key: label, fingerprint: label },
          })
          return admission.outcome === "refused" || admission.outcome === "conflict" ? null : admission.run_id
        },
        (run_id) => {
          if (run_id === null) return void world.after(1_000 + random.next() * 3_000, null, ask)
          awaited--
          world.note(`${label} is ${run_id}`)
          runs.set(run_id, { caller, end: runs.get(run_id)?.end ?? null })
          if (cancels === null) return
          world.count("client: cancels")
          world.after(cancels, null, () =>
            persist(
              ({ service }) => service.runs.cancel(run_id),
              () => undefined,
            ),
          )
        },
      )
    ask()
  }

  const sent: Sent[] = []
  let numbers = 0
  const startEvent = (): void => {
    const n = ++numbers
    const fits = random.chance(0.85)
    const byHook = random.chance(0.3)
    const key = random.pick(keys)
    const caller = byHook ? callers[0] : random.pick(callers)
    const id = byHook || random.chance(0.8) ? `e${n}` : null
    const one: Sent = { label: `event ${n}`, answers: [] }
    sent.push(one)
    const event: NewEvent = {
      caller,
      everyone: byHook && hook.everyone,
      id,
      source: byHook ? "flow hook" : "",
      name: eventName,
      key,
      data: { n: fits ? n : `n${n}` },
      keep_seconds: byHook ? hook.keep_seconds : random.pick([0, 5, 120, 3_600]),
    }
    world.count(byHook ? "event: by a webhook" : "event: by a call")
    const give = async ({ service, triggers }: Serving): Promise<EventResult> => {
      if (!byHook) {
        const parts = { store: service.store, planOf: (source: SourceText) => Promise.resolve(planned(source)) }
        return sendEvent(parts, event)
      }
      const [workflow] = folder.list()
      const found = workflow?.serving?.described.triggers.find(({ name }) => name === "hook") as WebhookPlan
      if (workflow === undefined) throw new Error("There is no workflow")
      const body = { key, n: fits ? n : `n${n}` }
      const delivered = await triggers.deliver({ workflow, plan: found }, { body, headers: {}, query: {} }, `e${n}`)
      if (typeof delivered === "string" || !("event" in delivered)) throw new Error(JSON.stringify(delivered))
      return delivered.event
    }
    const send = (more: number): void => {
      awaited++
      const answered = (result: EventResult): void => {
        awaited--
        world.note(`${one.label} is answered: ${JSON.stringify(result)}`)
        if (result.outcome === "taken") one.answers.push(result.answer)
        else if (result.outcome === "misfit") {
          world.count("event: fits no wait")
          if (fits) problems.push(`${one.label} fits, and was refused`)
        } else problems.push(`${one.label} is a ${result.outcome}`)
        if (more === 0) return
        world.count("event: is sent again")
        world.after(random.next() * 20_000, null, () => send(more - 1))
      }
      // Without an id a sender cannot send again what may have been taken.
      if (id !== null) return persist(give, answered)
      const serving = some()
      awaited--
      if (serving !== null) give(serving).catch(() => undefined)
    }
    send(random.below(3))
    if (id === null || !random.chance(0.2)) return
    world.count("event: is sent twice at once")
    world.after(random.next() * 20, null, () => send(0))
  }

  // ------------------------------------------------------------------------------------------------------------ trouble

  for (let at = 1 + random.below(3); at > 0; at--) begin()
  // Waits and events come close to each other: around a few moments.
  const moments = random.list(1 + random.below(3), () => random.next() * troubleMs * 0.8)
  const near = (): number =>
    Math.max(0, random.pick(moments) + (random.next() - 0.5) * random.pick([10, 1_000, 30_000]))
  const jobs = 1 + random.below(4)
  for (let at = 0; at < jobs; at++) {
    const moment = near()
    const until = epoch + moment + random.next() * 40_000
    world.after(moment, null, () => startRun(`run${at}`, random.pick(callers), until))
  }
  for (let at = 1 + random.below(6); at > 0; at--) world.after(near(), null, startEvent)
  for (let at = random.below(8); at > 0; at--) {
    world.after(random.next() * troubleMs, null, () => {
      const serving = some()
      if (serving === null || !troubled) return
      const { machine, clock } = serving.service
      const trouble = random.below(6)
      if (trouble === 0) {
        world.count("process: crashes")
        crash(serving)
      } else if (trouble <= 2) {
        world.count("process: crashes in place of its next step")
        machine.fuse = { left: 1 + random.below(30), blow: () => crash(serving) }
      } else if (trouble === 3) {
        const ms = random.next() * 40_000
        world.count("process: stands still in place of its next step")
        const stand = (): void => {
          world.note(`${machine.name} stands still for ${ms.toFixed(0)} ms`)
          world.pause(machine)
          world.after(ms, null, () => world.wake(machine))
        }
        machine.fuse = { left: 1 + random.below(30), blow: stand }
      } else {
        const ms = wrongBy(random)
        const isStores = random.chance(0.2)
        const isBriefly = isStores || random.chance(0.5)
        const wrong = isStores ? home.ownClock : clock
        world.count(isStores ? "store: its clock jumps" : "process: its clock is set")
        world.note(`the clock of ${isStores ? "the store" : machine.name} is set by ${ms.toFixed(0)} ms`)
        // Processes that run believe a small jump at once, and those that start believe any.
        if (isStores) timely = false
        wrong.offset_ms += ms
        if (isBriefly) world.after(random.next() * 10_000, null, () => (wrong.offset_ms -= ms))
      }
    })
  }
  /** Also where nothing happens. */
  const pass = async (ms: number): Promise<void> => {
    world.after(ms, null, () => undefined)
    await world.run(ms, () => false)
  }
  await pass(troubleMs)
  troubled = false
  world.note("nothing goes wrong any more")
  for (const { service } of all) {
    delete service.machine.fuse
    world.wake(service.machine)
    service.faults = quiet
  }
  begin()
  if (!timely) await pass(10 * 60_000)
  await pass(10_000)
  calmFrom = world.now
  // One after the other: an event that waits, and a wait that waits.
  startEvent()
  startRun("late", callers[0], epoch + world.now + 20_000)
  await pass(calmMs)

  // ---------------------------------------------------------------------------------------------------------- judgement

  const { audit } = home
  const fitting = ({ event: { everyone, caller, name, key, data } }: SeenEvent, wait: SeenWait): boolean =>
    wait.started.event === name &&
    wait.started.key === key &&
    (everyone || caller === callerOf(wait.run_id)) &&
    typeof (data as { readonly n: unknown }).n === "number"
  if ((await audit.sentEvents.unfinished(Number.MAX_SAFE_INTEGER)).length > 0) problems.push("an event still arrives")
  const kept = (await Promise.all(callers.map((caller) => audit.sentEvents.kept(caller, 1_000, 0)))).flat()
  for (const wait of waits.values()) {
    // A process that has learned a wrong time keeps no event that is over by its clock.
    if (!timely || wait.over !== Number.POSITIVE_INFINITY || wait.started.until !== undefined) continue
    // One that is due within the next moment is about to end.
    if (Date.parse(wait.started.expires_at ?? "") < epoch + world.now + 5_000) continue
    for (const { number } of kept) {
      const event = events.get(number)
      if (event !== undefined && fitting(event, wait))
        problems.push(`event ${number} and ${wait.started.id} missed each other`)
    }
  }
  // A service that takes no more runs that wait refuses some until others have ended.
  const isOver = (): boolean => open.size === 0 && awaited === 0
  if (!(await world.run(restMs, isOver)))
    problems.push(`${open.size} runs never ended, ${awaited} requests were never answered`)

  for (const [number, seen] of events) {
    const { closed, deliveries } = seen
    if (closed === null) {
      problems.push(`event ${number} was never closed`)
      continue
    }
    const { answer } = closed
    const first = deliveries.filter((one) => one.order < closed.order)
    if (answer.delivered !== first.length) {
      problems.push(`event ${number} went to ${first.length} waits, and ${JSON.stringify(answer)} was said`)
    }
    const after = deliveries.filter((one) => one.order > closed.order)
    if (after.length > (answer.kept ? 1 : 0))
      problems.push(`event ${number} was taken ${after.length} times when it was over`)
    for (const [index, { wait }] of deliveries.entries()) {
      const opened = waits.get(wait)?.opened ?? 0
      if (opened > seen.received && index > 0)
        problems.push(`a wait took event ${number}, which another had taken before it began`)
    }
    for (const wait of waits.values()) {
      if (!fitting(seen, wait) || deliveries.some((one) => one.wait === wait.started.id)) continue
      const due = Date.parse(wait.started.expires_at ?? "") - epoch - learnedMs
      if (wait.opened < seen.received && wait.over > closed.order && due > closed.at && timely) {
        problems.push(`event ${number} did not go to ${wait.started.id}, which was open`)
      }
    }
    const said = sent.find(({ label }) => label === `event ${/\d+/.exec(JSON.stringify(seen.event.data))?.[0] ?? ""}`)
    for (const one of said?.answers ?? []) {
      const fitsNothing = typeof (seen.event.data as { readonly n: unknown }).n === "string"
      // One that fitted nothing is not remembered: it may have been sent anew.
      if (!fitsNothing && JSON.stringify(one) !== JSON.stringify(answer)) {
        problems.push(`event ${number}: ${JSON.stringify(answer)}, and its sender was told ${JSON.stringify(one)}`)
      }
    }
  }
  for (const { run_id, started, ended, deliveries } of waits.values()) {
    const { id } = started
    if (deliveries.length > 1) problems.push(`${id} took ${deliveries.length} events`)
    const event = events.get(deliveries[0] ?? -1)
    if (ended === null) {
      const end = runs.get(run_id)?.end?.type
      if (end === "workflow_completed") problems.push(`${id} never ended, and its run completed`)
      continue
    }
    if ((event !== undefined) !== (ended.because === "event")) {
      problems.push(`${id} ended because of ${ended.because}, and took ${deliveries.length} events`)
    }
    if (event !== undefined && JSON.stringify(ended.output) !== JSON.stringify(event.event.data)) {
      problems.push(`${id} gave ${JSON.stringify(ended.output)}, and took ${JSON.stringify(event.event.data)}`)
    }
    if (event !== undefined && !event.event.everyone && event.event.caller !== callerOf(run_id)) {
      problems.push(`${id} took the event of another caller`)
    }
  }
  for (const bug of bugs) problems.push(`a bug was reported: ${bug instanceof Error ? bug.stack : String(bug)}`)
  for (const { service } of all) world.kill(service.machine)
  const stored = await audit.list({ ...allRuns, limit: 1_000 })
  const completed = stored.filter(({ run_id }) => runs.get(run_id)?.end?.type === "workflow_completed").length
  return {
    seed,
    problems: [...new Set(problems)],
    diary: world.diary,
    counts: world.counts,
    trace,
    store: audit,
    end: { now: home.clock.now(), monotonic: home.clock.monotonic() },
    figures: { runs: stored.length, events: events.size, calls: ledger.calls.length, crashes, resumed: 0, completed },
  }
}
