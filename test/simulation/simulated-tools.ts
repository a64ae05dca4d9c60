import type { JsonObject } from "../../src/base/json-value.ts"
import { failure } from "../../src/ports/run-failure.ts"
import type { HostRequest, HostSession, HostWatch, ToolHost } from "../../src/ports/tools.ts"
import { pass } from "../../src/ports/gate.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools, type ServedTool } from "../support/in-process-tools.ts"
import { digest } from "./simulated-model.ts"
import type { Ledger } from "./ledger.ts"
import type { Machine, World } from "./world.ts"

export interface ToolFaults {
  /**
   * Chances that a call fails before anything is done, is done but its answer never arrives, never answers, takes long, goes on when it should
   * stop, and that its answer says that something is wrong.
   */
  readonly failed: number
  readonly unanswered: number
  readonly hanging: number
  readonly slow: number
  readonly deaf: number
  readonly wrong: number
}

/**
 * The tools of one server, as one machine reaches them: `note` and `mark` do harm when they are repeated, `look` does not. `mark` tells whoever calls it
 * the tag that the workflow gave it.
 */
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
    this.#served = new InProcessTools({
      tools: { note: this.#tool("note", false), look: this.#tool("look", true), mark: this.#tool("mark", false) },
      resources: { page: { variables: ["text"], read: (values) => ({ text: textOf(values), media_type: null }) } },
      prompts: {
        hint: {
          arguments: [{ name: "text", required: true }],
          render: (values) => [{ role: "user", text: textOf(values), images: [] }],
        },
      },
    })
    this.faults = faults
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const { gate } = watch
    await pass(gate)
    await this.#wait(this.#world.random.next() * 20, watch.signal)
    if (this.#world.random.chance(this.faults.failed / 4)) {
      this.#world.count("tools: the server is out of reach")
      throw failure("tool_error", "", "The server cannot be reached")
    }
    const session = await this.#served.open(request, watch)
    const passed =
      <A extends unknown[], T>(ask: (...values: A) => Promise<T>) =>
      async (...values: A): Promise<T> => {
        await pass(gate)
        return ask(...values)
      }
    const mayAsk = request.servers.some(({ elicitation }) => elicitation === true)
    return {
      ...session,
      call: passed(async (...values: Parameters<HostSession["call"]>) => {
        const [tool, given, , signal, reply] = values
        // Such a server does nothing before it has its answer.
        if (mayAsk && reply === undefined && tool === "note" && digest(textOf(given)) % 2 === 0) {
          await this.#wait(this.#world.random.next() * 500, signal)
          this.#world.count("tools: asks")
          const form = { type: "object", properties: {}, required: [] }
          const entries = [{ key: "sure", message: textOf(given), schema: form, url: null }]
          return { text: "", is_error: false, asks: { entries, state: textOf(given) } }
        }
        if (reply !== undefined && reply.state !== textOf(given)) throw new Error("The state of another call")
        return session.call(...values)
      }),
      read: passed(async (resource: string, values: JsonObject, signal: AbortSignal) => {
        await this.#done("page", textOf(values), true, signal)
        return session.read(resource, values, signal)
      }),
      render: passed(async (prompt: string, values: JsonObject, signal: AbortSignal) => {
        await this.#done("hint", textOf(values), true, signal)
        return session.render(prompt, values, signal)
      }),
    }
  }

  #tool(name: string, idempotent: boolean): ServedTool {
    return {
      input: record(name === "mark" ? { text: string, tag: string } : { text: string }),
      idempotent,
      call: async (values, _, signal) => {
        const text = textOf(values)
        await this.#done(name, text, idempotent, signal)
        const tag = typeof values["tag"] === "string" ? ` with ${values["tag"]}` : ""
        const wrong = this.#world.random.chance(this.faults.wrong)
        if (wrong) this.#world.count("tools: answers with an error")
        return { text: `done ${text.length}${tag}`, is_error: wrong }
      },
    }
  }

  /** What happens to a call on its way, and who hears of it. */
  async #done(tool: string, text: string, idempotent: boolean, signal: AbortSignal): Promise<void> {
    const [id = "", step = ""] = text.split(" ", 2)
    const { random } = this.#world
    const fate = random.next()
    const { failed, unanswered, hanging, slow, deaf } = this.faults
    const lost = (): Error => failure("tool_error", "", "The connection to the server was lost")
    if (fate < failed) {
      this.#world.count("tools: fails")
      await this.#wait(random.next() * 20, signal)
      throw lost()
    }
    const asked = { kind: "tool", owner: this.#machine.name, id, step, tool, text } as const
    this.#ledger.record({ ...asked, once: idempotent ? null : text, tokens: 0, cost: 0n })
    const isDeaf = random.chance(deaf)
    const takes = random.chance(slow) ? random.next() * 20_000 : random.next() * 500
    if (takes > 500) this.#world.count("tools: slow")
    await this.#wait(takes, isDeaf ? new AbortController().signal : signal)
    if (isDeaf && signal.aborted) this.#world.count("tools: answers after an abort")
    if (fate < failed + hanging) {
      this.#world.count("tools: hangs")
      await this.#wait(1e12, signal)
    }
    if (fate < failed + hanging + unanswered) {
      this.#world.count("tools: done without an answer")
      throw lost()
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return this.#world.sleep(ms, this.#machine, signal)
  }
}

function textOf(values: JsonObject): string {
  return typeof values["text"] === "string" ? values["text"] : ""
}
