import { randomUUID } from "node:crypto"
import { nextTurn } from "../event-loop/in-turns.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import { jsonOf } from "../base/bounded-json.ts"
import type { JsonObject } from "../base/json-value.ts"
import { isoTime } from "../base/iso-time.ts"
import type { TalkApiName } from "../check/provider-kinds.ts"
import type { DemoRoute } from "./apis/demo-api.ts"
import type { DemoReply } from "./demo-reply.ts"

/** A request for a batch API: the path is without `/demo/v1`. */
export interface DemoBatchRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
  /** Who asks: nobody sees what is another's. */
  readonly owner?: string
}

/** The model, which answers each call of a batch. */
interface Answering {
  handle(request: { readonly route: DemoRoute; readonly body: unknown }): Promise<DemoReply>
}

/** A file or a batch in memory. */
interface Kept {
  readonly id: string
  readonly owner: string
  readonly bytes: number
}

interface DemoFile extends Kept {
  readonly text: () => Promise<string>
  readonly created_at: number
}

interface Asked {
  readonly custom_id: string
  readonly body: JsonObject
}

interface DemoBatch extends Kept {
  readonly api: TalkApiName
  readonly endpoint: string
  readonly asked: readonly Asked[]
  readonly metadata: JsonObject
  readonly input: string
  readonly created_at: number
  cancelled_at: number | null
}

/** Answers that are made in one turn of the event loop. */
const perTurn = 20
/** The oldest are forgotten. */
const mostKept = 1_000
export const mostBatchBytes = 512 * 1024 * 1024
const endpoints: Readonly<Record<string, TalkApiName>> = {
  "/v1/responses": "responses",
  "/v1/chat/completions": "chat",
}

/** The batch APIs of OpenAI and of Anthropic. Batches end after a few seconds, and are kept in memory. */
export class DemoBatches {
  readonly #model: Answering
  readonly #takesMs: number
  readonly #now: () => number
  readonly #mostBytes: number
  #bytes = 0
  readonly #files = new Map<string, DemoFile>()
  readonly #batches = new Map<string, DemoBatch>()

  constructor(model: Answering, seconds: number, now: () => number, mostBytes: number) {
    this.#model = model
    this.#mostBytes = mostBytes
    this.#takesMs = seconds * 1000
    this.#now = now
  }

  async handle({ method, path, query, body, owner = "" }: DemoBatchRequest): Promise<DemoReply> {
    const [, first = "", second = "", third = "", fourth = ""] = path.split("/")
    if (Buffer.byteLength(body) > this.#mostBytes / 2) return tooLarge()
    if (first === "files") return this.#file(method, second, third, body, owner)
    if (first === "batches") return this.#openAi(method, second, third, query, body, owner)
    if (first === "messages" && second === "batches") return this.#anthropic(method, third, fourth, query, body, owner)
    return missing()
  }

  /** The oldest are forgotten where there are too many, or too large ones. */
  #keep<T extends Kept>(kept: Map<string, T>, one: T): T {
    kept.set(one.id, one)
    this.#bytes += one.bytes
    if (kept.size > mostKept) this.#forget(kept)
    while (this.#bytes > this.#mostBytes && this.#files.size + this.#batches.size > 1) {
      const [oldestFile] = this.#files.keys()
      if (oldestFile !== undefined && oldestFile !== one.id) this.#forget(this.#files)
      else this.#forget(this.#batches)
    }
    return one
  }

