import type { EgressLimits } from "../../ports/egress.ts"

/** An event of a stream wraps a few characters of text into hundreds of bytes. */
const overhead = 16

/** The limits of a streamed answer on the wire: its text may be as long as that of an answer in one piece. */
export function streamLimits(limits: EgressLimits): EgressLimits {
  return { ...limits, max_bytes: limits.max_bytes * overhead }
}
