import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import { folderWith, runWire } from "./run-wire.ts"

const notice = `input { contract: file  more: maybe [file] }
output {
  about: "{{ input.contract.name }} is {{ input.contract.media_type }}"
  report: make_file("notice.md", "# {{ text_of(input.contract) }}")
  both: [make_file("notice.md", "two"), make_file("notice.md", "# {{ text_of(input.contract) }}")]
  count: length(input.more ?? [])
}
`
const hostile = `output {
  files: [make_file("../../.bashrc", "a"), make_file("a:b|c?.txt", "b"), make_file("con", "c"), make_file("...", "d"), make_file("COM1.tar.gz", "e")]
  long: make_file("${"ä".repeat(250)}.md", "e")
}
`

const folder = (): string =>
  folderWith({ "notice.wire": notice, "hostile.wire": hostile, "a.txt": "Notice: 3 months", "a.png": "not a picture" })

interface Shown {
  readonly name: string
  readonly bytes: number
  readonly path?: string
}

describe("wire run with files", () => {
  test("--set reads a file, --out writes those of the result; nothing is overwritten, and one file is written once", async () => {
    const cwd = folder()
    const args = ["run", "notice.wire", "--set", "contract=@a.txt", "--set", "more[0]=@a.txt", "--out", "out/reports"]
    const { code, out, err } = await runWire(args, { cwd })
    assert.equal(code, 0, err)
    const result = JSON.parse(out) as { about: string; report: Shown; both: Shown[]; count: number }
    assert.equal(result.about, "a.txt is text/plain")
    assert.equal(result.count, 1)
    const [first, second] = [join("out/reports", "notice.md"), join("out/reports", "notice-2.md")]
    assert.deepEqual([result.report.name, result.report.bytes, result.report.path], ["notice.md", 18, first])
    assert.deepEqual(
      result.both.map(({ path }) => path),
      [second, first],
    )
    assert.equal(readFileSync(join(cwd, first), "utf8"), "# Notice: 3 months")
    assert.equal(readFileSync(join(cwd, second), "utf8"), "two")
    assert.ok(err.includes(`notice.md (text/markdown, 18 bytes) is written to ${first}.`), err)

    const again = await runWire([...args, "--quiet"], { cwd })
    assert.equal(again.err, "")
    assert.deepEqual(readdirSync(join(cwd, "out/reports")).sort(), [
      "notice-2.md",
      "notice-3.md",
      "notice-4.md",
      "notice.md",
    ])
  })

  test("without --out the result names its files, and nothing is written", async () => {
    const cwd = folder()
    const { code, out, err } = await runWire(["run", "notice.wire", "--set", "contract=@a.txt"], { cwd })
    assert.equal(code, 0, err)
    assert.equal((JSON.parse(out) as { report: Shown }).report.path, undefined)
    assert.match(err, /^notice\.md \(text\/markdown, 18 bytes\) is not written: name a folder with --out\.$/m)
    assert.equal(existsSync(join(cwd, "notice.md")), false)
  })

  test("names that a workflow chose stay in the folder, are not hidden, and are no devices", async () => {
    const cwd = folder()
    const { code, err } = await runWire(["run", "hostile.wire", "--out", "x/y"], { cwd })
    assert.equal(code, 0, err)
    const long = `${"ä".repeat(100)}.md`
    assert.deepEqual(
      readdirSync(join(cwd, "x/y")).sort(),
      ["a_b_c_.txt", "bashrc", "file", "fileCOM1.tar.gz", "filecon", long].sort(),
    )
    assert.deepEqual(readdirSync(join(cwd, "x")), ["y"])
  })

  test("a wrong file and a wrong folder are said before anything runs", async () => {
    const cwd = folder()
    const cases: [string[], RegExp][] = [
      [["--set", "contract=@none.pdf"], /^--set contract: none\.pdf cannot be read \(no such file\)\.\n$/],
      [["--set", "contract=@a.png"], /input_error: .*input\.contract.*The contents of the file are not image\/png/],
      [["--set", "contract=a.txt"], /^--set contract: write @PATH for a file/],
      [["--set", 'contract={"file_id":"file_1"}'], /input_error: .*you have no file "file_1"/],
      [["--set", "contract=@a.txt", "--out", "a.txt"], /^--out a\.txt is not a folder\.\n$/],
    ]
    for (const [args, message] of cases) {
      const { code, out, err } = await runWire(["run", "notice.wire", ...args], { cwd })
      assert.deepEqual([code, out], [2, ""], err)
      assert.match(err, message)
    }
    const { code, err } = await runWire(["run", "notice.wire", "--set", "contract=@a.txt"], {
      cwd,
      env: { WIRE_MAX_FILE: "10" },
    })
    assert.equal(code, 2)
    assert.match(err, /^--set contract: a\.txt is larger than 10 bytes \(WIRE_MAX_FILE\)\.\n$/)
  })
})
