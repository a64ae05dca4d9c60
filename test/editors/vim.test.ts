import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { functionNames } from "../../src/check/function-table.ts"
import { typeTexts } from "../../src/editor/explanations.ts"
import { declarationWords } from "../../src/syntax/declaration-start.ts"
import { propertyTable } from "../../src/syntax/property-table.ts"

const folder = join(import.meta.dirname, "../../editors/vim")
const syntax = readFileSync(join(folder, "syntax/wire.vim"), "utf8")

test("Vim's syntax file knows every declaration, property, function and type", () => {
  const properties = Object.values(propertyTable).flatMap((rows) => Object.keys(rows))
  const words = [...declarationWords, ...properties, ...functionNames, ...Object.keys(typeTexts)]
  const missing = words.filter((word) => !new RegExp(`(?<![a-z_])${word}(?![a-z_])`).test(syntax))
  assert.deepEqual([...new Set(missing)], [])
})

const vim = ["/usr/bin/vim", "/usr/bin/nvim"].find((path) => existsSync(path))

test("Vim colours a workflow with it", { skip: vim === undefined && "Vim is not installed" }, (t) => {
  const home = mkdtempSync(join(tmpdir(), "wireworks-vim-"))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const out = join(home, "out.txt")
  const flow = join(home, "flow.wire")
  const source = [
    "// A comment",
    "agent a {",
    '    instruction: "Hi {{ length(input.list) }}"',
    "    output { n: integer }",
    "}",
  ]
  const groupAt = (line: number, column: number): string =>
    `call writefile([synIDattr(synID(${line}, ${column}, 1), "name")], "${out}", "a")`
  const commands = [
    `set runtimepath^=${folder}`,
    "filetype plugin on",
    "syntax on",
    `edit ${flow}`,
    `call setline(1, ${JSON.stringify(source)})`,
    groupAt(1, 4),
    groupAt(2, 1),
    groupAt(3, 5),
    groupAt(3, 20),
    groupAt(3, 25),
    groupAt(4, 18),
    `call writefile([&filetype, string(&shiftwidth)], "${out}", "a")`,
    "qa!",
  ]
  const script = join(home, "look.vim")
  writeFileSync(script, commands.join("\n"))
  const flags =
    vim === "/usr/bin/vim" ? ["-N", "-u", "NONE", "-i", "NONE", "-es"] : ["-u", "NONE", "-i", "NONE", "--headless"]
  const { status, stderr } = spawnSync(vim ?? "", [...flags, "-S", script], {
    env: { HOME: home, PATH: "/usr/bin:/bin", TERM: "xterm" },
    timeout: 60_000,
  })
  assert.ok(existsSync(out), `${status}: ${String(stderr)}`)
  assert.deepEqual(readFileSync(out, "utf8").trimEnd().split("\n"), [
    "wireComment",
    "wireDeclaration",
    "wireProperty",
    "wireString",
    "wireFunction",
    "wireType",
    "wire",
    "4",
  ])
})
