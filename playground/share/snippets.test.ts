import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import type { SnippetRequest, SnippetSecret } from "./snippets.ts"
import { languagesOf, snippet, snippetLanguages } from "./snippets.ts"

const request = {
  url: "http://127.0.0.1:1",
  workflow: null,
  source: "output { }",
  files: {},
  input: {},
  options: {},
  secrets: [text("api_key"), text("trackerToken")],
  withKey: true,
}

function text(name: string): SnippetSecret {
  return { name, isJson: false, isOptional: false }
}

test("secrets and the key are read from variables", () => {
  for (const language of snippetLanguages) {
    const text = snippet(language, request)
    for (const name of ["API_KEY", "TRACKER_TOKEN", "WIRE_API_KEY"])
      assert.ok(text.includes(name), `${language} ${name}`)
    const without = snippet(language, { ...request, secrets: [], withKey: false })
    assert.doesNotMatch(without, /KEY|secrets/, language)
  }
})

const hasPhp = spawnSync("php", ["-r", "exit(function_exists('curl_init') ? 0 : 1);"]).status === 0
const withPhp = { skip: hasPhp ? false : "php with its curl extension is not installed" }

/** Each snippet is run up to the point where it would call: what prints the body takes the place of the call. */
const bodies = (given: SnippetRequest, variables: Readonly<Record<string, string>>): Record<string, unknown> => {
  const env = { PATH: process.env["PATH"] ?? "", ...variables }
  const curl = spawnSync(
    "sh",
    ["-c", `curl() { for last; do :; done; printf %s "$last"; }\n${snippet("curl", given)}`],
    { env },
  )
  const script = snippet("TypeScript", given).replace(/await fetch\(/, "await show(")
  const show = "const show = (url, init) => { process.stdout.write(init.body); process.exit(0) };\n"
  const node = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", show + script], { env })
  const program = snippet("Python", given).replace(/try:[\s\S]*/, "body = request.data.decode()\nprint(body)")
  const python = spawnSync("python3", ["-c", program], { env })
  const page = snippet("PHP", given).replace(
    "CURLOPT_POSTFIELDS => json_encode(",
    "CURLOPT_POSTFIELDS => (function ($body) { echo json_encode($body); exit; })(",
  )
  const php = hasPhp ? { php: spawnSync("php", { env, input: page }) } : {}
  return Object.fromEntries(
    Object.entries({ curl, node, python, ...php }).map(([name, { stdout, stderr }]) => {
      const out = stdout.toString()
      try {
        return [name, JSON.parse(out)]
      } catch {
        return [name, `${out}${stderr.toString()}`]
      }
    }),
  )
}

test("a workflow of the server is called by its name, with the typed client first", () => {
  const named = { ...request, workflow: "tickets/triage", input: { text: "It's down" }, withKey: false }
  assert.deepEqual(languagesOf(named), ["typed-client", ...snippetLanguages])
  assert.deepEqual(languagesOf(request), snippetLanguages)
  const env = { API_KEY: "a", TRACKER_TOKEN: "t" }
  const wanted = { input: { text: "It's down" }, secrets: { api_key: "a", trackerToken: "t" } }
  for (const [name, body] of Object.entries(bodies(named, env))) assert.deepEqual(body, wanted, name)
  for (const language of snippetLanguages) {
    assert.match(snippet(language, named), /http:\/\/127\.0\.0\.1:1\/workflows\/tickets\/triage\/execute/, language)
  }
  // The client that it imports is replaced by one that prints.
  const script = snippet("typed-client", named).replace(
    /import \{ createClient \}.*/,
    `const createClient = (options) => ({ workflow: (name) => ({ execute: async (input, more) => {
       console.log(JSON.stringify({ options, name, input, ...more })); process.exit(0) } }) })`,
  )
  const ran = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  })
  assert.deepEqual(JSON.parse(ran.stdout.toString() || ran.stderr.toString()), {
    options: { baseUrl: "http://127.0.0.1:1" },
    name: "tickets/triage",
    ...wanted,
  })
})

const nasty = fc.string({
  unit: fc.constantFrom("'", '"', "\\", "$", "`", "\n", "\t", "\r", "{", "}", "#", "é", "😀", "a", "%", "!", " ", "*"),
})

test("whatever stands in the source, the input and the secrets arrives to the letter, through shell, Python, JavaScript and PHP", () => {
  fc.assert(
    fc.property(nasty, nasty, nasty, (source, value, secret) => {
      const files = { file: "flows/main.wire", modules: { "lib/a.wire": `${value}${source}` } }
      const given = { ...request, source, files, input: { value }, secrets: [text("k")], withKey: false }
      const wanted = { workflow_source: source, ...files, input: { value }, secrets: { k: `s${secret}` } }
      for (const [name, body] of Object.entries(bodies(given, { K: `s${secret}` })))
        assert.deepEqual(body, wanted, name)
    }),
    { numRuns: 3, seed: -318079351 },
  )
})

test("what cannot be seen is escaped, and arrives to the letter", () => {
  const source = 'output { a: "\u007f\u001b\u202e\u200b\u{e0061}\u0085" }\r\n'
  const given = { ...request, source, input: { "k\u202e": source }, secrets: [], withKey: false }
  for (const language of snippetLanguages) {
    assert.doesNotMatch(snippet(language, given), /(?!\n)[\p{Cc}\u202e\u200b\u{e0061}]/u, language)
  }
  const wanted = { workflow_source: source, input: { "k\u202e": source } }
  for (const [name, body] of Object.entries(bodies(given, {}))) assert.deepEqual(body, wanted, name)
})

test("secrets that are JSON, that are missing, and whose names are taken", () => {
  const secrets: SnippetSecret[] = [
    text("path"),
    { name: "limits", isJson: true, isOptional: false },
    { name: "note", isJson: false, isOptional: true },
    { name: "more", isJson: true, isOptional: true },
  ]
  const given = { ...request, secrets, withKey: false }
  const variables = { SECRET_PATH: "-----BEGIN\nKEY-----\n", LIMITS: '{ "most": 3, "of": ["a\'b"] }' }
  const common = { path: variables.SECRET_PATH, limits: { most: 3, of: ["a'b"] } }
  for (const [name, body] of Object.entries(bodies(given, variables))) {
    assert.deepEqual(
      (body as { secrets?: unknown }).secrets,
      { ...common, note: null, more: null },
      `${name} ${String(body)}`,
    )
  }
  const all = bodies(given, { ...variables, NOTE: 'a "b"', MORE: "[1]" })
  for (const [name, body] of Object.entries(all)) {
    assert.deepEqual((body as { secrets?: unknown }).secrets, { ...common, note: 'a "b"', more: [1] }, name)
  }
})

test("without a secret that is needed no snippet calls, and each says which it is", () => {
  const outcomes = bodies({ ...request, withKey: false }, { API_KEY: "x" })
  for (const [name, outcome] of Object.entries(outcomes)) assert.match(String(outcome), /TRACKER_TOKEN/, name)
})

test("PHP is among those that were run", withPhp, () => {
  assert.ok("php" in bodies({ ...request, withKey: false }, { API_KEY: "x", TRACKER_TOKEN: "y" }))
})
