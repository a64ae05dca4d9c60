import { createHash, createHmac } from "node:crypto"

// Signature Version 4, as S3 takes it: the path is encoded once, the hash of the body is a header and is signed.

export interface S3Credentials {
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
}

export interface S3Request {
  readonly method: string
  readonly host: string
  /** Not encoded, from the first slash on. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** The headers that a request is sent with, the signature among them. `at`: milliseconds since the epoch. */
export function signS3(
  request: S3Request,
  { accessKey, secretKey, region }: S3Credentials,
  at: number,
): Record<string, string> {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d{3}/g, "")
  const day = time.slice(0, 8)
  const hashed = sha256(request.body)
  const headers: Record<string, string> = {
    ...Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value.trim()])),
    host: request.host,
    "x-amz-content-sha256": hashed,
    "x-amz-date": time,
  }
  const names = Object.keys(headers).sort()
  const signed = names.join(";")
  const canonical = [
    request.method,
    encodePath(request.path),
    queryText(request.query),
    ...names.map((name) => `${name}:${headers[name] ?? ""}`),
    "",
    signed,
    hashed,
  ].join("\n")
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n")
  const key = [day, region, "s3", "aws4_request"].reduce<Uint8Array>(hmac, Buffer.from(`AWS4${secretKey}`))
  const signature = hmac(key, text).toString("hex")
  headers["authorization"] =
    `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${signed}, Signature=${signature}`
  return headers
}

export function encodePath(path: string): string {
  return path.split("/").map(encode).join("/")
}

/** Sorted by name, as it is signed. */
export function queryText(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`)
  return pairs.sort().join("&")
}

function encode(text: string): string {
  const upper = (letter: string): string => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, upper)
}

function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex")
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest()
}
