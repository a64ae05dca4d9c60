import { parseInOrder } from "../base/ordered-object.ts"
import { isUtf8 } from "node:buffer"
import type { FastifyInstance, FastifyRequest } from "fastify"
import { isDeeper, JsonWork } from "../base/bounded-json.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import type { ArrivingBodies } from "./arriving-bodies.ts"
import { refuse, type HttpError } from "./http-error.ts"
import { tenantOf } from "./caller-of.ts"
import { maxJsonWork, requestJsonLevels } from "../base/limits.ts"

declare module "fastify" {
  interface FastifyContextConfig {
    /** `source`: plain text will do; `none`: there need not be one; `file`: it streams, and is of any type and size. */
    body?: "source" | "none" | "file"
    /** Strangers may send it: only its signature tells who did. */
    isDelivery?: true
    /** Errors of this route have the fields of this API besides ours. */
    errors?: "openai"
  }
}

/** What `curl --data-binary @x.wire` calls a file is the second: it says so by default. */
export const sourceTypes = ["text/plain", "application/x-www-form-urlencoded"] as const

/** JSON as UTF-8 to the letter, without keys that could poison a prototype; plain text where a route takes source. */
export function readBodies(app: FastifyInstance, arriving: ArrivingBodies, deliveries: ArrivingBodies): void {
  app.removeAllContentTypeParsers()
  app.addHook("onRequest", (request, _reply, done) => {
    // The content type of an empty body is ignored: `curl -d ""` calls it a form.
    const { headers } = request
    const nothing = (headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined
    if (nothing && request.routeOptions.config.body !== "file") delete headers["content-type"]
    done()
  })
  app.addHook("preParsing", (request, reply, payload, done) => {
    const coding = request.headers["content-encoding"]
    const plain = coding === undefined || coding === "" || coding.toLowerCase() === "identity"
    if (!plain) done(refuse("unsupported_media_type", "The body must not be compressed"))
    else if (announcedBytes(request) <= smallBody / 4 || request.routeOptions.config.body === "file")
      done(null, payload)
    else {
      const bodies = request.routeOptions.config.isDelivery === true ? deliveries : arriving
      done(null, bodies.count(request.raw, reply.raw, tenantOf(request)))
    }
  })
  app.addHook("preValidation", (request, _reply, goOn) => {
    // A promise for each request would cost more than the check.
    const turn = request.routeOptions.config.body === "file" ? null : yieldIfLarge(request)
    if (turn === null) goOn()
    else turn.then(() => goOn(), goOn)
  })
  app.addHook("preValidation", (request, _reply, done) => {
    // Where nothing came, nothing was parsed, and a schema that goes by the content type would not be asked.
    const missing = request.body === undefined && request.method === "POST"
    const { body } = request.routeOptions.config
    const needed = missing && !request.is404 && body !== "none" && body !== "file"
    done(needed ? refuse("invalid_request", "The body is missing: a JSON object is expected") : undefined)
  })
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request: FastifyRequest, body: Buffer, done) => {
    const bare = body.length === 0 && request.routeOptions.config.body === "none"
    if (bare) done(null, null)
    else readJson(body, request.routeOptions.bodyLimit, done)
  })
  app.addContentTypeParser([...sourceTypes], { parseAs: "buffer" }, (request, body, done) => {
    try {
      if (request.routeOptions.config.body !== "source") {
        throw refuse("unsupported_media_type", "The body must be application/json")
      }
      const text = decode(body as Buffer, "The body")
      // No workflow begins with a brace: this is JSON, sent by a `curl -d` without a content type.
      if (!isPlain(request.headers["content-type"]) && /^\s*\{/.test(text)) {
        throw refuse("unsupported_media_type", "The body must be application/json")
      }
      done(null, text)
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Bytes of a body whose every step takes a few milliseconds at most. */
export const smallBody = 256 * 1024

/** Ends a step of the work on a large body: others have their turn before the next. Null for a small one, which goes on at once. */
export function yieldIfLarge(request: FastifyRequest): Promise<void> | null {
  const length = announcedBytes(request)
  return length > smallBody ? loopTurns.spend(length) : null
}

/** Bytes of the body by its headers; infinite where they do not say. */
export function announcedBytes({ headers }: FastifyRequest): number {
  return Number(headers["content-length"] ?? (headers["transfer-encoding"] === undefined ? 0 : Infinity))
}

function isPlain(contentType: string | undefined): boolean {
  return contentType?.trimStart().toLowerCase().startsWith(sourceTypes[0]) === true
}

export function decode(bytes: Buffer, what: string): string {
  if (!isUtf8(bytes)) throw refuse("invalid_request", `${what} is not valid UTF-8`)
  return bytes.toString("utf8")
}

/** How many values a body may hold, as `JsonWork` counts them. Larger bodies that an operator allows may hold more. */
const maxValues = (bodyLimit: number): number => Math.max(2 * maxJsonWork, bodyLimit / 4)

/** A body that a route reads by itself. */
export const JsonBody = {
  /** Rejects with an `HttpError`. */
  read(body: Buffer, bodyLimit: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      readJson(body, bodyLimit, (error, value) => (error === null ? resolve(value) : reject(error)))
    })
  },
}

type Settle = (error: Error | null, value?: unknown) => void

/** A small body is read at once: it cannot hold too many values. */
function readJson(body: Buffer, bodyLimit: number, settle: Settle): void {
  if (body.length > smallBody / 4) {
    measure(body, maxValues(bodyLimit)).then((found) => parseInto(body, found, settle), settle)
    return
  }
  parseInto(body, "small", settle)
}

function parseInto(body: Buffer, found: Measured, settle: Settle): void {
  let value: unknown
  try {
    value = parseJson(body, found)
  } catch (error) {
    settle(error as Error)
    return
  }
  settle(null, value)
}

type Measured = "deep" | "fine" | "small" | { readonly moreThan: number }

/** Whether a body is nested too deeply or holds too many values. Counting takes as long as parsing: others have their turns meanwhile. */
async function measure(body: Buffer, most: number): Promise<Measured> {
  const counter = new JsonWork()
  for (let at = 0; at < body.length; at += smallBody) {
    counter.add(body.subarray(at, at + smallBody))
    if (counter.deepest > requestJsonLevels) return "deep"
    if (counter.work > most) return { moreThan: most }
    await loopTurns.spend(smallBody)
  }
  return "fine"
}

function parseJson(body: Buffer, found: Measured): unknown {
  if (found === "deep") throw tooDeep()
  const decoded = decode(body, "The body")
  const text = decoded.startsWith("\uFEFF") ? decoded.slice(1) : decoded
  if (!/\S/.test(text)) throw refuse("invalid_request", "The body is empty: a JSON object is expected")
  if (typeof found === "object") {
    const message = `The body holds more than ${found.moreThan} JSON values, the limit that follows from WIRE_MAX_BODY`
    throw refuse("payload_too_large", `${message}: send fewer, or send them as a text`)
  }
  let value: unknown
  try {
    value = parseInOrder(text)
  } catch (error) {
    // V8's message may quote the body, and with it a secret: only the position is reported.
    const at = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined
    throw refuse("invalid_request", `The body is not valid JSON${at === undefined ? "" : ` at position ${at}`}`)
  }
  // Much of what handles a value (writing it as JSON, for one) goes down by recursion. The value of a small body is sooner walked
  // through than its text.
  if (found === "small" && isDeeper(value, requestJsonLevels)) throw tooDeep()
  // The word itself, or an escape that may hide one of its letters.
  if ((text.includes("__proto__") || text.includes("\\u")) && hasProto(value)) {
    throw refuse("invalid_request", "The body has a key `__proto__`, which is refused")
  }
  return value
}

function tooDeep(): HttpError {
  return refuse("invalid_request", `The body is nested deeper than ${requestJsonLevels} levels`)
}

function hasProto(value: unknown): boolean {
  const open = [value]
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue
    if (Object.hasOwn(next, "__proto__")) return true
    for (const inner of Object.values(next)) if (typeof inner === "object" && inner !== null) open.push(inner)
  }
  return false
}
