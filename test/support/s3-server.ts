import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

// A small S3 for tests: it checks signatures, hashes of bodies and dates, and keeps objects in memory. It shares no code with our client.

export interface S3Server {
  readonly endpoint: string
  readonly objects: Map<string, { readonly body: Buffer; readonly at: number }>
  readonly uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer>; readonly at: number }>
  /** Answers the next requests that this fits with an error. */
  fail(times: number, status: number, fits?: (request: IncomingMessage) => boolean): void
  /** Does what the next request asks that this fits, and breaks the connection before it answers. */
  loseAnswer(fits: (request: IncomingMessage) => boolean): void
  close(): Promise<void>
}

export const testKeys = { accessKey: "AKIDTEST", secretKey: "secret+of/the=tests" }

const skewMs = 15 * 60_000

interface Sent {
  readonly method: string
  /** As it came. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** The signature that a request should have, by what it says of itself; null where it is not signed. */
export function expectedSignature({ method, url, headers, body }: Sent, secretKey: string): string | null {
  const authorization = String(headers["authorization"] ?? "")
  const [, , day, region, signedList] =
    /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request,\s*SignedHeaders=([a-z0-9;-]+),\s*Signature=[0-9a-f]{64}$/.exec(
      authorization,
    ) ?? []
  if (day === undefined || region === undefined || signedList === undefined) return null
  const [path = "", query = ""] = url.split("?", 2)
  const sorted = query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => (pair.includes("=") ? pair : `${pair}=`))
    .sort()
    .join("&")
  const hashOf = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex")
  const lines = signedList.split(";").map(
    (name) =>
      `${name}:${String(headers[name] ?? "")
        .trim()
        .replaceAll(/ +/g, " ")}\n`,
  )
  const said = String(headers["x-amz-content-sha256"] ?? hashOf(body))
  const canonical = `${method}\n${path}\n${sorted}\n${lines.join("")}\n${signedList}\n${said}`
  const scope = `${day}/${region}/s3/aws4_request`
  const text = `AWS4-HMAC-SHA256\n${String(headers["x-amz-date"])}\n${scope}\n${hashOf(canonical)}`
  const mac = (key: Buffer | string, what: string): Buffer => createHmac("sha256", key).update(what).digest()
  const key = mac(mac(mac(mac(`AWS4${secretKey}`, day), region), "s3"), "aws4_request")
  return mac(key, text).toString("hex")
}

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string) {
    super(code)
    this.status = status
    this.code = code
  }
}

function check(sent: Sent): void {
  const { headers, body } = sent
  const authorization = String(headers["authorization"] ?? "")
  if (authorization === "") throw new Refusal(403, "AccessDenied")
  if (!authorization.includes(`Credential=${testKeys.accessKey}/`)) throw new Refusal(403, "InvalidAccessKeyId")
  const expected = expectedSignature(sent, testKeys.secretKey)
  const given = /Signature=([0-9a-f]{64})$/.exec(authorization)?.[1] ?? ""
  const isRight = expected !== null && given.length === 64 && timingSafeEqual(Buffer.from(expected), Buffer.from(given))
  if (!isRight) throw new Refusal(403, "SignatureDoesNotMatch")
  for (const name of ["host", "x-amz-content-sha256", "x-amz-date"]) {
    if (!/SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";").includes(name))
      throw new Refusal(403, "AccessDenied")
  }
  const date = String(headers["x-amz-date"]).replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z")
  if (!(Math.abs(Date.parse(date) - Date.now()) < skewMs)) throw new Refusal(403, "RequestTimeTooSkewed")
  const hash = createHash("sha256").update(body).digest("hex")
  if (headers["x-amz-content-sha256"] !== hash) throw new Refusal(400, "XAmzContentSHA256Mismatch")
}

const xml = (root: string, inner: string): string => `<?xml version="1.0" encoding="UTF-8"?><${root}>${inner}</${root}>`
const tagOf = (body: Buffer): string => `"${createHash("md5").update(body).digest("hex")}"`

