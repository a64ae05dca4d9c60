import { Buffer } from "node:buffer"
import { decodeSource } from "./read-source.ts"
import { sourceBytes } from "../../base/limits.ts"

/** The source on standard input; reading stops where a source becomes too large. */
export async function readStdin(): Promise<ReturnType<typeof decodeSource>> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > sourceBytes) break
  }
  return decodeSource(Buffer.concat(chunks))
}

/** What a source from standard input is called in messages. */
export const stdinName = "<stdin>"
