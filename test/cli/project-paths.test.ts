import assert from "node:assert/strict"
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, test } from "node:test"
import { folderOnDisk } from "../../src/lsp/folder-on-disk.ts"
import { folderWith, runWire } from "./run-wire.ts"

// Files of a project that somebody else wrote: nothing that they name, and no link in it, makes a command read or write outside of the root.

const flow = "input { text: string }\noutput { text: input.text }\n"
const row = '{ "text": "stolen" }\n'
const unformatted = "output   {  a: 1 }\n"

function project(): { readonly root: string; readonly outside: string } {
  const base = folderWith({
    "outside/flow.wire": flow,
    "outside/rows.jsonl": row,
    "outside/rows.json": `[${row}]`,
    "outside/loose.wire": unformatted,
    "outside/flow.test.wire": 'test "t" { input { text: "stolen" } expect output.text == "other" }\n',
    "root/wireworks.json": "{}",
    "root/flow.wire": flow,
    "root/own.jsonl": '{ "text": "own" }\n',
    "root/deep/kept.wire": "output {\n    a: 1\n}\n",
  })
  const [root, outside] = [join(base, "root"), join(base, "outside")]
  symlinkSync("../outside/rows.jsonl", join(root, "linked.jsonl"))
  symlinkSync("../outside", join(root, "away"))
  symlinkSync("../outside/loose.wire", join(root, "linked.wire"))
  symlinkSync("deep/kept.wire", join(root, "within.wire"))
  return { root, outside }
}

const over = (rows: string): string =>
  `test "t" for row in "${rows}" { input { text: row.text } expect output.text == "other" }\n`

/** Each is a test file of its own; each but the last leaves the root. */
const ways: Readonly<Record<string, string>> = {
  "table-above": over("../outside/rows.jsonl"),
  "table-json": over("../outside/rows.json"),
  "table-round": over("./deep/../../outside/rows.jsonl"),
  "table-linked": over("./linked.jsonl"),
  "table-in-linked-folder": over("./away/rows.jsonl"),
  "tested-above": `tests "../outside/flow.wire"\ntest "t" { input { text: "stolen" } expect output.text == "other" }\n`,
  "tested-in-linked-folder": `tests "./away/flow.wire"\ntest "t" { input { text: "stolen" } expect output.text == "other" }\n`,
  "table-own": over("./own.jsonl"),
}

describe("paths of a project", () => {
  test("tests read tables and workflows of the project alone, also with --live", async () => {
    for (const flags of [[], ["--live"]]) {
      const { root } = project()
      for (const [name, text] of Object.entries(ways)) {
        writeFileSync(join(root, `${name}.test.wire`), name.startsWith("table") ? `tests "./flow.wire"\n${text}` : text)
      }
      symlinkSync("../outside/flow.test.wire", join(root, "found.test.wire"))
      const { code, out, err } = await runWire(["test", ".", "--reporter", "json", ...flags], { cwd: root })
      assert.equal(code, 2, err)
      assert.doesNotMatch(out + err, /stolen/)
      const shown = (await runWire(["test", ".", ...flags], { cwd: root })).out
      assert.match(shown, /own/)
      for (const name of ["linked.jsonl", "found.test.wire", "rows.jsonl", "rows.json"]) {
        assert.ok(shown.includes(name), name)
      }
      for (const path of ["../outside/flow.wire", "./away/flow.wire"]) {
        assert.ok(shown.includes(`The path "${path}" leaves the root folder`), path)
      }
      assert.match(shown, /Paths stay within .*root: give the command a folder above it/)
      assert.match(shown, /is outside of .*root: give the command a folder above it, or mark one with `wireworks.json`/)
    }
  })

  test("fmt and check leave alone what a link outside of the root leads to; links within it are followed", async () => {
    const { root, outside } = project()
    const formatted = await runWire(["fmt", "."], { cwd: root })
    assert.equal(formatted.code, 1)
    assert.match(formatted.err, /linked\.wire.* is outside of/)
    assert.equal(readFileSync(join(outside, "loose.wire"), "utf8"), unformatted)
    assert.ok(lstatSync(join(root, "linked.wire")).isSymbolicLink())
    assert.match(formatted.err, /formatted already/)
    const checked = await runWire(["check", "."], { cwd: root })
    assert.match(checked.out, /linked\.wire.* is outside of/)
    // A hook or a glob of the shell names every file of a project: to name a link is not to mean the file elsewhere.
    for (const named of ["linked.wire", "away/loose.wire", "away", join(root, "linked.wire")]) {
      const { code, err } = await runWire(["fmt", named], { cwd: root })
      assert.equal(code, 1)
      assert.match(err, /is a link to a file outside of .*root: name that file itself/)
    }
    assert.equal(readFileSync(join(outside, "loose.wire"), "utf8"), unformatted)
    assert.equal((await runWire(["fmt", join(outside, "loose.wire")], { cwd: root })).code, 0)
    assert.notEqual(readFileSync(join(outside, "loose.wire"), "utf8"), unformatted)
  })

  test("the language server reads for a test what is in its project", () => {
    const { root, outside } = project()
    const folder = folderOnDisk(pathToFileURL(join(root, "flow.test.wire")).href, () => undefined, [])
    const holds = (path: string): boolean | undefined => folder?.holds(pathToFileURL(path).href)
    assert.ok(existsSync(join(root, "away", "flow.wire")))
    assert.deepEqual([join(root, "flow.wire"), join(root, "within.wire")].map(holds), [true, true])
    for (const path of [
      join(outside, "flow.wire"),
      join(root, "away", "flow.wire"),
      join(root, "linked.wire"),
      "/etc/passwd",
    ]) {
      assert.equal(holds(path), false, path)
    }
  })
})
