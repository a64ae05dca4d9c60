import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { cpuTime } from "../../support/cpu-time.ts"
import { sendRaw } from "../../support/raw-http.ts"
import { startService } from "./start-service.ts"
import { atStrength } from "../../support/strength.ts"

// Reading a header takes time in proportion to its length, whatever it holds. Node refuses more than 16 KB of them.

const length = 15_000
const fill = (piece: string): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)

/** What makes a regular expression with two ways to match go through all of them. */
const values: readonly string[] = [
  `a${fill(" ")}b`,
  `a${fill("\t")};`,
  `gzip;${fill(" ")}q`,
  `text/event-stream${fill(" ")};${" ".repeat(100)}q=0x`,
  `Bearer${fill(" ")}a b`,
  `Bearer a${fill(" ")}b`,
  `http://${fill("a")}/`,
  `[${fill(":")}`,
  fill(","),
  fill(";"),
  fill("; q=0.0"),
  fill(', text/plain;q="'),
  fill('a="\\'),
  fill(":1"),
  fill("."),
  fill("="),
  fill("0"),
]

const headers = [
  "accept",
  "accept-encoding",
  "access-control-request-method",
  "authorization",
  "connection",
  "content-encoding",
  "content-type",
  "forwarded",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "sec-fetch-site",
  "transfer-encoding",
  "user-agent",
  "x-forwarded-for",
]

const requests = [
  "GET /playground",
  "POST /execute",
  "POST /format",
  "GET /execute/x/events",
  "OPTIONS /execute",
] as const

for (const keys of atStrength(["ann:key"], ["", "ann:key"])) {
  describe(`hostile headers, ${keys === "" ? "without keys" : "with keys"}`, async () => {
    const service = await startService({ ALLOWED_ORIGINS: "https://app.example", API_KEYS: keys })
    const cost = async (request: string, header: string, value: string): Promise<number> => {
      const body = request.startsWith("POST") ? "{}" : ""
      const lines = [
        `${request} HTTP/1.1`,
        ...(header === "host" ? [] : ["host: localhost"]),
        ...(header === "content-type" ? [] : ["content-type: application/json"]),
        `${header}: ${value}`,
        ...(header === "transfer-encoding" ? [] : [`content-length: ${body.length}`]),
      ]
      const before = cpuTime()
      const { answers } = await sendRaw(service.port, `${lines.join("\r\n")}\r\n\r\n${body}`)
      assert.ok((answers[0]?.status ?? 500) < 500, `${request} ${header}: ${value.slice(0, 40)}`)
      return cpuTime() - before
    }

    // Each route reads its headers by the same code before its own: two of them in `npm test`.
    for (const request of requests.slice(0, atStrength(2, requests.length))) {
      it(request, async () => {
        await cost(request, "x-warm-up", fill("a"))
        for (const header of headers) {
          for (const value of values) {
            const most = 500
            let spent = await cost(request, header, value)
            // A garbage collection may fall into the first try, not into all.
            for (let again = 0; spent > most && again < 3; again++) spent = await cost(request, header, value)
            assert.ok(spent <= most, `${header}: ${value.slice(0, 40)} took ${Math.round(spent)} ms`)
          }
        }
      })
    }
  })
}

describe("Host", async () => {
  const service = await startService()

  it("comes once: two of them are refused, in whatever letters", async () => {
    for (const [first, second] of [
      ["Host", "Host"],
      ["Host", "host"],
      ["hOST", "HOST"],
    ]) {
      const head = `GET /healthz HTTP/1.1\r\n${first}: 127.0.0.1\r\n${second}: evil.example\r\nConnection: close\r\n\r\n`
      const { answers } = await sendRaw(service.port, head)
      assert.equal(answers[0]?.status, 400, `${first} ${second}`)
    }
    const once = await sendRaw(service.port, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert.equal(once.answers[0]?.status, 200)
  })
})
