import { Broker } from "../../src/adapters/nats/broker.ts"
import { namesOf } from "../../src/adapters/nats/names.ts"
import { NatsStore } from "../../src/adapters/nats/nats-store.ts"
import { wantedStreams } from "../../src/adapters/nats/streams.ts"
import type { Transport } from "../../src/adapters/nats/transport.ts"
import type { Lease, RunOptions } from "../../src/ports/store.ts"
import { defaultSizes } from "../support/nats-store.ts"
import { defaultOptions } from "../support/run-plan.ts"
import { plainMasterKey } from "./plain-vault.ts"
import { SetClock } from "./replay.ts"
import { directTransport, SimulatedBroker, surroundingsOf } from "./simulated-broker.ts"
import { World } from "./world.ts"

/** Stores that share a broker and a clock. A test puts what it needs between each of them and the broker, and says in which order things happen. */
export class BareStores {
  readonly clock = new SetClock()
  readonly #names = namesOf("sim")
  readonly #world = new World(1)
  readonly broker = new SimulatedBroker(() => this.#world.now, this.clock, wantedStreams(this.#names, defaultSizes, 1))

  async open(between: (direct: Transport) => Partial<Transport> = () => ({})): Promise<NatsStore> {
    const around = surroundingsOf(this.#world, { name: "", state: "running", missed: [] })
    const direct = directTransport(this.broker)
    const broker = new Broker(
      this.#names,
      { ...direct, ...between(direct) },
      { ...around, every: () => () => undefined },
    )
    const store = new NatsStore(broker, { masterKey: plainMasterKey("key"), sizes: defaultSizes, clock: this.clock })
    await store.agreeOnKeys()
    return store
  }

  pass(ms: number): void {
    const { now, monotonic } = this.clock.at
    this.clock.at = { now: now + ms, monotonic: monotonic + ms }
  }
}

export async function createRun(store: NatsStore, options: Partial<RunOptions> = {}, run_id = "run1"): Promise<Lease> {
  const request = { source: "", input: {}, secrets: {}, options: { ...defaultOptions, ...options } }
  const run = { run_id, caller: "", request, created_at: 0, idempotency: null }
  const created = await store.create(run, "first", 10_000)
  if (created.outcome !== "created") throw new Error(created.outcome)
  return created.lease
}
