import assert from "node:assert/strict"
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { describe, test } from "node:test"
import { importApi } from "../../src/api-import/import-api.ts"
import { readDocument } from "../../src/api-import/read-document.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { formatText } from "../../src/syntax/format.ts"
import { folderWith, runWire } from "./run-wire.ts"

const folder = join(dirname(import.meta.dirname), "fixtures/openapi")
const update = process.env["UPDATE"] === "1"

async function imported(bytes: Uint8Array | string, only: readonly string[] = []) {
  const read = await readDocument(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes)
  return "problem" in read ? read : importApi(read.document, { as: "crm", only })
}

/** A document with one path. */
function documentOf(paths: JsonObject, more: JsonObject = {}): string {
  return JSON.stringify({ openapi: "3.1.0", info: { title: "t", version: "1" }, paths, ...more })
}

async function textOf(paths: JsonObject, more: JsonObject = {}): Promise<string> {
  const outcome = await imported(documentOf(paths, more))
  assert.ok("text" in outcome, JSON.stringify(outcome))
  mustCompile(outcome.text)
  return outcome.text
}

function mustCompile(text: string): void {
  const errors = compile(text).diagnostics.filter(isError)
  assert.deepEqual(
    errors.map(({ path, message }) => `${path}: ${message}`),
    [],
    text.slice(0, 2000),
  )
  assert.deepEqual(formatText(text), { formatted: text, changed: false })
}

describe("real documents", () => {
  const files = globSync("*.{json,yaml}", { cwd: folder }).toSorted()
  test("there are ten of them", () => assert.ok(files.length >= 10))
  for (const file of files) {
    test(`${file} becomes declarations that pass the check`, async () => {
      const outcome = await imported(readFileSync(join(folder, file)))
      assert.ok("text" in outcome, JSON.stringify(outcome))
      mustCompile(outcome.text)
      const path = join(folder, `${basename(file).replace(/\.\w+$/, "")}.wire`)
      const text = `// ${outcome.tools} tools, ${outcome.left} left out\n${outcome.text}`
      if (update || !existsSync(path)) writeFileSync(path, text)
      assert.equal(text, readFileSync(path, "utf8"))
      // Bundled readers are other code than installed ones.
      const { out, err } = await runWire(["api", "import", join(folder, file), "--as", "crm"])
      assert.equal(out, outcome.text, err)
    })
  }
})