export async function startS3Server(bucket: string, minPartBytes = 5 * 1024 * 1024): Promise<S3Server> {
  const objects: S3Server["objects"] = new Map()
  const uploads: S3Server["uploads"] = new Map()
  let numbered = 0
  let loses: ((request: IncomingMessage) => boolean) | null = null
  let failing = { times: 0, status: 500, fits: (_request: IncomingMessage): boolean => true }

  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const { method = "", url = "" } = request
    check({ method, url, headers: request.headers, body })
    const { pathname, searchParams } = new URL(url, "http://x")
    const [, named, ...rest] = pathname.split("/")
    if (named !== bucket) throw new Refusal(404, "NoSuchBucket")
    const key = decodeURIComponent(rest.join("/"))
    const send = (status: number, text: string | Buffer = "", headers: Record<string, string> = {}): void => {
      if (loses?.(request) === true) {
        loses = null
        response.destroy()
        return
      }
      response.writeHead(status, { "content-length": String(Buffer.byteLength(text)), ...headers }).end(text)
    }
    const upload = uploads.get(searchParams.get("uploadId") ?? "")
    if (searchParams.has("uploadId") && upload?.key !== key) throw new Refusal(404, "NoSuchUpload")
    if (key === "") {
      const prefix = searchParams.get("prefix") ?? ""
      const all = searchParams.has("uploads")
        ? [...uploads].map(([id, { key: of, at }]) => ({ key: of, at, id }))
        : [...objects].map(([of, { at }]) => ({ key: of, at, id: "" }))
      const sorted = all.filter((one) => one.key.startsWith(prefix)).sort((a, b) => (a.key < b.key ? -1 : 1))
      const after = searchParams.get("continuation-token") ?? searchParams.get("key-marker") ?? ""
      const page = sorted.filter((one) => one.key > after).slice(0, 3)
      const more = page.length > 0 && page.at(-1) !== sorted.at(-1)
      const element = searchParams.has("uploads") ? "Upload" : "Contents"
      const time = searchParams.has("uploads") ? "Initiated" : "LastModified"
      const next = searchParams.has("uploads") ? "NextKeyMarker" : "NextContinuationToken"
      const items = page.map(
        (one) =>
          `<${element}><Key>${one.key}</Key><${time}>${new Date(one.at).toISOString()}</${time}>${one.id && `<UploadId>${one.id}</UploadId>`}</${element}>`,
      )
      const end = more ? `<${next}>${page.at(-1)?.key}</${next}>` : ""
      return send(200, xml("ListResult", `<IsTruncated>${more}</IsTruncated>${items.join("")}${end}`))
    }
    switch (method) {
      case "PUT": {
        if (upload !== undefined) {
          upload.parts.set(Number(searchParams.get("partNumber")), body)
          return send(200, "", { etag: tagOf(body) })
        }
        objects.set(key, { body, at: Date.now() })
        return send(200, "", { etag: tagOf(body) })
      }
      case "POST": {
        if (searchParams.has("uploads")) {
          const id = `up&load-${++numbered}`
          uploads.set(id, { key, parts: new Map(), at: Date.now() })
          return send(200, xml("InitiateMultipartUploadResult", `<UploadId>${id.replace("&", "&amp;")}</UploadId>`))
        }
        if (upload === undefined) throw new Refusal(400, "InvalidRequest")
        const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)]
        const parts = listed.map(([, number, tag]) => {
          const part = upload.parts.get(Number(number))
          if (part === undefined || tagOf(part) !== tag?.replaceAll("&quot;", '"'))
            throw new Refusal(400, "InvalidPart")
          return part
        })
        // The status is out before a large object is joined.
        if (parts.slice(0, -1).some((part) => part.length < minPartBytes)) {
          return send(200, xml("Error", "<Code>EntityTooSmall</Code>"))
        }
        objects.set(key, { body: Buffer.concat(parts), at: Date.now() })
        uploads.delete(searchParams.get("uploadId") ?? "")
        return send(200, xml("CompleteMultipartUploadResult", `<Key>${key}</Key>`))
      }
      case "GET": {
        const object = objects.get(key)
        if (object === undefined) throw new Refusal(404, "NoSuchKey")
        const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? []
        if (from === undefined) return send(200, object.body)
        if (Number(from) >= object.body.length) throw new Refusal(416, "InvalidRange")
        return send(206, object.body.subarray(Number(from), Number(to) + 1))
      }
      case "DELETE":
        if (upload !== undefined) uploads.delete(searchParams.get("uploadId") ?? "")
        else objects.delete(key)
        return send(204)
      default:
        throw new Refusal(405, "MethodNotAllowed")
    }
  }

  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      try {
        if (failing.times > 0 && failing.fits(request)) {
          failing.times--
          throw new Refusal(failing.status, "SlowDown")
        }
        answer(request, response, Buffer.concat(parts))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const text = xml("Error", `<Code>${error.code}</Code><Message>no</Message>`)
        response.writeHead(error.status, { "content-type": "application/xml" }).end(text)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    uploads,
    fail(times, status, fits = () => true) {
      failing = { times, status, fits }
    },
    loseAnswer(fits) {
      loses = fits
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
