import { gzipSync } from "node:zlib"
import { fc } from "../../support/fast-check.ts"

// Requests that are wrong in every way that we could think of, as bytes.

export interface Route {
  readonly method: "GET" | "POST"
  readonly path: string
  /** A good body; null where there is none. */
  readonly body: Readonly<Record<string, unknown>> | null
  /** Fields whose types the route checks. */
  readonly fields: Readonly<Record<string, "string" | "object" | "options">>
  /** Unknown parameters of the query are refused. */
  readonly strictQuery: boolean
  /** Unknown fields of the body are refused. */
  readonly strictBody: boolean
  /** Another method that the path takes. */
  readonly alsoTakes?: string
}

export interface Malformed {
  readonly name: string
  readonly bytes: Buffer
  /** Whether our half is closed after the bytes. */
  readonly end: boolean
  /** `refused`: the answer is a 4xx; `any`: it is not a 5xx. */
  readonly expect: "refused" | "any"
}

type Headers = readonly (readonly [string, string])[]

interface Parts {
  readonly line?: string
  readonly headers?: Headers
  /** Replaces all headers. */
  readonly bare?: Headers
  readonly body?: string | Uint8Array
  readonly end?: boolean
}

const crlf = "\r\n"

/** Everything for one route: the table, then random ones up to the number. */
export function malformedRequests(route: Route, count: number, seed: number): Malformed[] {
  const all = [...protocol(route), ...(route.body === null ? [] : bodies(route, route.body))]
  const random = fc.sample(randomRequests(route), { numRuns: Math.max(20, count - all.length), seed })
  return [...all, ...random]
}

function build(route: Route, parts: Parts): Buffer {
  const line = parts.line ?? `${route.method} ${route.path} HTTP/1.1`
  const body = Buffer.from(parts.body ?? (route.body === null ? "" : JSON.stringify(route.body)))
  const usual: Headers = [
    ["Host", "127.0.0.1"],
    ...(body.length > 0 ? ([["Content-Length", String(body.length)]] as const) : []),
    ...(route.method === "POST" ? ([["Content-Type", "application/json"]] as const) : []),
  ]
  const given = parts.headers ?? []
  const names = new Set(given.map(([name]) => name.toLowerCase()))
  const headers = parts.bare ?? [...usual.filter(([name]) => !names.has(name.toLowerCase())), ...given]
  const head = [line, ...headers.map(([name, value]) => `${name}: ${value}`), "", ""].join(crlf)
  return Buffer.concat([Buffer.from(head, "latin1"), body])
}

