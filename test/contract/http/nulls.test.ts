import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { routes } from "../../../src/api/routes.ts"
import type { Route } from "../../../src/api/route.ts"
import { isJsonObject } from "../../../src/base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { startService, type ErrorBody } from "./start-service.ts"

// Null counts as absent: every optional field of every route, at every level.

/** The paths of fields that may be missing: `options`, `options.limits.cost`. */
function optionalFields(schema: JsonValue | undefined, before: readonly string[] = []): (readonly string[])[] {
  if (!isJsonObject(schema)) return []
  const { properties, required, anyOf } = schema
  const inside = Array.isArray(anyOf) ? anyOf.flatMap((one) => optionalFields(one, before)) : []
  const own = Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, field]) => {
    const path = [...before, name]
    const isOptional = !(Array.isArray(required) && required.includes(name))
    return [...(isOptional ? [path] : []), ...optionalFields(field, path)]
  })
  return [...inside, ...own]
}

/** The body with null at a path that it does not have yet. */
function withNull(body: JsonObject, [name = "", ...rest]: readonly string[]): JsonObject {
  if (rest.length === 0) return { ...body, [name]: null }
  const inner = body[name]
  return { ...body, [name]: withNull(isJsonObject(inner) ? inner : {}, rest) }
}

const hasField = (body: JsonValue | undefined, [name, ...rest]: readonly string[]): boolean =>
  name === undefined || (isJsonObject(body) && Object.hasOwn(body, name) && hasField(body[name], rest))

describe("null counts as absent", async () => {
  const folder = folderOf({ "flow.wire": 'output { text: "done" }' })
  const service = await startService({ WORKFLOWS: folder })
  const withBody = routes.filter(({ body, bodyIs }) => body !== undefined && bodyIs !== "none")
  const addressOf = ({ path }: Route): string => path.replace("{name*}", "flow").replaceAll(/\{\w+\*?\}/g, "x")
  const said = async (path: string, body: JsonValue): Promise<readonly unknown[]> => {
    const response = await service.post(path, body)
    const { error } = JSON.parse((await response.text()) || "{}") as Partial<ErrorBody>
    return [response.status, error?.kind, error?.issues.map((issue) => issue.path)]
  }

  it("every route that takes a body is here", () => {
    assert.ok(withBody.length >= 8, withBody.map(({ id }) => id).join())
  })

  for (const route of withBody) {
    it(`${route.method} ${route.path}`, async () => {
      const example = isJsonObject(route.example) ? route.example : {}
      const fields = optionalFields(route.body).filter((field) => !hasField(example, field))
      for (const field of fields) {
        // The objects around the field, without it.
        const around = field.length === 1 ? example : withNull(example, field)
        let without: JsonObject = around
        for (const name of field.slice(0, -1)) without = (without[name] ?? {}) as JsonObject
        if (field.length > 1) delete without[field.at(-1) ?? ""]
        const expected = await said(addressOf(route), around)
        assert.deepEqual(await said(addressOf(route), withNull(example, field)), expected, field.join("."))
      }
    })
  }

  it("of the two fields of a source, one may be null", async () => {
    const source = 'output { a: "b" }'
    for (const path of ["/execute", "/validate", "/format"]) {
      const plain = { workflow_source_base64: null, workflow_source: source }
      assert.equal((await service.post(path, plain)).status, 200, path)
      const encoded = { workflow_source_base64: Buffer.from(source).toString("base64"), workflow_source: null }
      assert.equal((await service.post(path, encoded)).status, 200, path)
      const [status, , places] = await said(path, { workflow_source_base64: null, workflow_source: null })
      assert.deepEqual([status, places], [400, ["workflow_source_base64"]], path)
    }
  })

  it("a wrong option is one issue, although its object may be null", async () => {
    for (const path of ["/execute", "/validate", "/format"]) {
      const wrong = async (options: JsonValue): Promise<unknown> =>
        (await said(path, { workflow_source: 'output { a: "b" }', options }))[2]
      assert.deepEqual(await wrong({ foo: 1 }), ["options.foo"], path)
      assert.deepEqual(await wrong({ timeout_ms: "x" }), ["options.timeout_ms"], path)
      assert.deepEqual(await wrong(5), ["options"], path)
    }
  })

  it("validate and format take the body of execute, and no unknown field", async () => {
    const body = {
      workflow_source: "input { n: string } secrets { key: string } output { a: input.n }",
      input: { n: "b" },
      secrets: { key: "secret-value" },
      options: {
        cache_key: "k",
        use_cache: true,
        max_concurrency: 2,
        timeout_ms: 1000,
        deltas: true,
        limits: { cost: 1 },
      },
    }
    for (const path of ["/execute", "/validate", "/format"]) {
      assert.equal((await service.post(path, body)).status, 200, path)
      assert.deepEqual((await said(path, { ...body, inputs: {} })).slice(0, 2), [400, "invalid_request"], path)
      assert.deepEqual(
        (await said(path, { ...body, options: { cach_key: "x" } })).slice(0, 2),
        [400, "invalid_request"],
        path,
      )
    }
  })

  it("null where a field is required stays an error", async () => {
    assert.deepEqual(await said("/cache/invalidate", { cache_key: null }), [400, "invalid_request", ["cache_key"]])
  })
})
