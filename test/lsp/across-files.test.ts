import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Location, WorkspaceEdit } from "vscode-languageserver-protocol"
import { runWire } from "../cli/run-wire.ts"
import { startTalk, type Said } from "./start-lsp.ts"
import { edited as withEdits, offsetOf, positionOf } from "./text-edits.ts"

const library = `secrets { api_key: string }
schema finding { text: string }
provider p from openai { endpoint: "demo" api_key: secrets.api_key }
model fast from p { id: "demo" }
tool search from mcp.s.tool.search_books { input { query: string } output { found: [schema.finding] } }
mcp s { endpoint: "demo" }
`
const called = `import { model.fast } from "./lib/common.wire" { secrets { api_key: secrets.key } }
input { text: string }
secrets { key: string }
agent a { model: model.fast instruction: "{{ input.text }}" output { score: integer } }
output { score: agent.a.score }
`
const main = `import { model.fast as quick, schema.finding, tool.search } from "./lib/common.wire" { secrets { api_key: secrets.k } }
workflow rate from "./rate.wire" { secrets { key: secrets.k } }
input { finding: schema.finding }
secrets { k: string }
dynamic {
    books: call tool.search { input { query: input.finding.text } }
    rated: repeat workflow.rate { input { text: input.finding.text } until: result.score > 3 next { text: "more" } at_most: 2 }
}
agent b { model: model.quick instruction: "{{ dynamic.books.found[0]?.text ?? input.finding.text }} {{ dynamic.rated.result.score }}" output { x: string } }
output { x: agent.b.x }
`
const alone = `input { text: string }\noutput { text: input.text }\n`

type Answer = Pick<Said, "result" | "error">

/** One server for all of them: each project has its own root. */
const talk = startTalk()
await talk.answer("initialize", { capabilities: {} })

function project(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), "wireworks-lsp-across-"))
  after(() => rmSync(root, { recursive: true, force: true }))
  for (const [file, text] of Object.entries({ "wireworks.json": "{}", ...files })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const uriOf = (file: string): string => pathToFileURL(join(root, file)).href
  const open = async (file: string, text = readFileSync(join(root, file), "utf8")): Promise<void> => {
    talk.open(uriOf(file), text)
  }
  /** Asks about the place in a file that the mark `‸` stands at, else the beginning. */
  const at = async (method: string, file: string, text: string, mark: string, more: object = {}) => {
    const offset = text.indexOf(mark.replace("‸", ""))
    assert.notEqual(offset, -1, mark)
    const position = positionOf(text, offset + Math.max(0, mark.indexOf("‸")))
    return await talk.answer(`textDocument/${method}`, { textDocument: { uri: uriOf(file) }, position, ...more })
  }
  const names = (locations: unknown): string[] => {
    return (locations as Location[]).map(({ uri, range }) => {
      const path = fileURLToPath(uri)
      const text = readFileSync(path, "utf8")
      const named = text.slice(offsetOf(text, range.start), offsetOf(text, range.end))
      return `${relative(root, path)}:${range.start.line + 1} ${named}`
    })
  }
  /** What the files hold after the edits. */
  const edited = (answer: Answer): Readonly<Record<string, string>> => {
    assert.equal(answer.error, undefined)
    const { changes = {} } = answer.result as WorkspaceEdit
    return Object.fromEntries(
      Object.entries(changes).map(([uri, edits]) => {
        const path = fileURLToPath(uri)
        return [relative(root, path), withEdits(readFileSync(path, "utf8"), edits)]
      }),
    )
  }
  /** What `wire check` prints where a file has errors once the edits are on disk. */
  const errorsWith = async (texts: Readonly<Record<string, string>>): Promise<string> => {
    for (const [file, text] of Object.entries(texts)) writeFileSync(join(root, file), text)
    const { code, out, err } = await runWire(["check", "."], { cwd: root })
    return code === 0 ? "" : out + err
  }
  return { open, at, names, edited, errorsWith }
}