function protocol(route: Route): Malformed[] {
  const rows: Malformed[] = []
  const { method, path } = route
  const bad = (name: string, parts: Parts): void => {
    rows.push({ name, bytes: build(route, parts), end: parts.end ?? false, expect: "refused" })
  }
  const any = (name: string, parts: Parts): void => {
    rows.push({ name, bytes: build(route, parts), end: parts.end ?? false, expect: "any" })
  }
  const raw = (name: string, bytes: string | Uint8Array, end = true): void => {
    rows.push({ name, bytes: Buffer.from(bytes), end, expect: "refused" })
  }

  any("version HTTP/2.0", { line: `${method} ${path} HTTP/2.0` })
  for (const version of ["HTTP/1.2", "HTTP/3", "HTTP/x.1", "HTTPS/1.1", "http/1.1", "HTTP/1.1 extra"]) {
    bad(`version ${version}`, { line: `${method} ${path} ${version}` })
  }
  // What reads no body has its answer out before it knows that the body is broken.
  const body = route.body === null ? any : bad
  body("no version", { line: `${method} ${path}`, bare: [], body: "" })
  for (const word of [method.toLowerCase(), "FOO", "G", "", "PRI", "CONNECT", "TRACE", "PUT", "DELETE", "PATCH"]) {
    if (word === route.alsoTakes) continue
    bad(`method ${word}`, { line: `${word} ${path} HTTP/1.1` })
  }
  bad("no path", { line: `${method}  HTTP/1.1` })
  bad("no slash", { line: `${method} execute HTTP/1.1` })
  any("asterisk", { line: `${method} * HTTP/1.1` })
  bad("two spaces", { line: `${method} ${path}  x HTTP/1.1` })
  for (const end of ["/%", "/%zz", "/%ff", "/%e0%a4%a", "/%00", "/..%2f..", "/\u0001", "/ü", "/%u0041"]) {
    bad(`path ${JSON.stringify(end)}`, { line: `${method} ${path}${end} HTTP/1.1` })
  }
  bad("a long path", { line: `${method} ${path}/${"x".repeat(5000)} HTTP/1.1` })
  bad("a path over every limit", { line: `${method} ${path}/${"x".repeat(70_000)} HTTP/1.1` })
  const query = route.strictQuery ? bad : any
  for (const text of [
    "?x=1",
    "?%zz=%",
    "?=",
    "?a[b]=c",
    "?__proto__=1",
    `?${"a=1&".repeat(500)}`,
    "?after=1&after=2",
  ]) {
    query(`query ${text.slice(0, 20)}`, { line: `${method} ${path}${text} HTTP/1.1` })
  }
  any("absolute form", { line: `${method} http://elsewhere.example${path} HTTP/1.1` })
  any("a fragment", { line: `${method} ${path}#x HTTP/1.1` })

  bad("no Host", { bare: [["Connection", "close"]], body: "" })
  for (const [name, text] of [
    ["a header without a colon", "Nonsense"],
    ["a header without a name", ": x"],
    ["a blank before the colon", "X-A : b"],
    ["a folded header", `X-A: b${crlf} c`],
    ["NUL in a header", "X-A: b\0c"],
    ["a bare CR in a header", "X-A: b\rc"],
    ["a control character in a name", "X\u0001A: b"],
    ["a blank in a name", "X A: b"],
  ] as const) {
    raw(name, `${method} ${path} HTTP/1.1${crlf}Host: x${crlf}${text}${crlf}${crlf}`)
  }
  any("high bytes in a header", { headers: [["X-A", "\u00ff\u00fe"]] })
  bad("a header over every limit", { headers: [["X-A", "x".repeat(70_000)]] })
  any("a thousand headers", { headers: Array.from({ length: 1000 }, (_, n) => [`X-${n}`, "1"] as const) })
  any("hop by hop headers", {
    headers: [
      ["Connection", "close, x, keep-alive"],
      ["Keep-Alive", "timeout=-1"],
    ],
  })
  any("an upgrade", {
    headers: [
      ["Connection", "Upgrade"],
      ["Upgrade", "websocket"],
    ],
  })
  any("Expect: 100-continue", { headers: [["Expect", "100-continue"]] })
  bad("Expect of something else", { headers: [["Expect", "the-spanish-inquisition"]] })

  for (const size of ["-1", "abc", "1e3", "0x10", "5, 6", "99999999999999999999999", "+5", "5;5"]) {
    bad(`Content-Length ${size}`, { headers: [["Content-Length", size]], body: "{}   " })
  }
  bad("two sizes", {
    headers: [
      ["Content-Length", "2"],
      ["Content-Length", "3"],
    ],
    body: "{}",
  })
  bad("a size and chunks", {
    headers: [
      ["Content-Length", "2"],
      ["Transfer-Encoding", "chunked"],
    ],
    body: "{}",
  })
  for (const coding of ["gzip", "chunked, gzip", "xchunked", "identity", "chunked, chunked"]) {
    bad(`Transfer-Encoding ${coding}`, { headers: [["Transfer-Encoding", coding]], body: "{}", end: true })
  }
  const chunked = (text: string): Parts => ({
    bare: [
      ["Host", "x"],
      ["Content-Type", "application/json"],
      ["Transfer-Encoding", "chunked"],
    ],
    body: text,
    end: true,
  })
  for (const text of [
    "zz\r\n{}\r\n0\r\n\r\n",
    "-2\r\n{}\r\n0\r\n\r\n",
    "2\r\n{}0\r\n\r\n",
    "ffffffffffffffffff\r\n{}",
  ]) {
    body(`chunks ${JSON.stringify(text)}`, chunked(text))
  }
  body("chunks that stop", chunked("5\r\n{}"))
  body("chunks without an end", chunked("2\r\n{}\r\n"))
  body("a body that stops", { headers: [["Content-Length", "50000"]], body: "{", end: true })

  raw("a greeting of TLS", Buffer.from("16030100c8010000c40303aabbccddeeff00112233445566778899", "hex"))
  raw("a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
  raw("an answer", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
  raw("SSH", "SSH-2.0-OpenSSH_9.2\r\n")
  return rows
}

function bodies(route: Route, good: Readonly<Record<string, unknown>>): Malformed[] {
  const rows: Malformed[] = []
  const text = JSON.stringify(good)
  const row = (expect: Malformed["expect"], name: string, body: string | Uint8Array, headers: Headers = []): void => {
    rows.push({ name, bytes: build(route, { body, headers }), end: false, expect })
  }
  const bad = (name: string, body: string | Uint8Array, headers: Headers = []): void =>
    row("refused", name, body, headers)

  for (const wrong of [
    "{",
    "}",
    "{]",
    "nul",
    "tru",
    "'a'",
    "{a:1}",
    '{"a":1,}',
    "[1,]",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
  ]) {
    bad(`JSON ${wrong}`, wrong)
  }
  for (const wrong of [
    "\u0000",
    '"\u0001"',
    '"\\x41"',
    '"\\ud800',
    "// x\n{}",
    `${text}x`,
    `${text}${text}`,
    ")]}',\n{}",
  ]) {
    bad(`JSON ${JSON.stringify(wrong.slice(-12))}`, wrong)
  }
  for (const value of ["null", "true", "0", '"x"', "[]", `[${text}]`, "1e999"]) bad(`a body that is ${value}`, value)
  bad("blanks", " \n\t ")
  bad("nothing", "", [["Content-Length", "0"]])
  bad("nothing with a type", "", [["Content-Type", "application/json"]])
  bad("UTF-16", Buffer.from(text, "utf16le"))
  bad(
    "not UTF-8",
    Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff, 0xfe]), Buffer.from(text.slice(-2))]),
  )
  const unknown = route.strictBody ? "refused" : "any"
  row(unknown, "an unknown field", JSON.stringify({ ...good, surprise: 1 }))
  bad("a prototype", text.replace("{", '{"__proto__":{"x":1},'))
  bad("a prototype in disguise", text.replace("{", '{"\\u005f_proto__":{"x":1},'))
  row(unknown, "a huge key", JSON.stringify({ ...good, ["k".repeat(1_000_000)]: 1 }))
  row(
    unknown,
    "many keys",
    JSON.stringify({ ...good, ...Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [n, n])) }),
  )
  for (const depth of [10_000, 1_000_000]) {
    bad(`${depth} arrays in each other`, "[".repeat(depth) + "]".repeat(depth))
    bad(`${depth} arrays in a field`, text.replace(/}$/, `,"deep":${"[".repeat(depth)}${"]".repeat(depth)}}`))
    bad(`${depth} objects that are not closed`, '{"a":'.repeat(depth))
  }
  for (const type of [
    "text/html",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
  ]) {
    bad(`type ${type}`, text, [["Content-Type", type]])
  }
  for (const type of [
    "",
    "json",
    "application",
    "application/json2",
    "*/*",
    "application/json, text/plain",
    ";",
    "ä/ö",
  ]) {
    bad(`type ${type}`, text, [["Content-Type", type]])
  }
  bad("gzip", gzipSync(text), [["Content-Encoding", "gzip"]])
  bad("a size that is too small", text, [["Content-Length", "1"]])
  row("any", "a repeated field", text.replace("{", '{"workflow_source":"output { }",'))
  row("any", "a charset", text, [["Content-Type", "application/json; charset=latin1"]])

  const wrongs: readonly unknown[] = [0, -1, 1.5, true, false, "", "x", [], [[]], {}, { a: 1 }, ["x"]]
  for (const [field, kind] of Object.entries(route.fields)) {
    for (const value of wrongs) {
      const fits = kind === "string" ? typeof value === "string" : typeof value === "object" && !Array.isArray(value)
      if (kind === "options" && fits) continue
      row(fits ? "any" : "refused", `${field} is ${JSON.stringify(value)}`, JSON.stringify({ ...good, [field]: value }))
    }
    if (kind === "string") bad(`${field} is null`, JSON.stringify({ ...good, [field]: null }))
  }
  return rows
}

