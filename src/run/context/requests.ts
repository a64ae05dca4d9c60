import { jsonOf } from "../../base/bounded-json.ts"
import { hash } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { apiRequests } from "../../check/provider-kinds.ts"
import { runKeptRequestBytes } from "../../base/limits.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { StoredRequest, StoredRequests } from "../../log/stored-requests.ts"
import { shareParts } from "../../log/stored-requests.ts"
import type { SentRequest } from "../../ports/sent-request.ts"
import type { CallRequests, ShownRequest } from "../../ports/tools.ts"
import type { Redactor } from "../secrets/redact.ts"
import { setOwn } from "../../base/ordered-object.ts"

/** Headers that tell nothing about anybody. */
const plainHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "user-agent",
  ...Object.values(apiRequests).flatMap(({ plainHeaders = [] }) => plainHeaders),
])

const keyHeaders = /^(?:authorization|.*(?:api-?key|token|secret|cookie).*)$/

/** Characters of a body that is kept as its text: what turns of a conversation share is not worth looking for. */
const smallBody = 4096

/** Keeps the requests of a run, until they are stored with an event, and knows which parts are stored already. */
export class RequestKeeper {
  readonly #redactor: Redactor
  readonly #stored = new Set<string>()
  /** Tool calls under way, and the last request of each. */
  readonly #calls = new Map<string, OpenCall>()
  /** Bytes that the run may still keep. */
  #left: number
  /** Takes the requests of tool calls that have begun. */
  readonly ofTools: CallRequests = {
    shownArguments: (call_id) => this.#calls.get(call_id)?.shown,
    sent: (call_id, request, shown) => {
      const open = this.#calls.get(call_id)
      if (open !== undefined) open.sent = { call_id, request, ...(shown !== undefined && { shown }) }
    },
  }

  constructor(redactor: Redactor, most: number) {
    this.#redactor = redactor
    this.#left = most
  }

  /** `shown`: the arguments with secrets by name, where they hold any. */
  beginCall(call_id: string, shown: JsonObject | undefined): void {
    this.#calls.set(call_id, { shown, sent: null })
  }

  /** The last request of a tool call, for the event that ends it: those before it failed in passing. */
  endCall(call_id: string): { readonly requests?: StoredRequests } {
    const sent = this.#calls.get(call_id)?.sent ?? null
    this.#calls.delete(call_id)
    const requests = sent === null ? undefined : this.keep([sent])
    return requests === undefined ? {} : { requests }
  }

  /** Requests of tool calls that no event has ended. */
  unended(): Sent[] {
    return [...this.#calls.values()].flatMap(({ sent }) => (sent === null ? [] : [sent]))
  }

  /** The requests as an event keeps them; undefined where there is nothing to keep. */
  keep(sent: readonly Sent[]): StoredRequests | undefined {
    if (sent.length === 0 || this.#left <= 0) return undefined
    const parts: Record<string, JsonValue> = {}
    const requests = sent.map((one) => this.#keepOne(one, parts))
    return Object.keys(parts).length === 0 ? { requests } : { requests, parts }
  }

  #keepOne({ call_id, request, shown: seen = request }: Sent, parts: Record<string, JsonValue>): StoredRequest {
    const { headers, body: text, method = "POST", stable_bytes } = request
    const about = {
      call_id,
      method,
      url: this.#redactor.redact(withoutLogin(seen.url)),
      headers: shownHeaders(headers),
      bytes: Buffer.byteLength(text),
      ...(stable_bytes !== undefined && { stable_bytes }),
    }
    if (seen.body.length <= smallBody && seen.body.length <= this.#left && this.#redactor.holdsNone(seen.body)) {
      this.#left -= seen.body.length
      return { ...about, body: seen.body, isJson: true, ...(seen.body !== text && { redacted: true }) }
    }
    const shown = this.#shown(seen.body)
    const shared = shareParts(shown.body, hashOf)
    let size = memoryOf(shared.body)
    for (const [name, part] of shared.parts) if (!this.#stored.has(name)) size += memoryOf(part)
    if (size > runKeptRequestBytes || size > this.#left) return { ...about, body: null }
    this.#left -= size
    for (const [name, part] of shared.parts) {
      if (this.#stored.has(name)) continue
      parts[name] = part
      this.#stored.add(name)
    }
    return {
      ...about,
      body: shared.body,
      ...(shown.isText && { isText: true }),
      ...(shown.text !== text && { redacted: true }),
    }
  }

  /** The body without secrets. JSON that this service would write otherwise is kept as a text, to the byte. */
  #shown(text: string): { readonly body: JsonValue; readonly text: string; readonly isText: boolean } {
    const parsed = jsonOf(text)
    if (parsed === undefined || JSON.stringify(parsed) !== text) {
      const clean = this.#redactor.redact(text)
      return { body: clean, text: clean, isText: true }
    }
    const body = this.#redactor.redact(parsed)
    return { body, text: body === parsed ? text : JSON.stringify(body), isText: false }
  }
}

/** A request, and the call that it is of. */
export interface Sent {
  readonly call_id: string
  readonly request: SentRequest
  /** What may be seen of it, where the call knows that better than a search for secrets. */
  readonly shown?: ShownRequest
}

interface OpenCall {
  readonly shown: JsonObject | undefined
  sent: Sent | null
}

function hashOf(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 22)
}

function shownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const name in headers) setOwn(shown, name, shownHeader(name, headers[name] ?? ""))
  return shown
}

/** A key, and whatever the workflow sets, is the name of a variable: a short secret cannot be told from other text. */
function shownHeader(name: string, value: string): string {
  const plain = name.toLowerCase()
  if (plainHeaders.has(plain)) return value
  if (keyHeaders.test(plain)) return /^Bearer /i.test(value) ? "Bearer $KEY" : "$KEY"
  return `$${plain.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}`
}

function withoutLogin(url: string): string {
  if (!url.includes("@")) return url
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.username === "" && parsed.password === "")) return url
  parsed.username = ""
  parsed.password = ""
  return parsed.href
}
