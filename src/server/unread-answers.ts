import type { FastifyInstance } from "fastify"
import type { MemoryShare } from "../run/memory-share.ts"
import { refuse } from "./http-error.ts"
import { shareOf } from "./route-dependencies.ts"

/** Answers of fewer characters are not counted. */
const small = 16 * 1024

/**
 * Counts answers until their clients have read them: one that asks over many connections and reads nothing would keep all of its answers
 * in memory. Texts are counted; bytes are shared by everyone who is sent them, and streams ask for more only when the last part was read.
 */
export function countUnreadAnswers(app: FastifyInstance, share: MemoryShare): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    if (typeof payload !== "string" || payload.length < small || request.method === "HEAD") {
      done(null, payload)
      return
    }
    const caller = shareOf(request)
    const own = share.open(caller)
    // An error is sent in any case: there is nothing shorter to say.
    if (own.add(payload.length) || reply.statusCode >= 400) {
      reply.raw.once("close", () => own.close())
      done(null, payload)
      return
    }
    own.close()
    const isOwn = share.whyFull(caller, payload.length) === "caller"
    done(
      isOwn
        ? refuse(
            "rate_limited",
            "Your answers that have not been read take your share of the memory: read them, or ask for fewer at a time",
          )
        : refuse("overloaded", "The answers that have not been read take all the memory that they may"),
    )
  })
}
