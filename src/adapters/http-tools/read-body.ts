import { Readable, type Transform } from "node:stream"
import zlib from "node:zlib"
import { EgressFailure, type EgressResponse } from "../../ports/egress.ts"

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip(),
  "x-gzip": () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  // Node has it from 22.15 on.
  ...("createZstdDecompress" in zlib && { zstd: () => zlib.createZstdDecompress() }),
}

/** Codings that this service decompresses. */
export const acceptedEncodings = Object.keys(decoders)
  .filter((coding) => coding !== "x-gzip")
  .join(", ")

export type Body = { readonly bytes: Buffer } | { readonly problem: string }

/**
 * The body of an answer, decompressed, up to a bound: what is larger is a problem, or is cut where only the beginning is wanted.
 * Rejects with an `EgressFailure` when the connection breaks.
 */
export async function readBody(response: EgressResponse, most: number, over: "refuse" | "cut"): Promise<Body> {
  const codings = (response.headers["content-encoding"] ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity")
  const unknown = codings.find((coding) => !Object.hasOwn(decoders, coding))
  if (unknown !== undefined || codings.length > 2) {
    response.discard()
    return { problem: "is compressed in a way that this service does not read" }
  }
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of decoded(response, codings)) {
      const room = most - bytes
      if (chunk.length > room) {
        response.discard()
        if (over === "refuse") return { problem: tooLarge(most) }
        chunks.push(chunk.subarray(0, room))
        break
      }
      chunks.push(chunk)
      bytes += chunk.length
    }
  } catch (error) {
    if (error instanceof EgressFailure && error.reason === "too_large") return { problem: tooLarge(most) }
    if (codings.length === 0 || error instanceof EgressFailure || isAbort(error)) throw error
    response.discard()
    return { problem: "cannot be decompressed" }
  }
  return { bytes: Buffer.concat(chunks) }
}

/** The last coding was applied last, so it is undone first. Only as much is decompressed as is read. */
function decoded(response: EgressResponse, codings: readonly string[]): AsyncIterable<Buffer> {
  if (codings.length === 0) return response.body as AsyncIterable<Buffer>
  let stream: Readable = Readable.from(response.body, { objectMode: false })
  for (const coding of codings.toReversed()) {
    const step = (decoders[coding] ?? zlib.createGunzip)()
    stream.on("error", (error) => step.destroy(error))
    stream = stream.pipe(step)
  }
  return stream as AsyncIterable<Buffer>
}

function tooLarge(most: number): string {
  return `has more than ${most / 1024 / 1024} MiB`
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError"
}
