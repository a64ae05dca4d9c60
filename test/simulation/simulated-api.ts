import { Buffer } from "node:buffer"
import { EgressFailure, type Egress, type EgressRequest, type EgressResponse } from "../../src/ports/egress.ts"
import { pass } from "../../src/ports/gate.ts"
import type { Ledger } from "./ledger.ts"
import type { ToolFaults } from "./simulated-tools.ts"
import type { Machine, World } from "./world.ts"

export const apiEndpoint = "http://api.test/v1"

/**
 * An HTTP API, as one machine reaches it. `GET /look/{text}` does no harm when it is repeated; `POST /note` and `POST /mark` do, except with an
 * `Idempotency-Key` that the API knows. `mark` tells whoever calls it the tag in its header.
 */
export function simulatedApi(world: World, machine: Machine, ledger: Ledger, faultsNow: () => ToolFaults): Egress {
  const { random } = world
  const wait = (ms: number, signal: AbortSignal): Promise<void> => world.sleep(ms, machine, signal)
  const lost = (): EgressFailure => new EgressFailure("connection", "The connection was lost")

  async function request({ url, method, headers, body, signal, gate, limits }: EgressRequest): Promise<EgressResponse> {
    await pass(gate)
    const { failed, unanswered, hanging, slow, wrong } = faultsNow()
    const fate = random.next()
    if (fate < failed) {
      await wait(random.next() * 20, signal)
      if (random.chance(0.5)) {
        world.count("api: is out of reach")
        throw lost()
      }
      world.count("api: is busy")
      return answer(url, 503, "busy", random.chance(0.5) ? { "retry-after": "2" } : {})
    }

    const [, tool = "", inPath = ""] = new URL(url).pathname.replace("/v1/", "/").split("/")
    const text = method === "GET" ? decodeURIComponent(inPath) : (JSON.parse(String(body)) as { text: string }).text
    const [id = "", step = ""] = text.split(" ", 2)
    const key = headers["idempotency-key"] ?? null
    const isKnown = key !== null && ledger.keys.has(key)
    if (isKnown) world.count("api: is sent a key again")
    if (key !== null) ledger.keys.add(key)
    const once = method === "GET" || isKnown ? null : text
    ledger.record({ kind: "tool", owner: machine.name, id, step, tool, text, once, tokens: 0, cost: 0n })

    const isStuck = fate < failed + hanging
    const takes = isStuck ? Number.POSITIVE_INFINITY : random.next() * (random.chance(slow) ? 20_000 : 500)
    const patience = limits?.totalMs ?? Number.POSITIVE_INFINITY
    await wait(Math.min(takes, patience), signal)
    if (takes > patience) {
      world.count("api: does not answer in time")
      throw new EgressFailure("total_timeout", "There was no answer in time")
    }
    if (fate < failed + hanging + unanswered) {
      world.count("api: done without an answer")
      throw lost()
    }
    if (random.chance(wrong)) {
      world.count("api: answers with an error")
      return answer(url, 422, `cannot do ${text.length}`)
    }
    const tag = headers["x-tag"] === undefined ? "" : ` with ${headers["x-tag"]}`
    return answer(url, 200, `done ${text.length}${tag}`)
  }

  const unused = (): never => {
    throw new Error("Tools of an api are sent with request")
  }
  return { request, fetch: unused, close: async () => undefined }
}

function answer(url: string, status: number, text: string, headers: Record<string, string> = {}): EgressResponse {
  const bytes = Buffer.from(JSON.stringify(text))
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    url,
    body: (async function* () {
      yield bytes
    })(),
    text: async () => bytes.toString(),
    discard: () => undefined,
  }
}
