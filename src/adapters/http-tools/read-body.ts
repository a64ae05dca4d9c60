import { EgressFailure, type Arrival, type EgressResponse } from "../../ports/egress.ts"

export type Body = { readonly bytes: Buffer } | { readonly problem: string }

/**
 * The body of an answer up to a bound: what is larger is a problem, or is cut where only the beginning is wanted. `arrival` counts all of it.
 * Rejects with an `EgressFailure` when the connection breaks.
 */
export async function readBody(
  response: EgressResponse,
  most: number,
  over: "refuse" | "cut",
  arrival: Arrival | undefined,
): Promise<Body> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      const room = most - bytes
      if (chunk.length > room) {
        response.discard()
        if (over === "refuse") return { problem: tooLarge(most) }
        chunks.push(chunk.subarray(0, room))
        break
      }
      chunks.push(chunk)
      bytes += chunk.length
      const wait = arrival?.add(chunk.length)
      if (wait) await wait
    }
  } catch (error) {
    if (!(error instanceof EgressFailure)) throw error
    if (error.reason === "too_large") return { problem: tooLarge(most) }
    if (error.reason === "coding") return { problem: error.message }
    throw error
  }
  return { bytes: Buffer.concat(chunks) }
}

function tooLarge(most: number): string {
  return `The answer has more than ${most / 1024 / 1024} MiB`
}