function randomRequests(route: Route): fc.Arbitrary<Malformed> {
  const whole = build(route, {})
  const any =
    (name: string, end = false) =>
    (bytes: Buffer) => ({ name, bytes, end, expect: "any" as const })
  const mutated = fc
    .array(fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 6 })
    .map((changes) => {
      const bytes = Buffer.from(whole)
      for (const [at, byte] of changes) bytes[at] = byte
      return bytes
    })
    .map(any("some bytes changed", true))
  const cut = fc
    .nat({ max: whole.length - 1 })
    .map((length) => whole.subarray(0, length))
    .map(any("cut", true))
  const headerText = fc.string({ unit: fc.constantFrom(..."abcxyz019-_:;,=/ \"'%{}".split("")), maxLength: 60 })
  const headers = fc
    .tuple(
      fc.constantFrom(
        "Accept",
        "Authorization",
        "Idempotency-Key",
        "Last-Event-ID",
        "Range",
        "Cookie",
        "If-None-Match",
      ),
      headerText,
    )
    .map((header) => build(route, { headers: [header] }))
    .map(any("a random header"))
  const paths = fc
    .string({ unit: fc.constantFrom(..."abc/%.2fF0?&=#;:@".split("")), maxLength: 40 })
    .map((text) => build(route, { line: `${route.method} ${route.path}${text} HTTP/1.1` }))
    .map(any("a random path"))
  const { body } = route
  if (body === null) return fc.oneof(mutated, cut, headers, paths)
  const value = fc
    .jsonValue({ maxDepth: 4 })
    .map((json) => build(route, { body: JSON.stringify(json) }))
    .map(any("a random body"))
  const field = fc
    .tuple(fc.constantFrom(...Object.keys(body), "input", "options", "secrets"), fc.jsonValue({ maxDepth: 3 }))
    .map(([name, json]) => build(route, { body: JSON.stringify({ ...body, [name]: json }) }))
    .map(any("a random field"))
  return fc.oneof(mutated, cut, headers, paths, value, field)
}
