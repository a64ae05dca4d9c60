import type { IncomingMessage, ServerResponse } from "node:http"
import { Transform, type TransformCallback } from "node:stream"
import { Tally } from "../run/tally.ts"
import { refuse } from "./http-error.ts"

/** Bytes that may have arrived of bodies that are not whole yet. */
export interface ArrivingBounds {
  readonly all: number
  readonly perCaller: number
}

/**
 * Counts what has arrived of large bodies that are not whole yet: a client that sends most of one and then no more would keep that
 * memory for as long as a request may take, once for each of its connections.
 */
export class ArrivingBodies {
  readonly #bounds: ArrivingBounds
  readonly #callers = new Tally()
  #all = 0

  constructor(bounds: ArrivingBounds) {
    this.#bounds = bounds
  }

  /** The body of a request, which fails as soon as there is no room for more of it. */
  count(body: IncomingMessage, answer: ServerResponse, caller: string): Transform {
    let own = 0
    const add = (bytes: number): void => {
      own += bytes
      this.#all += bytes
      this.#callers.add(caller, bytes)
    }
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding: BufferEncoding, next: TransformCallback) => {
        add(chunk.length)
        const error = this.#whyFull(caller)
        if (error === null) next(null, chunk)
        else next(error)
      },
      destroy: (error, done) => {
        add(-own)
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

  #whyFull(caller: string): Error | null {
    if (this.#all > this.#bounds.all) {
      return refuse("overloaded", "The requests that are being received take all the memory that they may")
    }
    if (this.#callers.of(caller) <= this.#bounds.perCaller) return null
    return refuse(
      "rate_limited",
      "Your requests that are being received take your share of the memory: send fewer at a time",
    )
  }
}
