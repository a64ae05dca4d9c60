import { failure } from "../../src/run/failure.ts"
import type { HostRequest, HostSession, HostWatch, ToolHost } from "../../src/ports/tools.ts"
import { pass } from "../../src/ports/gate.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools, type ServedTool } from "../support/in-process-tools.ts"
import type { Ledger } from "./ledger.ts"
import type { Machine, World } from "./world.ts"

export interface ToolFaults {
  /** Chances that a call fails before anything is done, is done but its answer never arrives, never answers, takes long. */
  readonly failed: number
  readonly unanswered: number
  readonly hanging: number
  readonly slow: number
}

/** The tools of one server, as one machine reaches them: `note` does harm when it is repeated, `look` does not. */
export class SimulatedTools implements ToolHost {
  readonly #world: World
  readonly #machine: Machine
  readonly #ledger: Ledger
  readonly #served: InProcessTools
  faults: ToolFaults

  constructor(world: World, machine: Machine, ledger: Ledger, faults: ToolFaults) {
    this.#world = world
    this.#machine = machine
    this.#ledger = ledger
    this.#served = new InProcessTools({ tools: { note: this.#tool(false), look: this.#tool(true) } })
    this.faults = faults
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const { gate } = watch
    await pass(gate)
    await this.#wait(this.#world.random.next() * 20, watch.signal)
    if (this.#world.random.chance(this.faults.failed / 4)) {
      throw failure("tool_error", "", "The server cannot be reached")
    }
    const session = await this.#served.open(request, watch)
    const call: HostSession["call"] = async (...values) => {
      await pass(gate)
      return session.call(...values)
    }
    return { ...session, call }
  }

  #tool(idempotent: boolean): ServedTool {
    return {
      input: record({ text: string }),
      idempotent,
      call: async (values, _, signal) => {
        const text = typeof values["text"] === "string" ? values["text"] : ""
        const [run = "", step = ""] = text.split(" ", 2)
        const { random } = this.#world
        const fate = random.next()
        const { failed, unanswered, hanging, slow } = this.faults
        const lost = (): Error => failure("tool_error", "", "The connection to the server was lost")
        if (fate < failed) {
          await this.#wait(random.next() * 20, signal)
          throw lost()
        }
        this.#ledger.record({
          kind: "tool",
          owner: this.#machine.name,
          run,
          step,
          once: idempotent ? null : text,
          tokens: 0,
          cost: 0n,
        })
        await this.#wait(random.chance(slow) ? random.next() * 20_000 : random.next() * 500, signal)
        if (fate < failed + hanging) await this.#wait(1e12, signal)
        if (fate < failed + hanging + unanswered) throw lost()
        return { text: `done ${text.length}`, is_error: false }
      },
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return this.#world.sleep(ms, this.#machine, signal)
  }
}
