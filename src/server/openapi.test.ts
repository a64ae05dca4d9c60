import assert from "node:assert/strict"
import { test } from "node:test"
import { stepsInTurns } from "../event-loop/in-turns.ts"
import type { NamedWorkflow } from "../workflows/workflow-folder.ts"
import { openApi, openApiText } from "./openapi.ts"

const schema = { type: "object", properties: {}, required: [], additionalProperties: false }

function workflow(name: string): NamedWorkflow {
  const schemas = { input: { ...schema, $defs: { part: { type: "object" } } }, output: schema, secrets: schema }
  const described = { valid: true, empty: false, issues: [], schemas, plan: null, exposed: [], open: [], routes: [] }
  const serving = { source: "", version: "1", description: null, described } as unknown as NamedWorkflow["serving"]
  return { name, serving, broken: null, version: "1", issues: [], refused: false }
}

async function textOf(workflows: readonly NamedWorkflow[], keys: boolean): Promise<string> {
  let text = ""
  await stepsInTurns(openApiText("1", keys, workflows), (piece) => (text += piece))
  return text
}

test("the text is the document, with the paths and schemas of all workflows", async () => {
  for (const keys of [false, true]) assert.deepEqual(JSON.parse(await textOf([], keys)), openApi("1", keys))
  const document = JSON.parse(await textOf([workflow("a"), workflow("b/c")], true)) as {
    paths: Record<string, { post?: { tags: string[] } }>
    components: { schemas: Record<string, unknown>; securitySchemes: unknown }
  }
  assert.deepEqual(document.paths["/workflows/b/c/execute"]?.post?.tags, ["Workflows"])
  assert.ok(document.paths["/execute"] !== undefined)
  assert.ok(document.components.securitySchemes !== undefined)
  // As in the rest of the document, an object of any fields says so.
  assert.deepEqual(document.components.schemas["a.input.part"], { type: "object", additionalProperties: true })
  assert.deepEqual(document.components.schemas["b.c.output"], schema)
})

test("the options of a run are one schema, however many routes and workflows take them", async () => {
  const text = await textOf([workflow("a"), workflow("b/c")], true)
  assert.equal(text.split('"cache_key":{"type":["string","null"]').length, 2)
  assert.ok(text.split('{"$ref":"#/components/schemas/RunOptions"}').length > 6)
})

test("each workflow is a step of its own, so that thousands of them do not keep the event loop", () => {
  const pieces = [
    ...openApiText(
      "1",
      true,
      Array.from({ length: 50 }, (_, at) => workflow(`w${at}`)),
    ),
  ]
  for (const piece of pieces) assert.ok(piece.split("/execute").length <= 2 || piece.startsWith("{"), piece)
  assert.ok(pieces.length > 100, String(pieces.length))
})
