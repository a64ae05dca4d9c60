import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { compile } from "../../src/compile.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan } from "../support/run-plan.ts"
import { answers, callsTools, lastText, partsOf, ScriptedModel, textOf } from "../support/scripted-model.ts"

// The forms of files from elsewhere, from their text to what they do.

const head = `
provider p from openai { endpoint: "https://x.test/v1" }
model m from p { id: "m-1"  assets: ["image", "document", "video"] }
`

const model = (): ScriptedModel => new ScriptedModel((request) => answers({ text: lastText(request) }, request))

async function run(source: string, input: JsonObject, asked = model(), tools?: InProcessTools): Promise<Outcome> {
  const { plan, diagnostics } = compile(`${head}${source}`)
  if (plan === undefined) throw new Error(diagnostics.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return runPlan(plan, { model: asked, input, ...(tools === undefined ? {} : { tools }) })
}

const url = (mediaType: string, content: string): string =>
  `data:${mediaType};base64,${Buffer.from(content).toString("base64")}`

test("files: the short form, any value as JSON, names and media types by default", async () => {
  const asked = model()
  const source = `
input { report: string  rows: [{ id: integer }]  note: maybe string }
agent a {
    model: model.m
    instruction: "Read."
    file input.report
    file input.rows
    file input.rows.*.id { media_type: "text/plain" }
    file input.rows[0] { name: "first" }
    file [1, "two"] { name: "pair.txt" }
    file input.note
    file { content: input.rows }
    file "Plain."
    file "Report: {{ input.report }}" { purpose: "file-extract" }
    file { content: "Block."  purpose: "assistants" }
    output { text: string }
}
output { text: agent.a.text }`
  await run(source, { report: "# R", rows: [{ id: 1 }, { id: 2 }], note: null }, asked)
  const [, ...files] = partsOf(asked.requests[0]?.input[0])
  const rows = '[{"id":1},{"id":2}]'
  assert.deepEqual(files, [
    { type: "document", name: "report.txt", url: url("text/plain", "# R") },
    { type: "document", name: "rows.json", url: url("application/json", rows) },
    { type: "document", name: "id.json", url: url("text/plain", "[1,2]") },
    { type: "document", name: "first", url: url("application/json", '{"id":1}') },
    { type: "document", name: "pair.txt", url: url("text/plain", '[1,"two"]') },
    { type: "document", name: "note.json", url: url("application/json", "null") },
    { type: "document", name: "rows.json", url: url("application/json", rows) },
    { type: "document", name: "file.txt", url: url("text/plain", "Plain.") },
    { type: "document", name: "file.txt", url: url("text/plain", "Report: # R") },
    { type: "document", name: "file.txt", url: url("text/plain", "Block.") },
  ])
})

test("assets: the type by media type, data URL and extension; of an array one part each, in order", async () => {
  const asked = model()
  const source = `
input { urls: [string]  none: [string]  pdf: string }
dynamic { pages: asset input.urls { type: "image" } }
agent a {
    model: model.m
    instruction: "A {{ dynamic.pages }} B {{ asset input.none { type: image } }}{{ asset input.pdf { media_type: "application/pdf" } }}{{ asset "https://x.test/f.mp4" }}"
    output { text: string }
}
output { text: agent.a.text }`
  const input = { urls: ["https://x.test/1.png", "https://x.test/2.png"], none: [], pdf: "AAAA" }
  const outcome = await run(source, input, asked)
  assert.deepEqual(partsOf(asked.requests[0]?.input[0]), [
    { type: "text", text: "A " },
    { type: "image", url: "https://x.test/1.png" },
    { type: "image", url: "https://x.test/2.png" },
    { type: "text", text: " B " },
    { type: "document", name: null, url: "data:application/pdf;base64,AAAA" },
    { type: "video", name: null, url: "https://x.test/f.mp4" },
  ])
  const started = dataOf(outcome.events, "agent_started")[0]
  assert.equal(started?.instruction, "A [image][image] B [document][video]")
})

test("assets without a type are what their data URL, media type or extension says, else images", async () => {
  const asked = model()
  const source = `
input { files: [string]  pdf: string  type: string }
dynamic { files: asset input.files }
agent a {
    model: model.m
    instruction: "{{ dynamic.files }}{{ asset input.pdf { media_type: input.type, title: "P" } }}"
    output { text: string }
}
output { text: agent.a.text }`
  const files = [
    "data:application/pdf;base64,AAAA",
    "data:video/mp4;base64,AAAA",
    "https://x.test/page.PDF?size=1#top",
    "https://x.test/film.webm",
    "https://x.test/photo",
    "AAAA",
  ]
  await run(source, { files, pdf: "AAAA", type: "text/markdown" }, asked)
  assert.deepEqual(
    partsOf(asked.requests[0]?.input[0]).map(({ type }) => type),
    ["document", "video", "document", "video", "image", "image", "document"],
  )
})

test("a kind of asset that the model does not list fails the step when it is found out", async () => {
  const source = `
input { file: string }
model pictures from p { id: "m-2"  assets: ["image"] }
agent a { model: [model.m, model.pictures]  instruction: "See {{ asset input.file }}"  output { text: string } }
output { text: agent.a.text }`
  const asked = model()
  const picture = await run(source, { file: "https://x.test/a.png" }, asked)
  assert.deepEqual(resultOf(picture), { text: "See " })
  const failed = errorOf(await run(source, { file: "https://x.test/a.pdf" }, asked))
  assert.equal(failed.kind, "evaluation_error")
  assert.deepEqual(failed.issues, [
    {
      path: "agent.a.instruction",
      message:
        "Cannot evaluate asset input.file: it is of type document, which `assets` of model.pictures does not list",
    },
  ])
  assert.equal(asked.requests.length, 1)
})

test("a loop over objects whose fields differ in type, and the tag of a variant", async () => {
  const source = `
input { state: variant kind { open { since: string } done { by: string } } }
agent draft for { tone, length } in [{ tone: "dry", length: 10 }, { tone: "warm", length: 20 }] {
    model: model.m
    instruction: "{{ tone }} {{ length }}"
    output { text: string }
}
output {
    drafts: agent.draft.*.text
    tag: input.state.kind
    word: match input.state.kind { open: "to do" done: "ready" }
}`
  const outcome = await run(source, { state: { kind: "done", by: "Ada" } })
  assert.deepEqual(resultOf(outcome), { drafts: ["dry 10", "warm 20"], tag: "done", word: "ready" })
})

test("an argument of a declared type `maybe` that a call leaves out is not sent", async () => {
  const tools = new InProcessTools({
    tools: { find: { input: record({ query: string }), call: () => ({ text: "ok", is_error: false }) } },
  })
  const source = `
input { word: string }
mcp s { endpoint: "https://s.test/mcp" }
tool find from mcp.s.tool.find { input { query: string  limit: maybe integer } }
dynamic { found: call tool.find { input { query: input.word } } }
output { found: dynamic.found }`
  const outcome = await run(source, { word: "x" }, model(), tools)
  assert.deepEqual(resultOf(outcome), { found: "ok" })
  assert.deepEqual(
    tools.calls.map(({ values }) => values),
    [{ query: "x" }],
  )
  assert.deepEqual(dataOf(outcome.events, "tool_call_started")[0]?.arguments, { query: "x" })
})

test("a declared output of a tool projects: for the workflow, for the model, and in the events", async () => {
  const structured = {
    hits: [
      { id: 1, title: "A", score: 0.9 },
      { id: 2, note: null },
    ],
    total: 2,
    took_ms: 7,
  }
  const tools = new InProcessTools({
    tools: { find: { input: record({}), call: () => ({ structured, text: "", is_error: false }) } },
  })
  const asked = new ScriptedModel((request) =>
    request.input.at(-1)?.role === "tool"
      ? answers({ text: "ok" }, request)
      : callsTools([{ name: "find", arguments: {} }], request),
  )
  const source = `
mcp s { endpoint: "https://s.test/mcp" }
tool find from mcp.s.tool.find { output { hits: [{ id: integer, title: maybe string }]  next: maybe string } }
dynamic { found: call tool.find }
agent a { model: model.m  uses: [tool.find]  instruction: "x"  output { text: string } }
output { found: dynamic.found  text: agent.a.text }`
  const outcome = await run(source, {}, asked, tools)
  const found = {
    hits: [
      { id: 1, title: "A" },
      { id: 2, title: null },
    ],
    next: null,
  }
  assert.deepEqual(resultOf(outcome), { found, text: "ok" })
  assert.deepEqual(
    dataOf(outcome.events, "tool_call_completed").map(({ result }) => result),
    [found, found],
  )
  assert.deepEqual(JSON.parse(textOf(asked.requests[1]?.input.at(-1))), found)
})

test("what is missing from a tool's result, or of another type, fails the call and names its place", async () => {
  const structured = { hits: [{ id: 1, extra: true }, { id: "2" }] }
  const tools = new InProcessTools({
    tools: { find: { input: record({}), call: () => ({ structured, text: "", is_error: false }) } },
  })
  const source = `
mcp s { endpoint: "https://s.test/mcp" }
tool find from mcp.s.tool.find { output { hits: [{ id: integer }]  total: integer } }
output { found: call tool.find }`
  const { message, kind } = errorOf(await run(source, {}, model(), tools))
  assert.equal(kind, "tool_error")
  assert.match(message, /result\.hits\[1\]\.id: expected integer, found string "2"; result\.total is missing/)
})

test("`**` in a pluck leaves out the slots whose array is null", async () => {
  const source = `
input { rows: [maybe { elements: maybe [maybe { x: maybe string, tags: maybe [{ y: integer }] }] }] }
mcp s { endpoint: "https://s.test/mcp" }
tool find from mcp.s.tool.find
dynamic { found: call tool.find }
output {
    xs: input.rows.*.elements.**.x
    kept: input.rows.*.elements?.**.x
    tags: input.rows.*.elements.**.tags.**.y
    untyped: dynamic.found.rows.*.elements.**.x
}`
  const rows = [
    { elements: [{ x: "a", tags: null }, null, { x: null, tags: [{ y: 1 }] }] },
    { elements: null },
    null,
    { elements: [] },
    { elements: [{ x: "b", tags: [{ y: 2 }] }] },
  ]
  const tools = new InProcessTools({
    tools: { find: { input: record({}), call: () => ({ structured: { rows }, text: "", is_error: false }) } },
  })
  assert.deepEqual(resultOf(await run(source, { rows }, model(), tools)), {
    xs: [["a"], [], ["b"]],
    kept: [["a"], null, null, [], ["b"]],
    tags: [[[1]], [], [[2]]],
    untyped: [["a"], [], ["b"]],
  })
  const alone = source.replace("dynamic.found.rows.*.elements", "dynamic.found.rows[1]?.elements")
  const { kind, message } = errorOf(await run(alone, { rows }, model(), tools))
  assert.equal(kind, "evaluation_error")
  assert.match(message, /needs an array, found null/)
})
