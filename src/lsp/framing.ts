/** What the peer sent: the text of a message, or why it could not be read (the next one still can). */
export type Frame =
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "broken"; readonly problem: string }

const longestHeader = 8 * 1024
const longestMessage = 64 * 1024 * 1024

/**
 * Cuts a byte stream into messages: `Content-Length: n`, an empty line, n bytes of UTF-8. What is not a header is skipped up
 * to the next empty line, so that one broken message does not take the rest with it.
 */
export class FrameReader {
  #chunks: Buffer[] = []
  #size = 0
  /** Bytes of the body that is being read; undefined while the header is. */
  #expected: number | undefined
  /** Bytes of a body that is too long to keep. */
  #skipping = 0
  /** The header has outgrown its limit: everything is dropped up to its end. */
  #overlong = false
  #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

  /** The messages that are complete with this chunk. */
  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    this.#chunks.push(chunk)
    this.#size += chunk.length
    for (;;) {
      if (this.#skipping > 0) {
        const dropped = Math.min(this.#skipping, this.#size)
        this.#take(dropped)
        this.#skipping -= dropped
        if (this.#skipping > 0) return frames
      }
      if (this.#expected === undefined) {
        const problem = this.#readHeader()
        if (problem !== undefined) frames.push({ kind: "broken", problem })
        else if (this.#expected === undefined) return frames
        continue
      }
      if (this.#size < this.#expected) return frames
      const body = this.#take(this.#expected)
      this.#expected = undefined
      frames.push(this.#decode(body))
    }
  }

  /** Reads one header if it is all there; what is wrong with it, if anything. */
  #readHeader(): string | undefined {
    const bytes = this.#joined()
    const end = endOfHeader(bytes)
    if (end === undefined) {
      if (bytes.length <= longestHeader) return undefined
      // Keeps what may be the beginning of the empty line.
      this.#take(bytes.length - 3)
      if (this.#overlong) return undefined
      this.#overlong = true
      return `A header is longer than ${longestHeader} bytes`
    }
    const header = this.#take(end).toString("latin1")
    if (this.#overlong) {
      this.#overlong = false
      return this.#readHeader()
    }
    const found = /(?:^|\n)content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?\n/i.exec(header)
    if (found?.[1] === undefined) return "A header has no Content-Length"
    const length = Number(found[1])
    if (length <= longestMessage) {
      this.#expected = length
      return undefined
    }
    this.#skipping = length
    return `A message is longer than ${longestMessage} bytes`
  }

  #decode(body: Buffer): Frame {
    try {
      return { kind: "message", text: this.#decoder.decode(body) }
    } catch {
      return { kind: "broken", problem: "A message is not UTF-8" }
    }
  }

  #joined(): Buffer {
    const [only, ...others] = this.#chunks
    if (only !== undefined && others.length === 0) return only
    const joined = Buffer.concat(this.#chunks)
    this.#chunks = [joined]
    return joined
  }

  #take(count: number): Buffer {
    const bytes = this.#joined()
    this.#chunks = [bytes.subarray(count)]
    this.#size -= count
    return bytes.subarray(0, count)
  }
}

/** Where the empty line ends; a lone LF is taken for a line break too. */
function endOfHeader(bytes: Buffer): number | undefined {
  const crlf = bytes.indexOf("\r\n\r\n")
  const lf = bytes.indexOf("\n\n")
  if (crlf < 0) return lf < 0 ? undefined : lf + 2
  return lf < 0 || crlf < lf ? crlf + 4 : lf + 2
}

export function frame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message), "utf8")
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`, "latin1"), body])
}
