import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, test } from "node:test"
import { codes } from "../../src/source/codes.ts"
import { permissionsApply } from "../support/permissions-apply.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { builtWire } from "../support/built-wire.ts"
import { atStrength, soakTest } from "../support/strength.ts"

const good = `input {
    name: string
}

output {
    name: input.name
}
`
const bad = `input {
    name: string
    age integer
}

output {
    name: input.name
}
`

describe("wire check", () => {
  test("a good file", async () => {
    const cwd = folderWith({ "good.wire": good })
    assert.deepEqual(await runWire(["check", "good.wire"], { cwd }), {
      code: 0,
      out: "Checked 1 file: no problems.\n",
      err: "",
    })
  })

  test("a bad file: place, underline, code, count, exit code", async () => {
    const cwd = folderWith({ "bad.wire": bad })
    const { code, out, err } = await runWire(["check", "bad.wire"], { cwd })
    assert.equal(code, 1)
    assert.equal(err, "")
    assert.deepEqual(out.split("\n"), [
      "bad.wire:3:9: error: Expected `:` after the field name `age`, found `integer` [syntax-error]",
      "  3 |     age integer",
      "    |         ^^^^^^^",
      "",
      "Checked 1 file: 1 error.",
      "",
    ])
  })

  const library = `schema finding {
    title: string
}
`
  const importing = (path: string): string => `import { schema.finding } from "${path}"

input {
    finding: schema.finding
}

output {
    title: input.finding.title
}
`

  test("the root is the folder that was given, and a path that leaves it is said to", async () => {
    const cwd = folderWith({ "lib/common.wire": library, "flows/a.wire": importing("../lib/common.wire") })
    for (const folder of [".", cwd, "./flows/.."]) {
      const { code, out } = await runWire(["check", folder], { cwd })
      assert.equal(out, "Checked 2 files: no problems.\n")
      assert.equal(code, 0)
    }
    for (const given of ["flows", "flows/a.wire", "flows/*.wire"]) {
      const { code, out } = await runWire(["check", given], { cwd })
      assert.equal(code, 1)
      assert.match(out, /error: The path "\.\.\/lib\/common\.wire" leaves the root folder \[unknown-file\]/)
      assert.ok(out.includes(`Paths stay within ${join(cwd, "flows")}:`), out)
    }
    // The folder that was given counts before the nearest one with a mark, which counts for a file.
    mkdirSync(join(cwd, ".git"))
    assert.equal((await runWire(["check", "flows"], { cwd })).code, 1)
    assert.equal((await runWire(["check", "flows/a.wire"], { cwd })).code, 0)
  })

  test("a link that leaves the root is said to", async () => {
    const outside = folderWith({ "common.wire": library })
    const cwd = folderWith({ "a.wire": importing("./common.wire") })
    symlinkSync(join(outside, "common.wire"), join(cwd, "common.wire"))
    const { code, out } = await runWire(["check", "a.wire"], { cwd })
    assert.equal(code, 1)
    assert.match(out, /error: The path "\.\/common\.wire" leaves the root folder/)
  })

  test("the tests of a folder, and those of a workflow that is outside of the root", async () => {
    const tested = (path: string): string => `tests ${path}

test "one" {
    input {
        finding: { title: "T" }
    }

    expect output.title == "T"
}
`
    const cwd = folderWith({
      "lib/common.wire": library,
      "flows/a.wire": importing("../lib/common.wire"),
      "flows/a.test.wire": tested('"./a.wire"'),
      "checks/a.test.wire": tested('"../flows/b.wire"'),
      "flows/b.wire": importing("./common.wire"),
      "flows/common.wire": library,
    })
    for (const args of [["check"], ["test"]]) {
      const { code, out, err } = await runWire([...args, "."], { cwd })
      assert.equal(code, 0, out + err)
    }
    // The folder that was given is the root.
    const { code, out } = await runWire(["test", "checks"], { cwd })
    assert.equal(code, 2, out)
    assert.match(out, /The path "\.\.\/flows\/b\.wire" leaves the root folder/)
  })

  test("places in a called file that belong to a finding", async () => {
    const refunds = `input { note: string }
mcp shop { endpoint: "https://shop.example.com" }
tool refund from mcp.shop.tool.refund { requires: trusted }
dynamic { loud: upper(input.note) }
output { v: call tool.refund { input { note: dynamic.loud } } }
`
    const main = `workflow refunds from "./lib/refunds.wire"
input { mail: untrusted string }
output { v: call workflow.refunds { input { note: input.mail } } }
`
    const cwd = folderWith({ "main.wire": main, "lib/refunds.wire": refunds })
    const { code, out } = await runWire(["check", "main.wire"], { cwd })
    assert.equal(code, 1)
    assert.deepEqual(out.split("\n").slice(0, 7), [
      "main.wire:3:13: error: In lib/refunds.wire: tool.refund acts on trusted words only, and strangers may have written `note` [untrusted-action]",
      "  3 | output { v: call workflow.refunds { input { note: input.mail } } }",
      "    |             ^^^^^^^^^^^^^^^^^^^^^",
      "    = input.mail → dynamic.loud → tool.refund",
      '    = Use a value that strangers cannot write, or require approval of tool.refund in lib/refunds.wire. If it can be trusted all the same, write `trust … because "reason"`.',
      "    = lib/refunds.wire:4:11: dynamic.loud",
      "    = lib/refunds.wire:5:13: output.v",
    ])
  })

  test("names and types are checked, and a warning is no error", async () => {
    const cwd = folderWith({
      "wrong.wire": "input { title: string }\noutput { t: input.titel }\n",
      "warned.wire": "input { title: string }\noutput { t: 1 }\nschema lonely { a: string }\n",
    })
    const wrong = await runWire(["check", "wrong.wire"], { cwd })
    assert.equal(wrong.code, 1)
    assert.match(wrong.out, /^wrong\.wire:2:19: error: .*input\.titel.* \[unknown-reference\]$/m)
    assert.match(wrong.out, / = Did you mean input\.title\?$/m)
    const warned = await runWire(["check", "warned.wire"], { cwd })
    assert.equal(warned.code, 0)
    assert.match(warned.out, /^warned\.wire:3:8: warning: .* \[unused-declaration\]$/m)
    assert.match(warned.out, /^Checked 1 file: 1 warning\.$/m)
  })

  test("folders, patterns and files, each file once, hidden folders and node_modules left out", async () => {
    const cwd = folderWith({
      "a.wire": good,
      "flows/b.wire": bad,
      "flows/deep/c.wire": good,
      "flows/notes.txt": "not a workflow",
      "flows/.hidden/d.wire": bad,
      "flows/node_modules/e.wire": bad,
      "named.txt": bad,
    })
    mkdirSync(join(cwd, "flows", "loop"))
    symlinkSync("..", join(cwd, "flows", "loop", "up"))
    const { out, code } = await runWire(["check", "flows", "*.wire", "./flows/b.wire", "named.txt", "--json"], { cwd })
    assert.equal(code, 1)
    const { files, valid, errors } = JSON.parse(out) as { files: { file: string }[]; valid: boolean; errors: number }
    assert.deepEqual(
      files.map(({ file }) => file),
      [join("flows", "b.wire"), join("flows", "deep", "c.wire"), "a.wire", "named.txt"],
    )
    assert.equal(valid, false)
    assert.equal(errors, 2)
  })

  test("--json has the issues in the service's shape", async () => {
    const cwd = folderWith({ "bad.wire": bad, "good.wire": good })
    const { out, err, code } = await runWire(["check", "--json", "bad.wire", "good.wire"], { cwd })
    assert.equal(code, 1)
    assert.equal(err, "")
    assert.deepEqual(JSON.parse(out), {
      valid: false,
      errors: 1,
      warnings: 0,
      files: [
        {
          file: "bad.wire",
          valid: false,
          issues: [
            {
              code: "syntax-error",
              severity: "error",
              path: "input",
              message: "Expected `:` after the field name `age`, found `integer`",
              range: { start: { line: 3, column: 9, offset: 33 }, end: { line: 3, column: 16, offset: 40 } },
            },
          ],
        },
        { file: "good.wire", valid: true, issues: [] },
      ],
      misses: [],
    })
  })

  test("files that cannot be read get a line each, and the others are checked", async () => {
    const cwd = folderWith({
      "a-latin1.wire": Buffer.from("// caf\xe9\n", "latin1"),
      "b-large.wire": Buffer.alloc(1024 * 1024 + 1, "/"),
      "c-good.wire": good,
    })
    symlinkSync("nowhere", join(cwd, "d-broken.wire"))
    const { code, out } = await runWire(["check", "."], { cwd })
    assert.equal(code, 1)
    assert.deepEqual(out.split("\n"), [
      "a-latin1.wire: error: is not UTF-8: bad byte 0xe9 in line 1",
      "",
      "b-large.wire: error: is too large: a workflow has at most 1 MiB",
      "",
      "d-broken.wire: error: cannot be read (no such file)",
      "",
      "Checked 1 file: 3 files not read.",
      "",
    ])
  })

  test("without permission", async () => {
    const cwd = folderWith({ "locked.wire": good, "closed/a.wire": good })
    chmodSync(join(cwd, "locked.wire"), 0o000)
    chmodSync(join(cwd, "closed"), 0o000)
    const { code, out } = await runWire(["check", "."], { cwd, by: permissionsApply })
    chmodSync(join(cwd, "closed"), 0o700)
    assert.equal(code, 1)
    assert.match(out, /^closed: error: cannot be read \(no permission\)$/m)
    assert.match(out, /^locked\.wire: error: cannot be read \(no permission\)$/m)
  })

  test("an argument that leads to nothing is a mistake of the command line, and the rest is checked", async () => {
    const cwd = folderWith({ "good.wire": good, "empty/readme.txt": "" })
    const { code, out, err } = await runWire(["check", "gone.wire", "*.nope", "empty", "good.wire"], { cwd })
    assert.equal(code, 2)
    assert.equal(out, "Checked 1 file: no problems.\n")
    assert.deepEqual(err.split("\n"), [
      "gone.wire: no such file or folder",
      "*.nope: no such file or folder",
      "empty: no .wire files in this folder",
      "",
    ])
  })

  test("--stdin", async () => {
    const { code, out } = await runWire(["check", "--stdin"], { input: bad })
    assert.equal(code, 1)
    assert.match(out, /^<stdin>:3:9: error: /)
    const large = await runWire(["check", "--stdin"], { input: "/".repeat(2_000_000) })
    assert.equal(large.code, 1)
    assert.match(large.out, /^<stdin>: error: is too large/)
  })

  soakTest("colour where it is wanted", async () => {
    const cwd = folderWith({ "bad.wire": bad })
    const plain = await runWire(["check", "bad.wire"], { cwd })
    const coloured = await runWire(["check", "bad.wire"], { cwd, env: { FORCE_COLOR: "1" } })
    const refused = await runWire(["check", "bad.wire"], { cwd, env: { NO_COLOR: "1" } })
    assert.ok(!plain.out.includes("\u001b"))
    assert.ok(coloured.out.includes("\u001b[31m"))
    assert.equal(refused.out, plain.out)
  })

  test("a reader who stops early is no error", async () => {
    const cwd = folderWith(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${at}.wire`, bad.repeat(20)])))
    const child = spawn(process.execPath, [builtWire, "check", "."], { cwd, stdio: ["ignore", "pipe", "pipe"] })
    let err = ""
    child.stderr.on("data", (chunk) => (err += String(chunk)))
    await once(child.stdout, "data")
    child.stdout.destroy()
    const [code] = (await once(child, "close")) as [number | null]
    assert.equal(err, "")
    assert.equal(code, 1)
  })
})

describe("the command line", () => {
  test("help of the whole and of a command, with examples", async () => {
    const whole = await runWire(["--help"])
    assert.equal(whole.code, 0)
    assert.match(whole.out, /^ {2}check +report what is wrong with workflows$/m)
    for (const line of whole.out.split("\n")) assert.ok(line.length <= 80, line)
    const check = await runWire(["check", "--help"])
    assert.equal(check.code, 0)
    assert.match(check.out, /Examples:\n {2}wire check flow\.wire/)
  })

  test("`-` is standard input", async () => {
    const { code, out } = await runWire(["check", "-"], { input: "output { x: agent.nobody }\n" })
    assert.equal(code, 1)
    assert.match(out, /unknown-reference/)
    assert.equal((await runWire(["check", "-", "x.wire"])).code, 2)
  })

  test("the version is the package's", async () => {
    const { version } = (await import("../../package.json", { with: { type: "json" } })).default
    assert.deepEqual(await runWire(["--version"]), { code: 0, out: `${version}\n`, err: "" })
  })

  test("`wire help` has the same help of a command as its option, and `--` before a command changes nothing", async () => {
    for (const name of ["check", "mcp"]) {
      assert.deepEqual(await runWire(["help", name]), await runWire([name, "--help"]))
    }
    const { code, out } = await runWire(["--", "check", "-"], { input: "output { x: agent.nobody }\n" })
    assert.equal(code, 1)
    assert.match(out, /unknown-reference/)
  })

  test("the version and the list of commands load no command", async () => {
    const counter = `import { registerHooks } from "node:module"
      registerHooks({
        load: (url, context, next) => {
          if (url.startsWith("file:")) process.stderr.write(url + "\\n")
          return next(url, context)
        },
      })`
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(counter)}` }
    for (const option of ["--version", "--help"]) {
      const { code, err } = await runWire([option], { env })
      assert.equal(code, 0)
      assert.match(err, /\/command-line-\w+\.js\n/)
      // The command line, what it prints with, and the chunks that these share with others.
      assert.ok(err.split("\n").length < 14, err)
    }
  })

  test("mistakes have a hint and exit code 2", async () => {
    const mistakes: [string[], RegExp][] = [
      [[], /Usage: wire/],
      [["chek"], /unknown command 'chek'\n\(Did you mean check\?\)/],
      [["check"], /missing required argument 'file'/],
      [["check", "--stdin", "x"], /give files or --stdin, not both/],
      [["check", "--jsno", "x"], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
    ]
    for (const [args, message] of mistakes) {
      const { code, out, err } = await runWire(args)
      assert.equal(code, 2, args.join(" "))
      assert.equal(out, "")
      assert.match(err, message)
    }
  })
})

describe("wire explain", () => {
  test("prints the page of every code, without what only tests need", async () => {
    const all = Object.entries(codes)
    for (const [code, { severity }] of all.slice(0, atStrength(3, all.length))) {
      const { code: exit, out } = await runWire(["explain", code])
      assert.equal(exit, 0, code)
      assert.match(out, new RegExp(`^# ${code} \\(${severity}\\)\n\n[^]*\n\`\`\`wire\n[^]*\n$`))
      assert.doesNotMatch(out, /^#+ (?!\S+ \((?:error|warning)\))|^```wire ./m)
    }
    const pages = readdirSync(join(dirname(builtWire), "codes")).map((file) => file.replace(/\.md$/, ""))
    assert.deepEqual(pages.toSorted(), Object.keys(codes).toSorted())
  })

  test("a code that does not exist is named, with the one that was probably meant", async () => {
    for (const code of ["unknown-referense", "../wire", "constructor", ""]) {
      const { code: exit, out, err } = await runWire(["explain", code])
      assert.deepEqual([exit, out], [2, ""], code)
      assert.ok(err.startsWith(`There is no code ${code}.`), err)
    }
    assert.match((await runWire(["explain", "unknown-referense"])).err, /Did you mean unknown-reference\?/)
  })
})
