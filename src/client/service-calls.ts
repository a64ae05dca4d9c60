import { hasDotSegment } from "../base/has-dot-segment.ts"
import { withoutTrailing } from "../base/without-trailing.ts"
import { errorOf, misfit } from "./errors.ts"
import { readObject, UnreadableAnswer } from "./read-json.ts"

export interface ServiceOptions {
  /** `http://127.0.0.1:13703` unless set. */
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  readonly signal?: AbortSignal
}

/** Pages of one list. */
const maxPages = 1000

/** Makes HTTP calls of the service, with the key of the client. */
export class ServiceCalls {
  readonly #base: string
  readonly #apiKey: string | undefined
  readonly #fetch: typeof fetch

  constructor(options: ServiceOptions) {
    this.#base = withoutTrailing(options.baseUrl ?? "http://127.0.0.1:13703", "/")
    this.#apiKey = options.apiKey
    this.#fetch = options.fetch ?? ((...call) => fetch(...call))
  }

  async json<T>(method: string, path: string, body: object | undefined, options: CallOptions): Promise<T> {
    return objectIn<T>(await this.call(method, path, body, options, {}))
  }

  /** Headers with the key of the client. */
  headers(headers: Record<string, string>): Record<string, string> {
    return this.#apiKey === undefined ? headers : { ...headers, authorization: `Bearer ${this.#apiKey}` }
  }

  /** A whole list, page by page. */
  async pages<Page extends { readonly next?: string | null }, Item>(
    path: string,
    options: CallOptions,
    itemsOf: (page: Page) => readonly Item[],
  ): Promise<readonly Item[]> {
    const all: Item[] = []
    const seen = new Set<string>()
    for (let query = ""; ;) {
      const response = await this.call("GET", `${path}${query}`, undefined, options, {})
      const page = await objectIn<Page>(response)
      const items: unknown = itemsOf(page)
      if (!Array.isArray(items) || seen.size > maxPages) throw misfit(response)
      for (const item of items as Item[]) all.push(item)
      const { next } = page
      if (typeof next !== "string" || seen.has(next)) return all
      seen.add(next)
      query = `?after=${encodeURIComponent(next)}`
    }
  }

  async call(
    method: string,
    path: string,
    body: object | undefined,
    options: CallOptions,
    headers: Record<string, string>,
  ): Promise<Response> {
    const all: Record<string, string> = { ...headers }
    if (this.#apiKey !== undefined) all["authorization"] = `Bearer ${this.#apiKey}`
    if (body !== undefined) all["content-type"] = "application/json"
    return this.send(method, path, body === undefined ? undefined : JSON.stringify(body), options, all)
  }

  async send(
    method: string,
    path: string,
    body: string | Blob | Uint8Array | ReadableStream | undefined,
    options: CallOptions,
    headers: Record<string, string>,
  ): Promise<Response> {
    const response = await this.#fetch(`${this.#base}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: body as NonNullable<NonNullable<Parameters<typeof fetch>[1]>["body"]> }),
      // A stream is sent while its answer is waited for.
      ...(body instanceof ReadableStream && { duplex: "half" }),
      ...(options.signal !== undefined && { signal: options.signal }),
    }).catch((error: unknown) => {
      throw error instanceof TypeError ? unreachable(this.#base, error) : error
    })
    if (!response.ok) throw await errorOf(response)
    return response
  }
}

/** An answer with content, as its route has it. */
export async function objectIn<T>(response: Response): Promise<T> {
  try {
    return (await readObject(response)) as T
  } catch (error) {
    // A connection that broke is reported as `fetch` reports it.
    throw error instanceof SyntaxError || error instanceof UnreadableAnswer ? misfit(response) : error
  }
}

/** `fetch` says only that it failed. Its cause has the reason, on Node. */
function unreachable(base: string, error: TypeError): TypeError {
  const { cause } = error
  const reason = cause instanceof Error && cause.message !== "" ? cause.message : error.message
  return new TypeError(`The service at ${base} cannot be reached: ${reason}`, { cause: error })
}

type QueryValue = string | number | Date

/** `?key=value…`, or nothing. */
export function queryOf(query: object): string {
  const given = Object.entries(query) as [string, QueryValue | readonly QueryValue[] | undefined][]
  const parts = given.flatMap(([key, values]) => {
    const each = Array.isArray(values) ? (values as readonly QueryValue[]) : [values as QueryValue | undefined]
    return each.flatMap((value) => {
      if (value === undefined) return []
      return [`${key}=${encodeURIComponent(value instanceof Date ? value.toISOString() : String(value))}`]
    })
  })
  return parts.length === 0 ? "" : `?${parts.join("&")}`
}

/** A name or id may come from the caller's own callers: as `..` it would call another route, with the key of this client. */
export function segment(text: string): string {
  if (hasDotSegment(text)) throw new TypeError(`${JSON.stringify(text)} is neither an id nor a name`)
  return encodeURIComponent(text)
}