  /** Without an id: the oldest. */
  #forget<T extends Kept>(kept: Map<string, T>, id = kept.keys().next().value): void {
    const one = kept.get(id ?? "")
    if (one === undefined) return
    kept.delete(one.id)
    this.#bytes -= one.bytes
  }

  // ------------------------------------------------------------------------------------------------ OpenAI's

  async #file(method: string, id: string, part: string, body: string, owner: string): Promise<DemoReply> {
    if (method === "POST" && id === "") {
      const text = fileIn(body)
      if (text === null) return wrong("The body has no part with the name file.")
      return json(200, shownFile(this.#newFile(text, owner)))
    }
    const file = ownOf(this.#files, id, owner)
    if (file === undefined) return missing()
    if (method === "DELETE") {
      this.#forget(this.#files, id)
      return json(200, { id, object: "file", deleted: true })
    }
    if (part !== "content") return json(200, shownFile(file))
    return { status: 200, headers: { "content-type": "application/octet-stream" }, body: await file.text() }
  }

  #newFile(text: string, owner: string): DemoFile {
    return this.#keep(this.#files, {
      id: `file-${randomUUID()}`,
      owner,
      text: () => Promise.resolve(text),
      bytes: Buffer.byteLength(text),
      created_at: this.#now(),
    })
  }

  async #openAi(
    method: string,
    id: string,
    part: string,
    query: URLSearchParams,
    body: string,
    owner: string,
  ): Promise<DemoReply> {
    if (id === "") return method === "POST" ? this.#create(body, owner) : this.#list(query, owner)
    const batch = ownOf(this.#batches, id, owner)
    if (batch === undefined || batch.api === "anthropic") return missing()
    if (method === "POST" && part === "cancel") this.#cancel(batch)
    return json(200, this.#shown(batch))
  }

  async #create(text: string, owner: string): Promise<DemoReply> {
    const body = jsonOf(text)
    if (!isJsonObject(body)) return wrong("The body of the request is not a JSON object.")
    const { input_file_id, endpoint, completion_window, metadata } = body
    const api = endpoints[textOf(endpoint)]
    if (api === undefined) return wrong("The endpoint is not one of those that batches have.")
    if (completion_window !== "24h") return wrong("completion_window must be 24h.")
    const file = ownOf(this.#files, textOf(input_file_id), owner)
    if (file === undefined) return wrong("The input file does not exist.")
    const lines = (await file.text()).split("\n").flatMap((line) => {
      const value = line.trim() === "" ? undefined : jsonOf(line)
      return isJsonObject(value) ? [value] : []
    })
    const asked = lines.map(({ custom_id, body: own }) => ({
      custom_id: textOf(custom_id),
      body: isJsonObject(own) ? own : {},
    }))
    if (asked.length === 0 || new Set(asked.map((one) => one.custom_id)).size < asked.length) {
      return wrong("The file needs requests, each with a custom_id of its own.")
    }
    const about = { api, endpoint: textOf(endpoint), asked, input: file.id, owner, bytes: file.bytes }
    const batch = this.#add(about, metadata)
    return json(200, this.#shown(batch))
  }

  #list(query: URLSearchParams, owner: string): DemoReply {
    const all = [...this.#batches.values()].filter((one) => one.api !== "anthropic" && one.owner === owner).toReversed()
    const { data, has_more } = page(all, query, "after")
    return json(200, { object: "list", data: data.map((batch) => this.#shown(batch)), has_more })
  }

  #shown(batch: DemoBatch): JsonObject {
    const { id, endpoint, metadata, input, created_at, asked, cancelled_at } = batch
    const over = this.#isOver(batch)
    const done = this.#done(batch)
    const status = !over ? "in_progress" : cancelled_at === null ? "completed" : "cancelled"
    return {
      id,
      object: "batch",
      endpoint,
      errors: null,
      input_file_id: input,
      completion_window: "24h",
      status,
      output_file_id: over ? this.#output(batch) : null,
      error_file_id: null,
      created_at: Math.floor(created_at / 1000),
      expires_at: Math.floor(created_at / 1000) + 86_400,
      request_counts: { total: asked.length, completed: done, failed: 0 },
      metadata,
    }
  }

  /** The file of the results, whose text is made when it is asked for. */
  #output(batch: DemoBatch): string {
    const id = `file-of-${batch.id}`
    if (this.#files.has(id)) return id
    const text = (): Promise<string> => this.#results(batch)
    this.#keep(this.#files, { id, owner: batch.owner, text, bytes: 0, created_at: this.#now() })
    return id
  }

  async #results(batch: DemoBatch): Promise<string> {
    const done = this.#done(batch)
    const lines: string[] = []
    for (const [index, { custom_id, body }] of batch.asked.entries()) {
      if (index % perTurn === perTurn - 1) await nextTurn()
      if (batch.api === "anthropic") {
        lines.push(
          JSON.stringify({ custom_id, result: index < done ? await this.#message(body) : { type: "canceled" } }),
        )
        continue
      }
      const answer =
        index < done ? await this.#model.handle({ route: { api: batch.api }, body: unstreamed(body) }) : null
      const response = answer && {
        status_code: answer.status,
        request_id: `req_${index}`,
        body: jsonOf(textOf(answer.body)) ?? null,
      }
      const error = answer === null ? { code: "batch_cancelled", message: "The batch was cancelled." } : null
      lines.push(JSON.stringify({ id: `batch_req_${index}`, custom_id, response, error }))
    }
    return lines.map((line) => `${line}\n`).join("")
  }

  // --------------------------------------------------------------------------------------------- Anthropic's

  async #message(body: JsonObject): Promise<JsonObject> {
    const answer = await this.#model.handle({ route: { api: "anthropic" }, body: unstreamed(body) })
    const value = jsonOf(textOf(answer.body)) ?? null
    return answer.status === 200 ? { type: "succeeded", message: value } : { type: "errored", error: value }
  }

  async #anthropic(
    method: string,
    id: string,
    part: string,
    query: URLSearchParams,
    text: string,
    owner: string,
  ): Promise<DemoReply> {
    if (id === "") {
      if (method !== "POST") return this.#listMessages(query, owner)
      const body = jsonOf(text)
      const requests =
        isJsonObject(body) && Array.isArray(body["requests"]) ? body["requests"].filter(isJsonObject) : []
      const asked = requests.map(({ custom_id, params }) => ({
        custom_id: textOf(custom_id),
        body: isJsonObject(params) ? params : {},
      }))
      const isNamed = asked.every(({ custom_id }) => /^[\w-]{1,64}$/.test(custom_id))
      if (asked.length === 0 || !isNamed) return wrong("requests: each needs a custom_id and params.")
      const about = { api: "anthropic", endpoint: "", asked, input: "", owner, bytes: Buffer.byteLength(text) } as const
      return json(200, this.#shownMessages(this.#add(about, {})))
    }
    const batch = ownOf(this.#batches, id, owner)
    if (batch === undefined || batch.api !== "anthropic") return missing()
    const over = this.#isOver(batch)
    if (part === "results") {
      if (!over) return missing()
      return { status: 200, headers: { "content-type": "application/x-jsonl" }, body: await this.#results(batch) }
    }
    if (method === "DELETE") {
      if (!over) return wrong("A batch is deleted once it has ended.")
      this.#forget(this.#batches, id)
      return json(200, { id, type: "message_batch_deleted" })
    }
    if (part === "cancel") this.#cancel(batch)
    return json(200, this.#shownMessages(batch))
  }

  #listMessages(query: URLSearchParams, owner: string): DemoReply {
    const all = [...this.#batches.values()].filter((one) => one.api === "anthropic" && one.owner === owner).toReversed()
    const { data, has_more } = page(all, query, "after_id")
    const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
    return json(200, { data: data.map((batch) => this.#shownMessages(batch)), has_more, first_id, last_id })
  }

  #shownMessages(batch: DemoBatch): JsonObject {
    const over = this.#isOver(batch)
    const done = over ? this.#done(batch) : 0
    const rest = batch.asked.length - done
    return {
      id: batch.id,
      type: "message_batch",
      processing_status: over ? "ended" : "in_progress",
      request_counts: {
        processing: over ? 0 : rest,
        succeeded: done,
        errored: 0,
        canceled: over ? rest : 0,
        expired: 0,
      },
      created_at: isoTime(batch.created_at),
      expires_at: isoTime(batch.created_at + 86_400_000),
      results_url: over ? `/v1/messages/batches/${batch.id}/results` : null,
    }
  }

  // -------------------------------------------------------------------------------------------------- both

  #add(about: Omit<DemoBatch, "id" | "metadata" | "created_at" | "cancelled_at">, metadata: unknown): DemoBatch {
    const id = `${about.api === "anthropic" ? "msgbatch" : "batch"}_${randomUUID()}`
    const own = isJsonObject(metadata) ? metadata : {}
    return this.#keep(this.#batches, { ...about, id, metadata: own, created_at: this.#now(), cancelled_at: null })
  }

  #cancel(batch: DemoBatch): void {
    if (!this.#isOver(batch)) batch.cancelled_at = this.#now()
  }

  #isOver({ created_at, cancelled_at }: DemoBatch): boolean {
    return cancelled_at !== null || this.#now() >= created_at + this.#takesMs
  }

  #done({ asked, created_at, cancelled_at }: DemoBatch): number {
    const ran = (cancelled_at ?? this.#now()) - created_at
    if (ran >= this.#takesMs) return asked.length
    return Math.floor((asked.length * ran) / this.#takesMs)
  }
}

function ownOf<T extends Kept>(kept: ReadonlyMap<string, T>, id: string, owner: string): T | undefined {
  const one = kept.get(id)
  return one?.owner === owner ? one : undefined
}

function unstreamed(body: JsonObject): JsonObject {
  return { ...body, stream: false }
}

function page(
  all: readonly DemoBatch[],
  query: URLSearchParams,
  cursor: string,
): { readonly data: readonly DemoBatch[]; readonly has_more: boolean } {
  const after = query.get(cursor)
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const limit = Math.min(100, Number(query.get("limit") ?? 20) || 20)
  return { data: all.slice(from, from + limit), has_more: all.length > from + limit }
}

/** The part `file` of a form. */
function fileIn(form: string): string | null {
  const boundary = /^--([^\r\n]+)\r\n/.exec(form)?.[1]
  if (boundary === undefined) return null
  const head = form.indexOf('name="file"')
  const start = head < 0 ? -1 : form.indexOf("\r\n\r\n", head)
  const end = start < 0 ? -1 : form.indexOf(`\r\n--${boundary}`, start)
  return end < 0 ? null : form.slice(start + 4, end)
}

function shownFile({ id, bytes, created_at }: DemoFile): JsonObject {
  return {
    id,
    object: "file",
    bytes,
    created_at: Math.floor(created_at / 1000),
    filename: "batch.jsonl",
    purpose: "batch",
  }
}

function json(status: number, body: JsonObject): DemoReply {
  return { status, headers: { "content-type": "application/json; charset=utf-8" }, body: JSON.stringify(body) }
}

function wrong(message: string): DemoReply {
  return json(400, { error: { message, type: "invalid_request_error", param: null, code: null } })
}

function tooLarge(): DemoReply {
  return json(413, {
    error: { message: "The body is too large.", type: "invalid_request_error", param: null, code: null },
  })
}

function missing(): DemoReply {
  return json(404, {
    error: { message: "There is nothing here.", type: "invalid_request_error", param: null, code: null },
  })
}

/** The part of an address of the demo model that belongs to its batch APIs; null where none does. */
export function demoBatchPath(url: string): string | null {
  const [address = ""] = url.split("?")
  const path = address.replace(/^\/demo(?=\/)/, "").replace(/^\/v1(?=\/)/, "")
  return /^\/(?:files|batches|messages\/batches)(?:\/|$)/.test(path) ? path : null
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : ""
}
