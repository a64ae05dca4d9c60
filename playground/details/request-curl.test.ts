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
