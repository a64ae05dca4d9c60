import { pipeline, type Transform } from "node:stream"
import zlib from "node:zlib"
import { acceptedEncodings, EgressFailure, type Arrival, type EgressResponse } from "../../ports/egress.ts"

/** Bytes that a decoder gives at a time. Each piece is decoded outside of the main thread. */
const chunkSize = 65_536

/** RFC 9659: a server that sends zstd needs no larger window (8 MiB). */
const zstdWindowLog = 23

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip({ chunkSize }),
  "x-gzip": () => zlib.createGunzip({ chunkSize }),
  deflate: () => zlib.createInflate({ chunkSize }),
  br: () => zlib.createBrotliDecompress({ chunkSize }),
  zstd: () => zlib.createZstdDecompress({ chunkSize, params: { [zlib.constants.ZSTD_d_windowLogMax]: zstdWindowLog } }),
}

interface Decoding {
  /** For messages. */
  readonly host: string
  /** Bytes of the decoded body; 0 for any number. */
  readonly max_bytes: number
  readonly arrival: Arrival | null
  /** Stops the decoder, also when all of the body has arrived. */
  readonly signal: AbortSignal
}

/**
 * A response whose body is decoded. It has one content coding at most: two of them could make gigabytes of nothing between them. A body that
 * cannot be decoded fails when it is read; the head is an answer all the same.
 */
export function decoded(response: EgressResponse, decoding: Decoding): EgressResponse {
  const codings = (response.headers["content-encoding"] ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity")
  if (codings.length === 0) return response
  const iterate = (): AsyncGenerator<Uint8Array, void, undefined> => decode(response, codings, decoding)
  return {
    ...response,
    body: { [Symbol.asyncIterator]: iterate },
    async text() {
      const chunks: Uint8Array[] = []
      for await (const chunk of iterate()) {
        chunks.push(chunk)
        const wait = decoding.arrival?.add(chunk.length)
        if (wait) await wait
      }
      const text = Buffer.concat(chunks).toString("utf8")
      return text.startsWith("\uFEFF") ? text.slice(1) : text
    },
  }
}

/** Only as much is decoded as is read. */
async function* decode(
  response: EgressResponse,
  codings: readonly string[],
  { host, max_bytes, arrival, signal }: Decoding,
): AsyncGenerator<Uint8Array, void, undefined> {
  const [coding = "", ...others] = codings
  if (others.length > 0 || !acceptedEncodings.has(coding === "x-gzip" ? "gzip" : coding)) {
    response.discard()
    const how = others.length > 0 ? "more than once" : "in a way that this service does not read"
    throw new EgressFailure("coding", `${host} answered with a body that is compressed ${how}`)
  }
  const decoder = (decoders[coding] ?? zlib.createGunzip)()
  // What it meets after its end must not end the process.
  decoder.on("error", () => undefined)
  let broken: { readonly error: unknown } | null = null
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* response.body
    } catch (error) {
      broken = { error }
      throw error
    }
  }
  const onAbort = (): void => {
    broken ??= { error: signal.reason }
    decoder.destroy(new Error("The call was aborted"))
  }
  signal.throwIfAborted()
  signal.addEventListener("abort", onAbort, { once: true })
  pipeline(body(), decoder, () => undefined)
  // The decoder remembers what it gave, up to the size of its window.
  let bytes = 0
  try {
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (max_bytes > 0 && bytes > max_bytes) {
        broken = { error: new EgressFailure("too_large", `${host} answered with more than ${max_bytes} bytes`) }
        throw broken.error
      }
      const wait = arrival?.add(chunk.length)
      if (wait) await wait
      yield chunk
    }
  } catch (error) {
    const known: { readonly error: unknown } | null = broken
    if (known !== null) throw known.error
    throw new EgressFailure("coding", `${host} answered with a body that cannot be decompressed`, error)
  } finally {
    signal.removeEventListener("abort", onAbort)
    arrival?.remove(bytes)
    decoder.destroy()
  }
}
