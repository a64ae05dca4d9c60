import type { RandomSource } from "../../src/ports/random-source.ts"
import { isStoreTrouble } from "../../src/ports/store.ts"
import { StoreClock } from "../../src/ports/store-clock.ts"
import type { Random } from "../support/random.ts"
import { HttpHost } from "../../src/adapters/http-tools/http-host.ts"
import { ToolHosts } from "../../src/adapters/http-tools/tool-hosts.ts"
import { Tokens } from "../../src/adapters/oauth/tokens.ts"
import { planSource } from "../../src/compiler/source-jobs.ts"
import type { SourceText } from "../../src/source/source-files.ts"
import { Notifier } from "../../src/run/notifications/deliver-notices.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import type { Ledger } from "./ledger.ts"
import { simulatedApi } from "./simulated-api.ts"
import { SimulatedModel, type ModelFaults } from "./simulated-model.ts"
import { receiverOrigin, type ReceiverFaults, type SimulatedReceiver } from "./simulated-receiver.ts"
import type { SimulatedStore, StoreFaults } from "./simulated-store.ts"
import type { StoreHome } from "./store-home.ts"
import { SimulatedTools, type ToolFaults } from "./simulated-tools.ts"
import { WorldClock, type Machine, type World } from "./world.ts"

export interface Faults {
  readonly store: StoreFaults
  readonly model: ModelFaults
  readonly tools: ToolFaults
  readonly receiver: ReceiverFaults
}

/** Whom the services of a history call. */
export interface Outside {
  readonly ledger: Ledger
  readonly receiver: SimulatedReceiver | null
}

export const leaseMs = 10_000

/** What workflows with a name get where they need a secret. */
export const serverSecret = "tk_server_5b2d7e40"

/** The plans of sources: those of neighbouring histories are few. */
const plans = new Map<string, ReturnType<typeof planSource>>()

export function planned(text: SourceText): ReturnType<typeof planSource> {
  const key = text.modules === undefined ? text.source : JSON.stringify([text.source, text.modules])
  let found = plans.get(key)
  if (found === undefined) {
    found = planSource(text)
    if (plans.size > 200) plans.clear()
    plans.set(key, found)
  }
  return found
}

/** By how much a clock may be wrong: by seconds, or by hours. */
export function wrongBy(random: Random): number {
  return (random.next() - 0.5) * (random.chance(0.5) ? 120_000 : 12 * 3_600_000)
}

/** One process of the service: the real engine, on simulated ports. */
export class SimulatedService {
  readonly machine: Machine
  readonly runs: Runs
  readonly store: SimulatedStore
  /** What it takes for the time. */
  readonly clock: WorldClock
  /** The store's time, as it has learned it. */
  readonly storeClock: StoreClock
  readonly #model: SimulatedModel
  readonly #tools: SimulatedTools
  /** Only where somebody is notified. */
  #notifier: Notifier | null = null
  #receiverFaults: ReceiverFaults
  readonly #deaths: (() => void)[] = []
  readonly #stop = new AbortController()
  /** Clients can reach it. */
  isReady = false

  constructor(
    name: string,
    world: World,
    home: StoreHome,
    { ledger, receiver }: Outside,
    faults: Faults,
    bug: (error: unknown) => void,
  ) {
    this.machine = { name, state: "running", missed: [] }
    const { random } = world
    this.clock = new WorldClock(world, this.machine, random.chance(0.3) ? wrongBy(random) : 0)
    const clock = new StoreClock(this.clock)
    this.storeClock = clock
    this.store = home.connect(this.machine, clock, faults.store)
    this.#model = new SimulatedModel(world, this.machine, ledger, faults.model)
    this.#tools = new SimulatedTools(world, this.machine, ledger, faults.tools)
    const source: RandomSource = {
      id: () => `r${random.below(2 ** 31).toString(36)}${random.below(2 ** 31).toString(36)}`,
      fraction: () => random.next(),
    }
    const http = new HttpHost({
      egress: simulatedApi(world, this.machine, ledger, () => this.#tools.faults),
      clock,
      random: source,
      tokens: new Tokens(clock),
    })
    this.runs = new Runs(
      {
        store: this.store,
        model: this.#model,
        tools: new ToolHosts(this.#tools, http),
        clock,
        random: source,
        bug,
        serverSecrets: () => ({ token: serverSecret }),
      },
      (text) => Promise.resolve(planned(text)),
      {
        owner: name,
        leaseMs,
        maxRuns: 1 + random.below(4),
        maxQueued: random.below(5),
        ...(random.chance(0.1) ? { maxWaiting: 1 } : {}),
        limits: { ...defaultLimits, timeout_ms: 120_000 },
      },
    )
    this.#receiverFaults = faults.receiver
    void this.#start().then((isStarted) => {
      if (!isStarted) return
      this.isReady = true
      if (receiver !== null) {
        this.#notifier = new Notifier(
          {
            store: this.store,
            egress: receiver.egress(this.machine, () => this.#receiverFaults),
            clock,
            random: source,
            bug,
          },
          { origins: new Set([receiverOrigin]), secrets: [Buffer.alloc(24)] },
        )
      }
      void this.runs.recover()
    })
  }

  /** As the service starts: it learns the store's time before anything else. */
  async #start(): Promise<boolean> {
    const source = { time: () => this.store.time() }
    const { signal } = this.#stop
    for (;;) {
      try {
        await this.storeClock.learn(source)
        break
      } catch (error) {
        if (!isStoreTrouble(error)) throw error
        await this.clock.sleep(1_000, signal).catch(() => undefined)
      }
      if (signal.aborted) return false
    }
    void this.storeClock.keep(source, { wrong: () => undefined, jumped: () => undefined }, signal)
    return true
  }

  /** As the service stops when it is asked to. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort(new Error("The service stops"))
    await this.runs.drain(graceMs)
    await this.#notifier?.stop(Math.min(graceMs, 2_000))
    await this.store.close()
  }

  set faults(faults: Faults) {
    this.store.faults = faults.store
    this.#model.faults = faults.model
    this.#tools.faults = faults.tools
    this.#receiverFaults = faults.receiver
  }

  /** For a client that is connected: its connection breaks. */
  onDeath(listener: () => void): void {
    this.#deaths.push(listener)
  }

  die(world: World): void {
    world.kill(this.machine)
    for (const listener of this.#deaths.splice(0)) listener()
  }
}
