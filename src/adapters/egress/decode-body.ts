import { once } from "node:events"
import zlib from "node:zlib"
import { RunFailure } from "../../ports/run-failure.ts"
import { acceptedEncodings, EgressFailure, type Arrival, type EgressResponse } from "../../ports/egress.ts"

/** Bytes that a decoder gives at a time. Each piece is decoded outside of the main thread. */
const chunkSize = 65_536

/** RFC 9659: a server that sends zstd needs no larger window (8 MiB). */
const zstdWindowLog = 23

/** Node's decoder of zstd stops after a frame; what follows is given to the next one. No server needs more of them than this. */
const mostFrames = 1_000

type Decoder = zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress | zlib.ZstdDecompress

const decoders: Readonly<Record<string, () => Decoder>> = {
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
  const source = response.body[Symbol.asyncIterator]()
  let broken: { readonly error: unknown } | null = null
  let decoder: Decoder | null = null
  const onAbort = (): void => {
    broken ??= { error: signal.reason }
    decoder?.destroy(new Error("The call was aborted"))
  }
  signal.throwIfAborted()
  signal.addEventListener("abort", onAbort, { once: true })
  // The decoder remembers what it gave, up to the size of its window.
  let bytes = 0
  try {
    let rest: Uint8Array | null = null
    for (let frame = 0; frame === 0 || rest !== null; frame++) {
      if (frame === mostFrames) throw new Error("The body has too many frames")
      decoder = (decoders[coding] ?? zlib.createGunzip)()
      const input: DecoderInput = new DecoderInput(source, rest, decoder)
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
      rest = await input.rest()
      while (coding !== "zstd" && rest !== null) {
        // Zeros may fill the last block of a file that was compressed with gzip.
        if (!coding.endsWith("gzip") || rest.some((byte) => byte !== 0)) throw new Error("Something follows the body")
        const { done, value } = await source.next()
        rest = done === true ? null : value
      }
    }
  } catch (error) {
    const known: { readonly error: unknown } | null = broken
    if (known !== null) throw known.error
    if (error instanceof EgressFailure || error instanceof RunFailure || signal.aborted) throw error
    throw new EgressFailure("coding", `${host} answered with a body that cannot be decompressed`, error)
  } finally {
    signal.removeEventListener("abort", onAbort)
    arrival?.remove(bytes)
    decoder?.destroy()
    response.discard()
  }
}

/** Feeds a decoder until it ends, and knows what it left. */
class DecoderInput {
  readonly #source: AsyncIterator<Uint8Array>
  readonly #decoder: Decoder
  /** Chunks that the decoder may not have read yet, and their end in all of its input. */
  #given: { readonly chunk: Uint8Array; readonly end: number }[] = []
  #bytes = 0
  #hasEnded = false
  readonly #fed: Promise<Uint8Array | null>

  constructor(source: AsyncIterator<Uint8Array>, first: Uint8Array | null, decoder: Decoder) {
    this.#source = source
    this.#decoder = decoder
    // What it meets after its end must not end the process.
    decoder.on("error", () => undefined)
    decoder.once("end", () => (this.#hasEnded = true))
    this.#fed = this.#feed(first)
    this.#fed.catch((error: unknown) => decoder.destroy(error instanceof Error ? error : new Error(String(error))))
  }

  /** What came after the end of the decoder's input; null where nothing did. Waits for the next chunk, or for the end of the body. */
  async rest(): Promise<Uint8Array | null> {
    const next = await this.#fed
    const read = this.#decoder.bytesWritten
    const left = this.#given.flatMap(({ chunk, end }) => (end > read ? [chunk.subarray(read - end)] : []))
    if (next !== null) left.push(next)
    return left.length === 0 ? null : Buffer.concat(left)
  }

  /** The chunk that came after the decoder's end. */
  async #feed(first: Uint8Array | null): Promise<Uint8Array | null> {
    const decoder = this.#decoder
    for (let chunk = first; ; chunk = null) {
      if (chunk === null) {
        const { done, value } = await this.#source.next()
        if (done === true) {
          decoder.end()
          return null
        }
        chunk = value
      }
      if (this.#hasEnded) return chunk
      if (decoder.destroyed) return null
      this.#bytes += chunk.length
      this.#given = this.#given.filter(({ end }) => end > decoder.bytesWritten)
      this.#given.push({ chunk, end: this.#bytes })
      if (decoder.write(chunk)) continue
      const over = new AbortController()
      const events = ["drain", "end", "close"].map((event) => once(decoder, event, { signal: over.signal }))
      await Promise.race(events).catch(() => undefined)
      over.abort()
      await Promise.allSettled(events)
    }
  }
}