const all = { "lib/common.wire": library, "rate.wire": called, "main.wire": main, "alone.wire": alone }

test("references reach every file that names a thing, whichever file is asked", async () => {
  const { open, at, names } = project(all)
  await open("lib/common.wire")
  const inLibrary = names((await at("references", "lib/common.wire", library, "fast")).result)
  assert.deepEqual(inLibrary.toSorted(), [
    "lib/common.wire:4 fast",
    "main.wire:1 fast",
    "main.wire:1 quick",
    "main.wire:9 quick",
    "rate.wire:1 fast",
    "rate.wire:4 fast",
  ])
  await open("main.wire")
  const inMain = names((await at("references", "main.wire", main, "model.‸quick")).result)
  assert.deepEqual(inMain.toSorted(), inLibrary.toSorted())
  const fields = names((await at("references", "main.wire", main, "input.finding.‸text")).result)
  assert.deepEqual(fields.toSorted(), [
    "lib/common.wire:2 text",
    "main.wire:6 text",
    "main.wire:7 text",
    "main.wire:9 text",
    "main.wire:9 text",
  ])
})

test("definitions lead to the fields of a called file, to secrets of an imported one and to what an import renames", async () => {
  const { open, at, names } = project(all)
  await open("main.wire")
  const defined = async (mark: string): Promise<string[]> =>
    names((await at("definition", "main.wire", main, mark)).result)
  assert.deepEqual(await defined("text: input"), ["rate.wire:2 text"])
  assert.deepEqual(await defined("result.‸score >"), ["rate.wire:5 score"])
  assert.deepEqual(await defined("api_key"), ["lib/common.wire:1 api_key"])
  assert.deepEqual(await defined("{ ‸key: secrets"), ["rate.wire:3 key"])
  assert.deepEqual(await defined("model.‸fast as"), ["lib/common.wire:4 fast"])
})

test("a rename edits every file, and all of them mean the same afterwards", async () => {
  const renames = [
    ["lib/common.wire", library, "fast", "swift"],
    ["main.wire", main, "model.‸fast as", "swift"],
    ["main.wire", main, "tool.‸search", "look_up"],
    ["main.wire", main, "input.finding.‸text", "words"],
    ["main.wire", main, "result.‸score >", "points"],
    ["rate.wire", called, "input.‸text", "words"],
    ["rate.wire", called, "key: string", "provider_key"],
    ["main.wire", main, "api_key", "llm_key"],
    ["main.wire", main, "schema.‸finding", "issue"],
  ] as const
  for (const [file, text, mark, newName] of renames) {
    const { open, at, edited, errorsWith } = project(all)
    await open(file)
    const prepared = await at("prepareRename", file, text, mark)
    assert.equal(prepared.error, undefined, `${file} ${mark}`)
    const texts = edited(await at("rename", file, text, mark, { newName }))
    assert.ok(Object.keys(texts).length > 1, `${file} ${mark}: ${Object.keys(texts).join()}`)
    for (const one of Object.values(texts)) assert.ok(one.includes(newName))
    assert.equal(await errorsWith(texts), "", `${file} ${mark}`)
  }
})

test("a name that a file gave to what it imports is renamed in this file alone", async () => {
  const { open, at, edited } = project(all)
  await open("main.wire")
  const texts = edited(await at("rename", "main.wire", main, "model.‸quick", { newName: "hasty" }))
  assert.deepEqual(Object.keys(texts), ["main.wire"])
  assert.match(texts["main.wire"] ?? "", /model\.fast as hasty/)
  const there = edited(await at("rename", "main.wire", main, "model.‸fast as", { newName: "swift" }))
  assert.match(there["main.wire"] ?? "", /model\.swift as quick/)
  assert.match(there["main.wire"] ?? "", /model: model\.quick/)
  assert.match(there["rate.wire"] ?? "", /model: model\.swift/)
})

