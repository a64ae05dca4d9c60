import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import fc from "fast-check"
import { snippet, snippetLanguages } from "./snippets.ts"

const request = {
  url: "http://127.0.0.1:1",
  source: "output { }",
  input: {},
  options: {},
  secrets: ["api_key", "trackerToken"],
  withKey: true,
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

test("whatever stands in the source and the input arrives to the letter, through shell, Python and JavaScript", () => {
  const nasty = fc.string({
    unit: fc.constantFrom("'", '"', "\\", "$", "`", "\n", "{", "}", "#", "é", "😀", "a", "%", "!"),
  })
  const shown = "body = request.data.decode()\nprint(body)"
  fc.assert(
    fc.property(nasty, nasty, (source, value) => {
      const given = { ...request, source, input: { value }, secrets: ["k"], withKey: false }
      const env = { PATH: process.env["PATH"] ?? "", K: "s3cret" }
      // Each snippet is run up to the point where it would call: a `curl` that prints its body takes the real one's place.
      const curl = spawnSync("bash", ["-c", `curl() { printf %s "\${@: -1}"; }\n${snippet("curl", given)}`], { env })
      const script = snippet("TypeScript", given).replace(/await fetch\(/, "await show(")
      const show = "const show = (url, init) => { process.stdout.write(init.body); process.exit(0) };\n"
      const node = spawnSync(process.execPath, ["--input-type=module", "-e", show + script], { env })
      const program = snippet("Python", given).replace(/try:[\s\S]*/, shown)
      const python = spawnSync("python3", ["-c", program], { env })
      const wanted = { workflow_source: source, input: { value }, secrets: { k: "s3cret" } }
      for (const [name, { stdout, stderr }] of Object.entries({ curl, node, python })) {
        assert.deepEqual(JSON.parse(stdout.toString() || "null"), wanted, `${name}: ${stderr.toString()}`)
      }
    }),
    { numRuns: 3 },
  )
})

test("PHP strings hold the source to the letter", () => {
  const source = "a 'b' \\ \"c\" $d\n"
  const text = snippet("PHP", { ...request, source })
  const literal = /\$source = '((?:\\.|[^'\\])*)';/s.exec(text)?.[1]
  assert.equal(literal?.replace(/\\(['\\])/g, "$1"), source)
})
