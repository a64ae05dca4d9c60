import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { requestCurl } from "./request-curl.ts"

test("a shell gives curl the body to the byte, and the key from its variable", () => {
  const text = JSON.stringify({ input: 'It\'s $HOME, `x` and \\ "quoted"\nü' })
  const command = requestCurl({
    run_id: "r",
    call_id: "a.1.1",
    method: "POST",
    url: "http://127.0.0.1:1/v1/responses?a=1&b=2",
    headers: { "content-type": "application/json", authorization: "Bearer $KEY", "x-org": "$X_ORG" },
    body: JSON.parse(text),
    text,
    bytes: text.length,
    sha256: null,
    redacted: false,
  })
  // A function in the place of curl, which writes its arguments.
  const script = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }\nKEY='k e y'\nX_ORG=o\n${command}`
  const given = execFileSync("sh", ["-c", script]).toString("utf8").split("\0").slice(0, -1)
  assert.deepEqual(given, [
    "-X",
    "POST",
    "http://127.0.0.1:1/v1/responses?a=1&b=2",
    "-H",
    "content-type: application/json",
    "-H",
    "authorization: Bearer k e y",
    "-H",
    "x-org: o",
    "--data-binary",
    text,
  ])
})

test("secrets in an address and in a body are variables; a request without a body has none, and curl unpacks the answer", () => {
  const about = { run_id: "r", call_id: "c", method: "PUT", body: null, bytes: 2, sha256: null, redacted: true }
  const headers = { "accept-encoding": "gzip, br" }
  const given = (url: string, text: string): string[] => {
    const command = requestCurl({ ...about, url, headers, text })
    const script = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }\nDB_PIN='1 2'\n${command}`
    return execFileSync("sh", ["-c", script]).toString("utf8").split("\0").slice(0, -1)
  }
  assert.deepEqual(given("http://h/%5Bsecret%3Adb.pin%5D/x", ""), ["-X", "PUT", "http://h/1 2/x", "--compressed"])
  assert.equal(given("http://h/", `{"it's":"[secret:db.pin]"}`).at(-1), `{"it's":"1 2"}`)
})
