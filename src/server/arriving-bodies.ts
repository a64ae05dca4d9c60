import type { IncomingMessage, ServerResponse } from "node:http"
import { Transform, type TransformCallback } from "node:stream"
import type { MemoryShare } from "../run/shares/memory-share.ts"
import { refuse } from "./http-error.ts"

/**
 * Counts what has arrived of large bodies that are not whole yet: a client that sends most of one and then no more would keep that
 * memory for as long as a request may take, once for each of its connections.
 */
export class ArrivingBodies {
  readonly #share: MemoryShare

  constructor(share: MemoryShare) {
    this.#share = share
  }

  /** The body of a request, which fails as soon as there is no room for more of it. */
  count(body: IncomingMessage, answer: ServerResponse, caller: string): Transform {
    const own = this.#share.open(caller)
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding: BufferEncoding, next: TransformCallback) => {
        if (own.add(chunk.length)) next(null, chunk)
        else next(this.#refusal(caller))
      },
      destroy: (error, done) => {
        own.close()
        // The rest of a body that is refused is read and forgotten: a client that still writes would not see the answer.
        if (error !== null) body.unpipe(counted).resume()
        done(error)
      },
    })
    // A request that is refused for something else has nobody who reads its body, and none of it may stay in the way of the next request.
    counted.on("error", () => undefined)
    answer.once("finish", () => {
      if (!counted.readableEnded) counted.destroy(new Error("The request was answered before its body was read"))
    })
    body.once("error", (error) => counted.destroy(error))
    return body.pipe(counted)
  }

  #refusal(caller: string): Error {
    return this.#share.whyFull(caller, 1) === "caller"
      ? refuse(
          "rate_limited",
          "Your requests that are being received take your share of the memory: send fewer at a time",
        )
      : refuse("overloaded", "Incoming requests use all of the memory that is allowed: try again later")
  }
}

/** The connection is closed after the answer, and the rest of the request's body is not read. */
export function closeAfter(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader("connection", "close")
}
