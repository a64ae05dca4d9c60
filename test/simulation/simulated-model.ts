import type { JsonObject } from "../../src/base/json-value.ts"
import { pass } from "../../src/ports/gate.ts"
import type { Message } from "../../src/log/messages.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch } from "../../src/ports/model.ts"
import type { TokenUsage } from "../../src/log/events.ts"
import { rejectionReason } from "../../src/ports/model.ts"
import { failure, RunFailure, wireError } from "../../src/ports/run-failure.ts"
import { costOf } from "../../src/log/money.ts"
import { pricedUsage, usageOf } from "../../src/log/usage.ts"
import { answers, callsTools, noRetryProgress, says, textOf } from "../support/scripted-model.ts"
import type { Ledger } from "./ledger.ts"
import type { Machine, World } from "./world.ts"

export interface ModelFaults {
  /** Chances that a call fails and is made again, fails for good, never answers, takes long, goes on when it should stop. */
  readonly retried: number
  readonly failed: number
  readonly hanging: number
  readonly slow: number
  readonly deaf: number
}

/** As often as the real client sends outputs back that do not fit. */
export const maxRepairs = 2

/** A model client on one machine. The answer of a model depends only on the request, not on who asks or how often. */
export class SimulatedModel implements ModelClient {
  readonly #world: World
  readonly #machine: Machine
  readonly #ledger: Ledger
  faults: ModelFaults

  constructor(world: World, machine: Machine, ledger: Ledger, faults: ModelFaults) {
    this.#world = world
    this.#machine = machine
    this.#ledger = ledger
    this.faults = faults
  }

