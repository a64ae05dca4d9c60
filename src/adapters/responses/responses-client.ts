import type { Egress, EgressLimits } from "../../ports/egress.ts"
import { failure } from "../../run/failure.ts"
import type { Backend, ModelClient } from "../../ports/model.ts"
import type { Chance } from "../../ports/chance.ts"
import type { Clock } from "../../ports/clock.ts"
import { BackendMemory } from "./backend-memory.ts"
import { responsesUrl } from "./responses-url.ts"
import type { Target } from "./turn.ts"
import { Turn } from "./turn.ts"

export interface ResponsesOptions {
  readonly egress: Egress
  readonly clock: Clock
  readonly chance: Chance
  /** What `endpoint: "demo"` means, and a door that leads there and nowhere else; null where it is switched off. */
  readonly demo: { readonly endpoint: string; readonly egress: Egress } | null
  readonly limits?: Partial<EgressLimits>
}

const defaultLimits: EgressLimits = {
  first_byte_ms: 300_000,
  silence_ms: 300_000,
  /** Where a workflow sets no `timeout_seconds`. */
  total_ms: 600_000,
  max_bytes: 64 * 1024 * 1024,
}

/** Models behind any OpenAI-compatible `/responses`. */
export function createResponsesClient(options: ResponsesOptions): ModelClient {
  const memory = new BackendMemory(options.clock)
  const demo = options.demo === null ? null : { ...options.demo, url: responsesUrl(options.demo.endpoint) }
  const limits = { ...defaultLimits, ...options.limits }

  function targetOf(backend: Backend, path: string): Target {
    if (backend.endpoint !== "demo") return { egress: options.egress, url: responsesUrl(backend.endpoint), demo: false }
    if (demo === null) throw failure("provider_error", path, "The demo model is switched off (WIRE_DEMO).")
    return { egress: demo.egress, url: demo.url, demo: true }
  }

  return {
    async turn(request, watch) {
      const lessons = memory.of(request.caller, request.backend.endpoint, request.model)
      const target = targetOf(request.backend, request.path)
      const turn = new Turn({ request, watch, target, lessons, limits, clock: options.clock, chance: options.chance })
      return turn.run()
    },
  }
}
