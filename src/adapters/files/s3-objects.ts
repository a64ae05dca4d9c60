import { setTimeout as sleep } from "node:timers/promises"
import { EgressFailure, type Egress, type EgressResponse } from "../../ports/egress.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import { openGate } from "../../ports/gate.ts"
import { FilesFailure, objectName, type ByteRange, type FoundObject, type ObjectStore } from "../../ports/files.ts"
import { encodePath, queryText, signS3, type S3Credentials } from "./sign-s3.ts"

/** `s3://bucket/prefix?endpoint=https://…&region=…` */
export interface S3Address {
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
  readonly region: string
  /** The service, with the bucket in the path; null for that of AWS, with the bucket in the name of the host. */
  readonly endpoint: string | null
}

/** S3 takes no smaller part of an object, but the last one. So much of an upload is in memory, encrypted. */
const partBytes = 5 * 1024 * 1024
const attempts = 4
const answerMs = 60_000
const mostAnswerBytes = 4 * 1024 * 1024

/** The address, or what it must be: the end of a sentence that begins with "it must". */
export function readS3Address(text: string): S3Address | { readonly must: string } {
  const url = URL.parse(text)
  const like = "be like s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1"
  if (url?.protocol !== "s3:" || url.username !== "" || url.hash !== "") return { must: like }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host)) return { must: `${like}, with the name of a bucket` }
  for (const name of url.searchParams.keys()) {
    if (name !== "endpoint" && name !== "region") return { must: `${like}: ${name} is no option` }
  }
  const given = url.searchParams.get("endpoint")
  const endpoint = given === null ? null : URL.parse(given)
  if (given !== null && !(endpoint !== null && /^https?:$/.test(endpoint.protocol) && endpoint.pathname === "/")) {
    return { must: "have an endpoint like https://s3.example.com, without a path" }
  }
  const path = decodeURIComponent(url.pathname)
    .split("/")
    .filter((part) => part !== "")
    .join("/")
  return {
    bucket: url.host,
    prefix: path === "" ? "" : `${path}/`,
    region: url.searchParams.get("region") ?? "us-east-1",
    endpoint: endpoint?.origin ?? null,
  }
}

interface Call {
  readonly method: "GET" | "PUT" | "POST" | "DELETE"
  /** Of the object; null for the bucket. */
  readonly name: string | null
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Besides 200: no failure. */
  readonly takes?: readonly number[]
}

/** Objects in a bucket of S3, or of what speaks it. Larger ones are sent in parts; every request says the hash of its body, and is signed. */
export class S3Objects implements ObjectStore {
  readonly where: string
  readonly #address: S3Address
  readonly #credentials: S3Credentials
  readonly #now: () => number
  readonly #egress: Egress
  readonly #closed = new AbortController()
  /** Uploads that were begun and never completed, as the last listing found them, by object. */
  readonly #begun = new Map<string, string[]>()

  /** `egress`: its own, for the operator has chosen the address; it is closed with this. */
  constructor(
    address: S3Address,
    keys: Pick<S3Credentials, "accessKey" | "secretKey">,
    egress: Egress,
    now: () => number,
  ) {
    this.#egress = egress
    this.#address = address
    this.#credentials = { ...keys, region: address.region }
    this.#now = now
    this.where = `s3://${address.bucket}/${address.prefix}`
  }

  async put(name: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    let part = Buffer.allocUnsafe(partBytes)
    let filled = 0
    let upload: string | null = null
    const tags: string[] = []
    const send = async (): Promise<void> => {
      upload ??= await this.#begin(name)
      tags.push(await this.#sendPart(name, upload, tags.length + 1, part.subarray(0, filled)))
      filled = 0
    }
    try {
      for await (const bytes of body) {
        for (let at = 0; at < bytes.length;) {
          if (filled === partBytes) await send()
          const more = bytes.subarray(at, at + partBytes - filled)
          part.set(more, filled)
          filled += more.length
          at += more.length
        }
      }
      if (upload === null) {
        await this.#done({ method: "PUT", name, body: part.subarray(0, filled) })
        return
      }
      await send()
      await this.#complete(name, upload, tags)
    } catch (error) {
      if (upload !== null) await this.#abort(name, upload).catch(() => undefined)
      throw error
    } finally {
      part = Buffer.alloc(0)
    }
  }

  async #begin(name: string): Promise<string> {
    const text = await this.#text({ method: "POST", name, query: { uploads: "" } })
    const [id] = valuesOf(text, "UploadId")
    if (id === undefined) throw new FilesFailure(`${this.where} began no upload`)
    return unescapeXml(id)
  }