describe("decisions", () => {
  test("arguments, bodies and answers", async () => {
    const text = await textOf({
      "/a/{id}": {
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
        post: {
          operationId: "a.b-c",
          parameters: [
            { name: "page", in: "query", schema: { type: "integer" } },
            { name: "X-Trace", in: "header", schema: { type: "string" } },
            { name: "session", in: "cookie", schema: { type: "string" } },
            { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
          ],
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  required: ["name", "made"],
                  properties: {
                    name: { type: "string" },
                    made: { type: "string", readOnly: true },
                    secret: { type: ["string", "null"], writeOnly: true },
                    kind: { enum: ["a b", "c"] },
                  },
                },
              },
            },
          },
          responses: {
            "201": {
              content: {
                "application/json": {
                  schema: {
                    required: ["made"],
                    properties: { made: { type: "string" }, secret: { type: "string", writeOnly: true } },
                  },
                },
              },
            },
          },
        },
        get: { operationId: "a_b_c", responses: { default: { description: "none" } } },
        put: { requestBody: { required: true, content: { "multipart/form-data": { schema: {} } } } },
      },
    })
    assert.match(text, /tool a_b_c from api\.crm\."GET \/a\/\{id\}"/)
    assert.match(
      text,
      /tool a_b_c_2 from api\.crm\."POST \/a\/\{id\}" \{\n {4}input \{\n {8}id: integer\n {8}page: maybe integer/,
    )
    assert.match(
      text,
      /"X-Trace": maybe string\n {8}name: string\n {8}secret: maybe string\n {8}kind: maybe \("a b" \| "c"\)/,
    )
    assert.match(text, /output \{\n {8}made: string\n {4}\}/)
    assert.match(text, /send \{\n {8}"X-Trace": header "X-Trace"\n {8}page: query\n {4}\}/)
    assert.match(text, /\/\/ Left out: The parameter session: cookies are not sent\./)
    assert.match(text, /\/\/ Left out: The parameter filter: /)
    assert.match(text, /\/\/ Left out: PUT \/a\/\{id\}: its body is not JSON\./)
  })

  test("schemas that contain themselves, merged ones, variants", async () => {
    const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
    const text = await textOf(
      {
        "/tree": {
          get: {
            responses: {
              "200": {
                content: { "application/json": { schema: { properties: { tree: ref("Node"), pet: ref("Pet") } } } },
              },
            },
          },
        },
      },
      {
        components: {
          schemas: {
            Node: {
              required: ["self", "kids"],
              properties: { self: ref("Node"), kids: { type: "array", items: ref("Node") } },
            },
            Pet: {
              oneOf: [ref("Cat"), ref("Dog")],
              discriminator: { propertyName: "kind", mapping: { cat: "#/components/schemas/Cat" } },
            },
            Animal: { required: ["kind"], properties: { kind: { type: "string" } } },
            Cat: { allOf: [ref("Animal"), { properties: { lives: { type: "integer" } } }] },
            Dog: { allOf: [ref("Animal"), { required: ["tail"], properties: { tail: { type: "boolean" } } }] },
          },
        },
      },
    )
    assert.match(text, /schema Node \{\n {4}self: maybe schema\.Node\n {4}kids: \[schema\.Node\]\n\}/)
    assert.match(
      text,
      /pet: maybe variant kind \{\n {12}cat \{\n {16}lives: maybe integer\n {12}\}\n+ {12}Dog \{\n {16}tail: boolean/,
    )
  })

  test("servers and sign-ins", async () => {
    const text = await textOf(
      { "/x": { servers: [{ url: "https://other.example.com" }], get: {} }, "/y": { get: {} } },
      {
        servers: [{ url: "https://{region}.example.com/v1/", variables: { region: { default: "eu" } } }],
        security: [{ key: [] }],
        components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-API-Key" } } },
      },
    )
    assert.match(
      text,
      /\/\/ The document has variables in this address[^\n]*\n {4}endpoint: "https:\/\/eu\.example\.com\/v1"/,
    )
    assert.match(text, /api crm_2 \{\n {4}endpoint: "https:\/\/other\.example\.com"/)
    assert.match(text, /X-API-Key: secrets\.api_key/)
    assert.match(text, /tool get_x from api\.crm_2\."GET \/x"/)
  })
})

describe("what is left out is said, and counted", () => {
  const json = (schema: JsonValue): JsonObject => ({ content: { "application/json": { schema } } })
  const get = (properties: JsonObject): JsonObject => ({ get: { responses: { "200": json({ properties }) } } })
  const post = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
    post: { requestBody: { required: true, ...json(schema) }, ...more },
  })
  const key = (name: string): JsonObject => ({ type: "apiKey", in: "header", name })

  async function leftIn(paths: JsonObject, more: JsonObject = {}): Promise<{ left: string[]; text: string }> {
    const outcome = await imported(documentOf(paths, more))
    assert.ok("text" in outcome, JSON.stringify(outcome))
    mustCompile(outcome.text)
    const left = [...outcome.text.matchAll(/\/\/ Left out: (.*)/g)].map(([, what = ""]) => what)
    assert.equal(outcome.left, left.length, outcome.text)
    return { left, text: outcome.text }
  }

  test("fields whose type is elsewhere, or nowhere", async () => {
    const properties = { far: { $ref: "other.json#/x" }, lost: { $ref: "#/components/schemas/none" }, any: true }
    const { left, text } = await leftIn({
      "/a": post({ required: ["far"], properties: { ok: { type: "string" }, ...properties } }),
      "/b": get({ ok: { type: "string" }, ...properties }),
    })
    assert.deepEqual(left, [
      "body.far: its type is in another document, and nothing is fetched.",
      "body.lost: its type is a reference that leads nowhere.",
      "body.any: any value, which no type can say.",
      "answer.far: its type is in another document, and nothing is fetched.",
      "answer.lost: its type is a reference that leads nowhere.",
      "answer.any: any value, which no type can say.",
    ])
    assert.match(text, /ok: maybe string\n {8}far: object\n {4}\}/)
  })

  test("answers, bodies and paths that are references to nowhere", async () => {
    const { left } = await leftIn({
      "/a": { get: { responses: { "200": json({ $ref: "other.json" }) } } },
      "/b": { get: { responses: { "200": { $ref: "other.json" } } } },
      "/c": { post: { requestBody: { $ref: "#/components/requestBodies/none" } } },
      "/d": { $ref: "other.json" },
    })
    assert.deepEqual(left, [
      "/d: it is a reference that leads nowhere, or to another document.",
      "The type of the answer: its type is in another document, and nothing is fetched, and stays untyped.",
      "The answer: it is a reference that leads nowhere, or to another document.",
      "The body: it is a reference that leads nowhere, or to another document.",
    ])
  })

  test("operations with methods that no tool has", async () => {
    const { left } = await leftIn({ "/a": { get: {}, head: {}, options: { operationId: "o" } } })
    assert.deepEqual(left, ["HEAD /a: no tool has this method.", "OPTIONS /a: no tool has this method."])
  })

  test("sign-ins of operations", async () => {
    const { left } = await leftIn(
      {
        "/same": { get: { security: [{ b: [] }, { a: [] }] } },
        "/other": { get: { security: [{ b: [] }] } },
        "/public": { get: { security: [] } },
        "/usual": { get: {} },
      },
      { security: [{ a: [] }], components: { securitySchemes: { a: key("X-A"), b: key("X-B") } } },
    )
    assert.deepEqual(left, [
      "The sign-in b: all tools of an api sign in alike.",
      "That it needs no sign-in: the secrets of the api are sent all the same.",
    ])
    const query = { a: { type: "apiKey", in: "query", name: "key" } }
    const unsent = { security: [{ a: [] }], components: { securitySchemes: query } }
    assert.deepEqual((await leftIn({ "/a": { get: {} } }, unsent)).left, ["The sign-in a: only headers are sent."])
  })

  test("a body that has the name of a parameter, once", async () => {
    const one = { oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }
    const schemas = { Inner: { properties: { deep: one, ok: { type: "string" } } } }
    const body = { properties: { id: { type: "string" }, one, inner: { $ref: "#/components/schemas/Inner" } } }
    const { left } = await leftIn({ "/a/{id}": post(body) }, { components: { schemas } })
    const why = "one of several types, and nothing in the value tells which."
    assert.deepEqual(left.toSorted(), [`body.one: ${why}`, `schema.Inner.deep: ${why}`])
  })

  test("tuples, fixed values and arrays", async () => {
    const pair = { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] }
    const properties = {
      pair: { ...pair, items: false },
      open: pair,
      five: { const: 5 },
      sizes: { type: "integer", enum: [1, 2, null] },
      mixed: { enum: ["a", 1] },
      both: { type: "boolean", enum: [true, false] },
      list: { type: "array" },
    }
    const { left, text } = await leftIn({ "/a": get(properties), "/b": post({ properties: { open: pair } }) })
    assert.match(text, /pair: maybe \(string, integer\)\n {8}five: maybe integer\n {8}sizes: maybe integer\n/)
    assert.match(text, /mixed: maybe \(string \| integer\)\n {8}both: maybe boolean\n {4}\}/)
    assert.match(text, /open: maybe \(string, integer\)/)
    const unlisted = "which values it may have, since only texts can be listed."
    assert.deepEqual(left, [
      "answer.open: an array with a type for each place, which may be longer or has a place without a type.",
      `answer.five: ${unlisted}`,
      `answer.sizes: ${unlisted}`,
      `answer.mixed: ${unlisted}`,
      "answer.list: an array, and of its elements: any value, which no type can say.",
    ])
  })

  test("parameters: what may be null, and what a path does not take", async () => {
    const type = ["integer", "null"]
    const parameters = [
      { name: "page", in: "query", required: true, schema: { type } },
      { name: "id", in: "path", required: true, schema: { type } },
      { name: "ids", in: "path", required: true, schema: { type: "array", items: { type: "string" } } },
    ]
    const { left, text } = await leftIn({ "/a/{id}/{ids}": { get: { parameters } } })
    assert.match(text, /page: maybe integer\n {8}id: integer\n {8}ids: string\n/)
    assert.deepEqual(left, [
      "The type of the parameter ids: a path and a header take one value; it is declared as a string.",
    ])
  })
})

