import type { FastifyInstance, FastifyRequest } from "fastify"
import { FairTurns } from "../base/fair-turns.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import type { MemoryShare } from "../run/shares/memory-share.ts"
import { refuse, type HttpError } from "./http-error.ts"
import { tenantOf } from "./caller-of.ts"
import { requestMadeTogether, requestPageBytes, requestSmallAnswer } from "../base/limits.ts"

/**
 * Answers that may be large: a few are made at a time, and each counts in the memory of who asked for it until it is read. A client that
 * asks over many connections and reads nothing would keep all of its answers in memory.
 */
export class LargeAnswers {
  readonly #share: MemoryShare
  readonly #turns = new FairTurns(requestMadeTogether)

  constructor(share: MemoryShare) {
    this.#share = share
  }

  /** Makes one when it is the caller's turn. */
  make<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    return this.#turns.do(tenantOf(request), async () => {
      // Thousands that wait may be refused one after the other.
      await loopTurns.spend(0)
      this.admit(request)
      return work()
    })
  }

  /** Throws the refusal where the caller, or all callers together, have no room for another large answer. */
  admit(request: FastifyRequest): void {
    const refusal = this.#refusal(tenantOf(request), requestPageBytes)
    if (refusal !== null) throw refusal
  }

  /** Counts all texts that are sent. Bytes are shared by everyone who is sent them, and streams ask for more only when the last part was read. */
  countIn(app: FastifyInstance): void {
    app.addHook("onSend", (request, reply, payload, done) => {
      if (typeof payload !== "string" || payload.length < requestSmallAnswer || request.method === "HEAD") {
        done(null, payload)
        return
      }
      const caller = tenantOf(request)
      const refusal = this.#refusal(caller, payload.length)
      // An error is sent in any case: there is nothing shorter to say.
      if (refusal !== null && reply.statusCode < 400) {
        done(refusal)
        return
      }
      const own = this.#share.open(caller)
      own.add(payload.length)
      reply.raw.once("close", () => own.close())
      done(null, payload)
    })
  }

  #refusal(caller: string, bytes: number): HttpError | null {
    switch (this.#share.whyFull(caller, bytes)) {
      case "caller":
        return refuse(
          "rate_limited",
          "Your answers that have not been read take your share of the memory: read them, or ask for fewer at a time. The result of a run stays in its record",
        )
      case "all":
        return refuse("overloaded", "Unread answers use all of the memory that is allowed: try again later")
      case null:
        return null
    }
  }
}
