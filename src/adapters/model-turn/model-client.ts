import { apiRequests, type ApiName } from "../../check/provider-kinds.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Egress, EgressLimits } from "../../ports/egress.ts"
import type { ModelClient, ModelRequest } from "../../ports/model.ts"
import { failure, RunFailure } from "../../ports/run-failure.ts"
import { BackendMemory } from "./backend-memory.ts"
import type { ModelApi } from "./model-api.ts"
import type { Target } from "./turn.ts"
import { Turn } from "./turn.ts"
import { modelAnswerBytes, modelCallMs, modelFirstByteMs, modelSilenceMs } from "../../base/limits.ts"

export interface ModelClientOptions {
  readonly egress: Egress
  readonly clock: Clock
  readonly random: RandomSource
  /** What `endpoint: "demo"` means, and an egress that reaches it and nothing else; null where it is switched off. */
  readonly demo: { readonly endpoint: string; readonly egress: Egress } | null
  readonly limits?: Partial<EgressLimits>
  /** Egress for one run's calls, which adds the headers of its trace. */
  readonly traced?: (egress: Egress, run_id: string) => Egress
  /** The APIs by which models are called. */
  readonly api: (name: ApiName) => ModelApi
}

const defaultLimits: EgressLimits = {
  firstByteMs: modelFirstByteMs,
  silenceMs: modelSilenceMs,
  totalMs: modelCallMs,
  max_bytes: modelAnswerBytes,
}

/** Models behind any of the APIs. */
export function createModelClient(options: ModelClientOptions): ModelClient {
  const memory = new BackendMemory(options.clock)
  const { demo, clock, random } = options
  const limits = { ...defaultLimits, ...options.limits }

  function targetOf({ backend, path, run_id }: ModelRequest, api: ModelApi): Target {
    if (backend.endpoint !== "demo") {
      const egress = options.traced?.(options.egress, run_id) ?? options.egress
      return { api, egress, endpoint: backend.endpoint, demo: false }
    }
    if (demo === null) throw failure("provider_error", path, "The demo model is switched off (WIRE_DEMO).")
    return {
      api,
      egress: demo.egress,
      endpoint: demo.endpoint.replace(/\/v1$/, apiRequests[api.name].version),
      demo: true,
    }
  }

  return {
    turn(request, watch) {
      try {
        const { backend } = request
        const target = targetOf(request, options.api(backend.api))
        const quirks = memory.of(request.caller, backend.api, backend.endpoint, request.model)
        const arrival = watch.arrivals?.open(watch.signal)
        const own = arrival === undefined ? watch : { ...watch, arrival }
        return new Turn({ request, watch: own, target, quirks, limits, clock, random }).run()
      } catch (error) {
        if (error instanceof RunFailure) return Promise.reject(error)
        throw error
      }
    },
  }
}