test("a rename that another file would not survive is refused, and says which", async () => {
  const { open, at } = project({
    ...all,
    "taken.wire": called.replace(
      "agent a",
      'model swift from p { id: "x" }\nprovider p from openai { endpoint: "demo" }\nagent a',
    ),
  })
  await open("lib/common.wire")
  const taken = await at("rename", "lib/common.wire", library, "fast", { newName: "swift" })
  assert.match(taken.error?.message ?? "", /taken\.wire.*swift/)
  const remote = await at("rename", "lib/common.wire", library, "query", { newName: "words" })
  assert.match(remote.error?.message ?? "", /only its server/)
})

test("without a library that can be read, nothing is renamed in part", async () => {
  const { open, at } = project({ ...all, "lib/common.wire": `${library}model broken from nobody { id: "x" }\n` })
  await open("lib/common.wire")
  const answer = await at("rename", "lib/common.wire", library, "fast", { newName: "swift" })
  assert.match(answer.error?.message ?? "", /Fix the errors of lib\/common\.wire first/)
})

const kinds = `schema event { variant kind { made { at: string } gone { why: string } } }
schema entry { event: schema.event }
`
const passes = `import { schema.event } from "./kinds.wire"
input { event: schema.event }
output { event: input.event }
`
const chooses = `import { schema.entry } from "./kinds.wire"
workflow pass from "./pass.wire"
input { entry: schema.entry }
dynamic {
    passed: call workflow.pass { input { event: input.entry.event } }
    here: match input.entry.event {
        made.at
        gone: "gone"
    }
    there: match dynamic.passed.event {
        made.at
        gone.why
    }
    one: dynamic.passed.event#gone.why ?? "none"
}
output { here: dynamic.here  there: dynamic.there  one: dynamic.one }
`
const variants = { "kinds.wire": kinds, "pass.wire": passes, "choose.wire": chooses }

test("cases of a variant of another file are completed, found and renamed, through called files too", async () => {
  const { open, at } = project(variants)
  const incomplete = chooses.replace("        gone.why\n", "        \n")
  await open("choose.wire", incomplete)
  const offered = await at("completion", "choose.wire", incomplete, "made.at\n        ‸\n")
  const { items } = offered.result as { items: { label: string }[] }
  assert.deepEqual(
    items.map(({ label }) => label),
    ["gone", "_"],
  )

  const sound = project(variants)
  await sound.open("kinds.wire")
  const found = sound.names((await sound.at("references", "kinds.wire", kinds, "gone")).result)
  const everywhere = ["choose.wire:12 gone", "choose.wire:14 gone", "choose.wire:8 gone", "kinds.wire:1 gone"]
  assert.deepEqual(found.toSorted(), everywhere)
  await sound.open("choose.wire")
  const place = sound.names((await sound.at("definition", "choose.wire", chooses, "event#‸gone")).result)
  assert.deepEqual(place, ["kinds.wire:1 gone"])

  for (const [file, text, mark, newName] of [
    ["kinds.wire", kinds, "gone", "lost"],
    ["choose.wire", chooses, "‸gone.why", "lost"],
    ["choose.wire", chooses, "event#‸gone", "lost"],
    ["kinds.wire", kinds, "why: string", "reason"],
    ["kinds.wire", kinds, "‸kind {", "sort"],
  ] as const) {
    const fresh = project(variants)
    await fresh.open(file)
    const texts = fresh.edited(await fresh.at("rename", file, text, mark, { newName }))
    assert.equal(await fresh.errorsWith(texts), "", `${file} ${mark}`)
    assert.ok(texts["kinds.wire"]?.includes(newName), `${file} ${mark}`)
  }
})

test("hover on what comes from another file shows the text that stands there", async () => {
  const { open, at } = project(all)
  await open("main.wire")
  const hovered = async (mark: string): Promise<string> =>
    JSON.stringify((await at("hover", "main.wire", main, mark)).result)
  assert.match(await hovered("model.qu‸ick"), / id: \\"demo\\" \}/)
  assert.match(await hovered("call tool.se‸arch"), /tool search from mcp\.s\.tool\.search_books/)
})
