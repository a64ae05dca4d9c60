import zlib from "node:zlib"
import type { Gate } from "./gate.ts"

/** Content codings that egress decodes, whether they were asked for or not. Node has zstd from 22.15 on. */
export const acceptedEncodings: ReadonlySet<string> = new Set([
  "gzip",
  "deflate",
  "br",
  ...("createZstdDecompress" in zlib ? ["zstd"] : []),
])

/** The time in which calls wait for this service: for memory, for a connection or for their turn. Waits that overlap count once. */
export interface Waits {
  readonly ms: number
  /** Counts until the promise settles. */
  during<T>(wait: Promise<T>): Promise<T>
  /**
   * Calls back once the time is up, without the time that was waited. Those waits may take as long as the call itself: `waitedMs` says that they
   * took longer.
   */
  timer(ms: number, late: (waitedMs: number | null) => void): CallTimer
}

export interface CallTimer {
  restart(): void
  clear(): void
}

/** What has arrived of an answer, and is counted as memory of the run that wants it. */
export interface Arrival {
  /** Calls of one caller wait for each other, and not for those of others. */
  readonly caller: string
  /** How long the call has waited for memory, for a connection and for its turn. That is not its server's time. */
  readonly waited: Waits
  /** Counts more. A promise where there is no room: nothing more is read until it resolves. */
  add(bytes: number): Promise<void> | null
  remove(bytes: number): void
  /** Nothing of it is needed any more, or it is counted elsewhere. */
  close(): void
}

export interface Arrivals {
  /** Closed when the signal aborts. `waited` may be that of several calls. */
  open(signal: AbortSignal, waited?: Waits): Arrival
}

/**
 * The one part that opens outgoing connections, as the adapters that call other machines see it. A destination that the
 * policy forbids rejects with a `RunFailure` of kind `blocked_destination` (its issue has an empty path: the caller knows
 * the place in the workflow), every other failure with an `EgressFailure`, an abort with the signal's reason.
 */
export interface Egress {
  request(request: EgressRequest): Promise<EgressResponse>
  /** The same as a `fetch`, for libraries that take one. Bodies are text, bytes or form parameters. */
  fetch(url: string | URL, init?: RequestInit, options?: FetchOptions, gate?: Gate): Promise<Response>
  /** Closes every connection, idle or not. */
  close(): Promise<void>
}

export interface EgressRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
  readonly signal: AbortSignal
  /** Passed when the connection stands, right before the first byte of the request. */
  readonly gate: Gate
  /** The defaults of egress apply to those left out. */
  readonly limits?: Partial<EgressLimits>
  /** The body is not sent to another origin: a redirect that would do so is refused. */
  readonly bodyStays?: boolean
  /** Counts what has arrived and was not read yet, and all of a text until the caller closes it. Without room nothing more is read. */
  readonly arrival?: Arrival | undefined
  /** `manual`: a redirect is an answer like any other. It is followed if left out. */
  readonly redirect?: "manual"
}

export interface FetchOptions extends Partial<EgressLimits> {
  readonly bodyStays?: boolean
  readonly arrival?: Arrival | undefined
}

/** Milliseconds, or bytes; 0 means no limit. */
export interface EgressLimits {
  /** From the request's last byte to the response's headers. */
  readonly firstByteMs: number
  /** Between two chunks of the body. */
  readonly silenceMs: number
  /** From the call to the body's last byte, redirects included. Waits for this service are left out; they may take as long again. */
  readonly totalMs: number
  readonly max_bytes: number
}

export interface EgressResponse {
  readonly status: number
  /** Names in lower case; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Where the answer came from, after redirects. */
  readonly url: string
  /** The body, decoded, once: as it comes, or whole. Leaving the loop early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  /** Closes the connection, unless the body has already come to its end. */
  discard(): void
}

export type EgressReason =
  | "connect_timeout"
  | "first_byte_timeout"
  | "silence_timeout"
  | "total_timeout"
  /** Not resolved, refused, reset, cut short, TLS that does not hold, or no HTTP. */
  | "connection"
  /** This process may open no more of them. */
  | "descriptors"
  /** The call waited too long for memory or for a connection. */
  | "capacity"
  | "too_large"
  /** Compressed twice, in an unknown way, or not as the head says. */
  | "coding"
  | "too_many_redirects"
  /** To another origin, with a body that must stay. */
  | "redirect_refused"

/** Why a call fails whose server answered, or would have. */
export function waitedTooLong(waitedMs: number): string {
  return `The call waited ${waitedMs} ms for memory or a connection that other calls of the same caller use: make fewer at a time, or ask for smaller answers`
}

export class EgressFailure extends Error {
  readonly reason: EgressReason

  constructor(reason: EgressReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = "EgressFailure"
    this.reason = reason
  }

  get timeout(): boolean {
    return this.reason.endsWith("_timeout")
  }

  /** This service had no room for the call; its server is not to blame. */
  get isOverload(): boolean {
    return this.reason === "descriptors" || this.reason === "capacity"
  }
}
