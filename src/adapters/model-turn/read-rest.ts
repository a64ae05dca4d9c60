import type { EgressResponse } from "../../ports/egress.ts"

/** After the terminal event the rest (`[DONE]`) is awaited for so long, for the connection's sake. */
const restWithinMs = 100

/** Reads on to the end, so that the connection can be used again; gives up on a stream that does not end by itself. */
export async function readRest(chunks: AsyncIterator<Uint8Array>, response: EgressResponse): Promise<void> {
  const timer = setTimeout(() => response.discard(), restWithinMs)
  try {
    while ((await chunks.next()).done !== true);
  } catch {
    // The answer is whole; what became of the connection does not matter.
  } finally {
    clearTimeout(timer)
  }
}
