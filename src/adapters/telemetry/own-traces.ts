import { createHash } from "node:crypto"

/** The trace of a run whose request belongs to none. Each process that works on the run finds the same. */
export function ownTrace(run_id: string): string {
  return createHash("sha256").update(run_id).digest("hex").slice(0, 32)
}

/** Makes ids of spans, and of traces: the next trace may have one that is given. */
export class OwnTraces {
  /** The id of the trace that the next span without a parent begins; null for a random one. */
  next: string | null = null
  readonly #random: TraceIds

  constructor(random: TraceIds) {
    this.#random = random
  }

  generateTraceId(): string {
    const given = this.next
    this.next = null
    return given ?? this.#random.generateTraceId()
  }

  generateSpanId(): string {
    return this.#random.generateSpanId()
  }
}

interface TraceIds {
  generateTraceId(): string
  generateSpanId(): string
}