  async #sendPart(name: string, upload: string, number: number, body: Uint8Array): Promise<string> {
    const query = { partNumber: String(number), uploadId: upload }
    const answer = await this.#call({ method: "PUT", name, query, body })
    await answer.text()
    const tag = answer.headers["etag"]
    if (tag === undefined) throw new FilesFailure(`${this.where} gave no tag for a part`)
    return tag
  }

  async #complete(name: string, upload: string, tags: readonly string[]): Promise<void> {
    const parts = tags.map(
      (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
    )
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`)
    const text = await this.#text({ method: "POST", name, query: { uploadId: upload }, body })
    // It may fail after its status was sent.
    if (/<Error[ >]/.test(text)) throw this.#refused("POST", 200, text)
  }

  #abort(name: string, upload: string): Promise<void> {
    return this.#done({ method: "DELETE", name, query: { uploadId: upload }, takes: [204, 404] })
  }

  async *get(name: string, range?: ByteRange): AsyncIterable<Uint8Array> {
    const headers: Record<string, string> =
      range === undefined ? {} : { range: `bytes=${range.from}-${range.from + range.bytes - 1}` }
    const { body } = await this.#call({ method: "GET", name, headers, takes: [206] })
    try {
      yield* body
    } catch (error) {
      throw new FilesFailure(`A file could not be read from ${this.where}`, error)
    }
  }

  async delete(name: string): Promise<void> {
    await this.#done({ method: "DELETE", name, takes: [204, 404] })
    for (const upload of this.#begun.get(name) ?? []) await this.#abort(name, upload)
    this.#begun.delete(name)
  }

  async *list(): AsyncIterable<FoundObject> {
    this.#begun.clear()
    yield* this.#pages({ "list-type": "2" }, "Contents", "LastModified", [
      "continuation-token",
      "NextContinuationToken",
    ])
    yield* this.#pages(
      { uploads: "" },
      "Upload",
      "Initiated",
      ["key-marker", "NextKeyMarker"],
      ["upload-id-marker", "NextUploadIdMarker"],
    )
  }

  async *#pages(
    query: Readonly<Record<string, string>>,
    item: string,
    time: string,
    ...markers: readonly (readonly [parameter: string, element: string])[]
  ): AsyncIterable<FoundObject> {
    const { prefix } = this.#address
    let marks: Record<string, string> = {}
    do {
      const text = await this.#text({ method: "GET", name: null, query: { ...query, prefix, ...marks } })
      for (const inner of valuesOf(text, item)) {
        const [key = ""] = valuesOf(inner, "Key")
        const [escaped] = valuesOf(inner, "UploadId")
        const name = unescapeXml(key).slice(prefix.length)
        if (!objectName.test(name)) continue
        if (escaped !== undefined) {
          const upload = unescapeXml(escaped)
          // Begun twice, because the first answer was lost: the object is whole, and nothing will end this upload.
          if (await this.#isWhole(name)) {
            await this.#abort(name, upload)
            continue
          }
          this.#begun.set(name, [...(this.#begun.get(name) ?? []), upload])
        }
        yield { name, written_at: Date.parse(valuesOf(inner, time)[0] ?? "") || 0 }
      }
      const isCut = valuesOf(text, "IsTruncated")[0] === "true"
      marks = {}
      for (const [parameter, element] of isCut ? markers : []) {
        const [mark] = valuesOf(text, element)
        if (mark !== undefined) marks[parameter] = unescapeXml(mark)
      }
    } while (Object.keys(marks).length > 0)
  }

  async #isWhole(name: string): Promise<boolean> {
    const answer = await this.#call({
      method: "GET",
      name,
      headers: { range: "bytes=0-0" },
      takes: [206, 404],
    })
    await answer.text()
    return answer.status !== 404
  }

  async probe(): Promise<void> {
    const name = `probe${process.pid}`.padEnd(16, "0")
    await this.#done({ method: "PUT", name, body: Buffer.from("probe") })
    await this.#done({ method: "DELETE", name, takes: [204] })
  }

  async close(): Promise<void> {
    this.#closed.abort(new FilesFailure(`${this.where} is closed`))
    await this.#egress.close()
  }

  async #done(call: Call): Promise<void> {
    const answer = await this.#call(call)
    await answer.text()
  }

  async #text(call: Call): Promise<string> {
    const answer = await this.#call(call)
    return answer.text()
  }

  /** Failures that may pass are tried again: every call may be made twice. */
  async #call(call: Call): Promise<EgressResponse> {
    for (let attempt = 1; ; attempt++) {
      let failed: FilesFailure
      try {
        const answer = await this.#send(call)
        if (answer.status === 200 || call.takes?.includes(answer.status) === true) return answer
        const text = (await answer.text()).slice(0, 10_000)
        failed = this.#refused(call.method, answer.status, text)
        if (answer.status < 500 && answer.status !== 429) throw failed
      } catch (error) {
        if (!(error instanceof EgressFailure || error instanceof RunFailure)) throw error
        failed = new FilesFailure(`${this.where} cannot be reached`, error)
        if (error instanceof RunFailure) throw failed
      }
      if (attempt === attempts) throw failed
      await sleep(100 * 4 ** (attempt - 1))
    }
  }

  #send({ method, name, query = {}, headers = {}, body = new Uint8Array() }: Call): Promise<EgressResponse> {
    const { bucket, prefix, endpoint, region } = this.#address
    const key = name === null ? "" : prefix + name
    const origin = endpoint ?? `https://${bucket}.s3.${region}.amazonaws.com`
    const path = endpoint === null ? `/${key}` : `/${bucket}${key === "" ? "" : `/${key}`}`
    const { host } = new URL(origin)
    const signed = signS3({ method, host, path, query, headers, body }, this.#credentials, this.#now())
    const { host: _, ...rest } = signed
    const asked = queryText(query)
    return this.#egress.request({
      url: `${origin}${encodePath(path)}${asked === "" ? "" : `?${asked}`}`,
      method,
      headers: rest,
      body: method === "GET" ? null : body,
      signal: this.#closed.signal,
      gate: openGate,
      limits: {
        firstByteMs: answerMs,
        silenceMs: answerMs,
        totalMs: 0,
        max_bytes: method === "GET" && name !== null ? 0 : mostAnswerBytes,
      },
      redirect: "manual",
    })
  }

  /** Without what the service says of keys: only the code of its error. */
  #refused(method: string, status: number, text: string): FilesFailure {
    const code = /^\w{1,60}$/.exec(valuesOf(text, "Code")[0] ?? "")?.[0]
    const what = code === undefined ? String(status) : `${status} ${code}`
    return new FilesFailure(`${this.where} refused ${method === "GET" ? "to give" : "to take"} a file (${what})`)
  }
}

/** What stands between the tags of these elements, as it is written. */
function valuesOf(xml: string, element: string): string[] {
  const [, ...after] = xml.split(`<${element}>`)
  return after.map((text) => text.split(`</${element}>`, 1)[0] ?? "")
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

function unescapeXml(text: string): string {
  return text.replaceAll(/&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));/g, (_, name, decimal, hex) =>
    name === undefined
      ? String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      : (entities[name] ?? ""),
  )
}

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter] ?? letter)
}
