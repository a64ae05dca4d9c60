import type { EgressResponse } from "../../ports/egress.ts"

/** The beginning of an error's body. */
export async function readUpTo(response: EgressResponse, bytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk)
      length += chunk.length
      if (length > bytes) break
    }
  } catch {
    // The status is known; the rest of the body is not worth another error.
  }
  return Buffer.concat(chunks).toString("utf8")
}
