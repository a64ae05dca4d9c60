import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { hello, startService } from "./start-service.ts"

const recursive = `
// An outline.
schema part { title: string children: [schema.part] }
input { root: schema.part  mode: enum { short, long }  note: maybe string }
output { root: input.root  mode: input.mode }
`

const folder = mkdtempSync(join(tmpdir(), "wireworks-openapi-"))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, "tickets"))
writeFileSync(join(folder, "hello.wire"), `// Greets.\n${hello}`)
writeFileSync(join(folder, "tickets", "triage.wire"), recursive)
writeFileSync(join(folder, "broken.wire"), "agent {")

const redocly = join(import.meta.dirname, "../../../node_modules/@redocly/cli/bin/cli.js")

function references(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "$ref" && typeof inner === "string" ? [inner] : references(inner),
  )
}

for (const keys of [false, true]) {
  describe(`/openapi.json ${keys ? "with" : "without"} keys`, async () => {
    const service = await startService({ WORKFLOWS: folder, ...(keys ? { API_KEYS: "ann:a-key" } : {}) })
    const text = await (await service.get("/openapi.json", { authorization: "Bearer a-key" })).text()
    const document = JSON.parse(text) as JsonObject & {
      paths: Record<string, { post: { requestBody: JsonObject; responses: Record<string, JsonObject> } }>
      components: { schemas: Record<string, JsonObject> }
    }

    it("has a path for each workflow that serves, with its types", () => {
      const paths = Object.keys(document.paths).filter((path) => /^\/workflows\/[^{]/.test(path))
      assert.deepEqual(paths, ["/workflows/hello/execute", "/workflows/tickets/triage/execute"])
      const { schemas } = document.components
      assert.deepEqual(schemas["hello.input"]?.["required"], ["name"])
      assert.deepEqual(Object.keys(schemas["hello.output"]?.["properties"] ?? {}), ["message"])
      const operation = document.paths["/workflows/hello/execute"]?.post
      assert.match(JSON.stringify(operation?.requestBody), /#\/components\/schemas\/hello\.input/)
      assert.match(JSON.stringify(operation?.responses["200"]), /#\/components\/schemas\/hello\.output/)
    })

    it("has no reference that leads nowhere, also of a type that contains itself", () => {
      const found = references(document)
      assert.ok(found.some((reference) => reference.includes("tickets.triage.input.")))
      for (const reference of found) {
        const name = reference.replace("#/components/schemas/", "")
        assert.ok(document.components.schemas[name] !== undefined, reference)
      }
    })

    it("says of every object of any fields that it is one, and tags every operation", () => {
      const bare = (value: JsonValue, path: string): string[] => {
        if (Array.isArray(value)) return value.flatMap((item, index) => bare(item, `${path}/${index}`))
        if (typeof value !== "object" || value === null) return []
        const { type } = value
        const isObject = type === "object" || (Array.isArray(type) && type.includes("object"))
        const own = isObject && !("properties" in value) && !("additionalProperties" in value) ? [path] : []
        return [...own, ...Object.entries(value).flatMap(([key, inner]) => bare(inner, `${path}/${key}`))]
      }
      assert.deepEqual(bare(document, ""), [])
      const { schemas } = document.components
      const names = (document["tags"] as { name: string }[]).map(({ name }) => name)
      assert.match(JSON.stringify(schemas["Event"]?.["discriminator"]), /"propertyName":"event"/)
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const operation of Object.values(operations).filter((one) => "responses" in one)) {
          const { tags, description } = operation as unknown as { tags: string[]; description: string }
          assert.equal(tags.filter((tag) => names.includes(tag)).length, 1, path)
          assert.ok(description.length > 0, path)
        }
      }
    })

    it("has no error and no warning for @redocly/cli", () => {
      const file = join(folder, `openapi-${keys}.json`)
      writeFileSync(file, text)
      const { stdout, stderr } = spawnSync(process.execPath, [redocly, "lint", file, "--format=json"], {
        encoding: "utf8",
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", CI: "true" },
        timeout: 300_000,
      })
      const start = stdout.indexOf("{")
      assert.ok(start >= 0, stderr)
      const { problems } = JSON.parse(stdout.slice(start)) as {
        problems: { severity: string; message: string; ruleId: string; location: { pointer?: string }[] }[]
      }
      assert.deepEqual(
        problems
          .map(({ severity, ruleId, message, location }) => `${severity} ${ruleId} ${location[0]?.pointer}: ${message}`)
          // The id of a run is never `actions`.
          .filter((problem) => !problem.includes("`/runs/{run_id}/events` and `/runs/actions/{id}`")),
        [],
      )
    })
  })
}
