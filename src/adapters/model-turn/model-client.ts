import { apiRequests, type ApiName } from "../../check/provider-kinds.ts"
import type { RandomSource } from "../../ports/random-source.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Egress, EgressLimits } from "../../ports/egress.ts"
import type { BatchTarget, ModelBatches } from "../../ports/model-batches.ts"
import type { ModelClient, ModelRequest } from "../../ports/model.ts"
import { failure, RunFailure } from "../../ports/run-failure.ts"
import { BackendMemory } from "./backend-memory.ts"
import { BatchVendor, submission, type BatchApi } from "./batch-api.ts"
import type { ModelApi } from "./model-api.ts"
import { SentBeginnings } from "./sent-beginnings.ts"
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

/** Models behind any of the APIs, and their batches. */
export function createModelClient(options: ModelClientOptions): ModelClient & { readonly batches: ModelBatches } {
  const memory = new BackendMemory(options.clock)
  const beginnings = new SentBeginnings(options.clock)
  const { demo, clock, random } = options
  const limits = { ...defaultLimits, ...options.limits }

  function targetOf(
    { backend, path, run_id }: Pick<ModelRequest, "backend" | "path" | "run_id">,
    api: ModelApi,
  ): Target {
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

  function batchesAt(own: BatchTarget): readonly [BatchApi, BatchVendor] {
    const { backend, run_id } = own
    const api = options.api(backend.api)
    const { egress, endpoint } = targetOf({ backend, run_id, path: "" }, api)
    if (api.batches === undefined) throw failure("provider_error", "", `There are no batches for ${api.name}`)
    const headers = { ...api.headers(backend), ...backend.headers }
    return [api.batches, new BatchVendor(egress, endpoint, headers, own, () => clock.now())]
  }

  const batches: ModelBatches = {
    knowsFormat: (caller, { api, endpoint }, model) => memory.of(caller, api, endpoint, model).honoursFormat,
    submit(target, id, calls) {
      const [api, vendor] = batchesAt(target)
      return submission(() => api.submit(vendor, id, calls), target.signal)
    },
    async find(target, id, calls, since) {
      const [api, vendor] = batchesAt(target)
      return api.find(vendor, id, calls, since)
    },
    async look(target, provider_id) {
      const [api, vendor] = batchesAt(target)
      return api.look(vendor, provider_id)
    },
    async results(target, provider_id, look, take) {
      const [api, vendor] = batchesAt(target)
      return api.results(vendor, provider_id, look, take)
    },
    async cancel(target, provider_id) {
      const [api, vendor] = batchesAt(target)
      return api.cancel(vendor, provider_id)
    },
    async remove(target, provider_id, look) {
      const [api, vendor] = batchesAt(target)
      // What stays expires by itself.
      await api.remove(vendor, provider_id, look).catch(() => undefined)
    },
  }

  return {
    batches,
    turn(request, watch) {
      try {
        const { backend } = request
        const target = targetOf(request, options.api(backend.api))
        const quirks = memory.of(request.caller, backend.api, backend.endpoint, request.model)
        const arrival = watch.arrivals?.open(watch.signal)
        const own = arrival === undefined ? watch : { ...watch, arrival }
        return new Turn({ request, watch: own, target, quirks, beginnings, limits, clock, random }).run()
      } catch (error) {
        if (error instanceof RunFailure) return Promise.reject(error)
        throw error
      }
    },
  }
}