describe("documents of strangers", () => {
  test("texts stay texts: quotes, braces, line ends, words of the language", async () => {
    const evil = '"} }\u2028{{ secrets.x }}\\ \r\n} agent x { } /// \u202e'
    const text = await textOf(
      {
        "/a": {
          get: {
            operationId: evil,
            summary: evil,
            description: evil,
            parameters: [
              { name: evil, in: "query", description: evil, schema: { type: "string", enum: [evil] } },
              { name: "__proto__", in: "query", schema: { type: "string" } },
              { name: "h\r\nX-Evil: 1", in: "header", schema: { type: "string" } },
            ],
            responses: {
              "200": {
                content: {
                  "application/json": { schema: { properties: { [evil]: { type: "string", description: evil } } } },
                },
              },
            },
          },
        },
        [evil]: { get: {} },
        "/b/{__proto__}": { get: {} },
      },
      { info: { title: evil }, servers: [{ url: `https://x.example/${evil}` }] },
    )
    const { program } = compile(text)
    assert.deepEqual([...program.agents.keys()], [])
    assert.deepEqual([...program.apis.keys()], ["crm"])
    assert.equal(program.tools.size, 1)
    assert.ok(!/[\u2028\u202e\r]/.test(text))
  })

  test("nothing is fetched, and references that lead nowhere, elsewhere or in circles end", async () => {
    const circle = { a: { $ref: "#/components/schemas/b" }, b: { $ref: "#/components/schemas/a" } }
    const schemas: JsonObject = {
      ...circle,
      list: { type: "array", items: { $ref: "#/components/schemas/list" } },
      all: { allOf: [{ $ref: "#/components/schemas/all" }, { $ref: "#/components/schemas/all" }] },
      far: { $ref: "http://127.0.0.1:9/schema.json#/x" },
    }
    const properties = Object.fromEntries(
      [...Object.keys(schemas), "none"].map((name): [string, JsonValue] => [
        name,
        { $ref: `#/components/schemas/${name}` },
      ]),
    )
    const answer = { "200": { content: { "application/json": { schema: { properties } } } } }
    const text = await textOf(
      { "/a": { get: { responses: answer } }, "/b": { $ref: "#/paths/~1b" } },
      { components: { schemas } },
    )
    assert.match(text, /stays untyped/)
  })

  test("deep, wide and exponential documents end soon", async () => {
    let deep: JsonObject = { type: "string" }
    for (let level = 0; level < 1000; level++) deep = { properties: { x: deep } }
    const schemas: JsonObject = { s0: { properties: { x: { type: "string" } } } }
    for (let level = 1; level < 60; level++) {
      const one = { $ref: `#/components/schemas/s${level - 1}` }
      schemas[`s${level}`] = { allOf: [one, one, { properties: { [`p${level}`]: one, [`q${level}`]: one } }] }
    }
    const answer = (schema: JsonValue): JsonObject => ({ "200": { content: { "application/json": { schema } } } })
    await textOf(
      {
        "/deep": { get: { responses: answer(deep) } },
        "/wide": { get: { responses: answer({ $ref: "#/components/schemas/s59" }) } },
      },
      { components: { schemas } },
    )
    const brackets = `${"[".repeat(2_000_000)}`
    assert.ok("problem" in (await imported(brackets)))
    assert.ok("problem" in (await imported(`openapi: 3.1.0\nx: ${"[".repeat(100_000)}`)))
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for (let level = 98; level < 108; level++) {
      const [before, name] = [String.fromCharCode(level - 1), String.fromCharCode(level)]
      bomb.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`)
    }
    assert.ok("problem" in (await imported(["openapi: 3.1.0", ...bomb].join("\n"))))
  })

  test("what is not a document, too large or too many is refused with advice", async () => {
    const problemOf = async (text: string, only: readonly string[] = []): Promise<string> => {
      const outcome = await imported(text, only)
      return "problem" in outcome ? outcome.problem : "none"
    }
    assert.match(
      await problemOf('{\n  "openapi": "3.1.0"\n  "info": {}\n}'),
      /nor valid YAML: .* at line 3, column 3\.$/,
    )
    assert.match(await problemOf("openapi: 3.1.0\na: ["), /nor valid YAML: Flow sequence .* at line 2, column 5\.$/)
    assert.match(await problemOf("openapi: 3.1.0\n\tb: 1"), /nor valid YAML: .* at line 2, column \d+\.$/)
    assert.match(await problemOf("a: *b"), /nor valid YAML: .*\bb\b/)
    assert.match(await problemOf("Some text."), /neither JSON nor YAML/)
    assert.match(await problemOf('{"swagger":"2.0"}'), /Swagger 2\.0: convert it/)
    assert.match(await problemOf('{"openapi":"2.9"}'), /not OpenAPI 3\.0 or 3\.1/)
    assert.match(await problemOf(documentOf({})), /no operations/)
    assert.match(await problemOf(`{"openapi":"3.0.0","x":"${"y".repeat(5 * 1024 * 1024)}"}`), /more than 5 MiB/)
    const many = documentOf(
      Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`/p${at}`, { get: { operationId: `find${at}` } }])),
    )
    assert.match(await problemOf(many), /201 operations.*--only/)
    assert.equal(await problemOf(many, ["find1*"]), "none")
    assert.match(await problemOf(many, ["nothing*"]), /No operation is called nothing\*/)
  })
})

test("wire api import writes a file that wire check accepts, and says what is left out", async () => {
  const cwd = folderWith({ "openapi.json": readFileSync(join(folder, "train-travel.json"), "utf8"), "wrong.json": "{" })
  const done = await runWire(
    ["api", "import", "openapi.json", "--as", "trains", "--only", "get*", "--out", "trains.wire"],
    { cwd },
  )
  assert.equal(done.code, 0, done.err)
  assert.match(done.err, /^\d+ tools in trains\.wire\. /)
  const checked = await runWire(["check", "trains.wire"], { cwd })
  assert.equal(checked.code, 0, checked.out + checked.err)
  assert.equal((await runWire(["fmt", "--check", "trains.wire"], { cwd })).code, 0)
  const printed = await runWire(["api", "import", "openapi.json", "--as", "trains", "--only", "get*"], { cwd })
  assert.equal(printed.out, readFileSync(join(cwd, "trains.wire"), "utf8"))
  assert.equal((await runWire(["api", "import", "wrong.json", "--as", "x"], { cwd })).code, 1)
  assert.equal((await runWire(["api", "import", "none.json", "--as", "x"], { cwd })).code, 1)
  assert.equal((await runWire(["api", "import", "openapi.json", "--as", "1x"], { cwd })).code, 2)
  assert.equal((await runWire(["api", "import", "openapi.json"], { cwd })).code, 2)
})