  async turn(request: ModelRequest, watch: ModelWatch): Promise<ModelTurn> {
    const { random } = this.#world
    let attempt = request.attempts_before
    let repairs = request.progress?.repairs ?? 0
    const calls = [...(request.progress?.calls ?? [])]
    for (let retries = request.progress?.retries ?? 0; ; retries++) {
      attempt++
      const asked = currentInstruction(request)
      const [id = "", step = ""] = asked.split(" ", 2)
      const estimate = 20 + Math.ceil(asked.length / 2)
      const reservation = await watch.reserve?.({
        turn: request.turn,
        attempt,
        model: request.name,
        id: request.model,
        price: request.price,
        input_tokens: estimate,
        max_tokens: request.inference.max_tokens ?? null,
      })
      await pass(watch.gate)
      watch.signal.throwIfAborted()
      const fate = random.next()
      const { retried, failed, hanging, slow, deaf } = this.faults
      const answers = fate >= hanging + failed + retried || (fate >= hanging + failed && retries >= 3)
      const tokens: TokenUsage = {
        input_tokens: random.below(estimate),
        output_tokens: random.below(Math.min(reservation?.max_tokens ?? 400, 400)),
        cached_tokens: 0,
        written_tokens: 0,
        reasoning_tokens: 0,
      }
      this.#ledger.record({
        kind: "model",
        owner: this.#machine.name,
        id,
        step: request.contract === null ? `${step}/compact` : step,
        tool: null,
        text: "",
        once: null,
        tokens: answers ? tokens.input_tokens + tokens.output_tokens : 0,
        cost: answers && request.price !== null ? costOf(tokens, request.price) : 0n,
      })
      const takes = random.chance(slow) ? random.next() * 20_000 : random.next() * 1_500
      // One that is deaf answers although nobody waits for it any more.
      const signal = random.chance(deaf) ? new AbortController().signal : watch.signal
      if (fate < hanging) this.#world.count("model: hangs")
      else if (fate < hanging + failed) this.#world.count("model: fails")
      else if (!answers) this.#world.count("model: fails, and is asked again")
      if (takes > 1_500) this.#world.count("model: slow")
      try {
        if (fate < hanging) await this.#wait(1e12, watch.signal)
        for (let deltas = request.deltas ? 2 : 0; deltas > 0; deltas--) {
          await this.#wait(takes / 4, signal)
          watch.delta(attempt, `${deltas}`)
        }
        await this.#wait(takes, signal)
        if (watch.signal.aborted) this.#world.count("model: answers after an abort")
        if (fate < hanging + failed) throw failure("provider_error", "", "The backend answered with status 500")
      } catch (error) {
        reservation?.settle(null, watch.signal.aborted)
        throw error
      }
      if (!answers) {
        reservation?.settle(null, false)
        const delay_ms = 100 * 2 ** retries
        const progress = { ...noRetryProgress, retries: retries + 1, repairs }
        await watch.retried({
          attempt: attempt + 1,
          reason: "The backend answered with status 503",
          delay_ms,
          progress,
        })
        await this.#wait(delay_ms, watch.signal)
        continue
      }
      reservation?.settle(tokens, true)
      const turn = this.#answer(request, asked, repairs)
      const usage = pricedUsage(tokens, request.price)
      const made = turn.calls.map((call) => ({ ...call, attempt, model: request.name, usage }))
      calls.push(...made)
      const judged = turn.kind === "output" ? request.contract?.requirements?.rejections(turn.output) : undefined
      const rejections = (await judged) ?? []
      if (rejections.length === 0) return { ...turn, usage: usageOf(calls), calls }
      if (repairs >= maxRepairs) {
        const [first, ...others] = rejections.map(({ index, message }) => ({
          path: `${request.path}.require[${index}]`,
          message,
        }))
        this.#world.count("model: an output fails its agent")
        throw new RunFailure(
          wireError("output_error", [first ?? { path: request.path, message: "" }, ...others]),
          calls,
        )
      }
      this.#world.count("model: an output is sent back")
      repairs++
      retries = -1
      const progress = { ...noRetryProgress, repairs, new_calls: made }
      const reason = rejectionReason(rejections)
      await watch.retried({ attempt: attempt + 1, reason, delay_ms: 0, progress, requirements: rejections })
    }
  }

  #answer(request: ModelRequest, asked: string, repairs: number): ModelTurn {
    if (request.contract === null) return says(`summary of ${digest(asked)}`, request)
    const turns = turnsSince(request)
    // One that may call a workflow does.
    const [only] = request.tools.length === 1 && request.tools[0]?.name === "inner" ? request.tools : []
    const wanted = only === undefined ? digest(asked) % 3 : 1 + (digest(asked) % 2)
    if (request.tools.length > 0 && turns < wanted) {
      const count = 1 + (digest(`${asked} ${turns}`) % 2)
      const [id = "", step = ""] = asked.split(" ", 2)
      const tools = only === undefined ? request.tools.slice(0, count) : Array.from({ length: count }, () => only)
      const calls = tools.map(({ name }, index) => ({
        name,
        // A model that is asked again gives its calls other ids.
        call_id: `c${Math.floor(this.#world.random.next() * 1e9).toString(36)}`,
        arguments: only === undefined ? { text: `${id} ${step} ${turns}.${index}` } : { id: `${id}@${turns}.${index}` },
      }))
      return callsTools(calls, request)
    }
    const n = digest(asked)
    const output: JsonObject = {
      text: `t${n}`,
      n: (n + repairs) % 7,
      ok: n % 2 === 0,
      mood: n % 3 === 0 ? "bad" : "good",
    }
    return answers(output, request)
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return this.#world.sleep(ms, this.#machine, signal)
  }
}

function currentInstruction(request: ModelRequest): string {
  const found = request.contract === null ? request.input.find(isInstruction) : request.input.findLast(isInstruction)
  return textOf(found)
}

/** The engine says something at times, too: that a tool is used up. */
function isInstruction(message: Message): boolean {
  return message.role === "user" && /^run\d+(?:@[\d.]+)* /.test(textOf(message))
}

/** How often the model has answered since the instruction. */
function turnsSince(request: ModelRequest): number {
  const last = request.input.findLastIndex(isInstruction)
  return request.input.slice(last).filter(({ role }) => role === "assistant").length
}

/** A number that the text decides (FNV-1a). */
export function digest(text: string): number {
  let mixed = 0x811c9dc5
  for (let at = 0; at < text.length; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
