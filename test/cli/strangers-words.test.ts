import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "node:test"
import type { Ended } from "./run-wire.ts"
import { folderWith, runWire } from "./run-wire.ts"
import { soakTest } from "../support/strength.ts"

// Files that somebody else wrote: nothing that the commands print or write of them moves the cursor, turns the direction of
// writing, hides, or becomes code.

/** Everything of the sort that a source may hold. */
const hidden = "\u001b[2J\u0007\u009b2J\u007f\u00ad\u200b\u202e\u2066\u2028\u{e0061}\ufeff"
const anyHidden = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u00ad\u200b\u{e0061}\ufeff]/u

const workflow = `// Sorts tickets ${hidden}\r// import os; os.system("touch stolen")
/// A kind ${hidden}*/
schema kind { variant tag { "a${hidden}" { x: string } } }
input {
    /// The text ${hidden} */ export const stolen = 1 /*
    text: string
    level: enum { "low${hidden}", high }
    "odd${hidden}": maybe string
    kinds: [schema.kind]
}
output { text: "${hidden} {{ input.text }}" level: input.level kinds: input.kinds "odd${hidden}": input.level }
`

const tests = `test "a title ${hidden}" {
    input { text: "x" level: "high" "odd${hidden}": null kinds: [] }
    expect output.text == "never ${hidden}"
    expect output == { "k${hidden}": "v" }
}
`

function assertVisible({ out, err }: Ended, what: string): void {
  assert.doesNotMatch(out, anyHidden, `${what}: standard output`)
  assert.doesNotMatch(err, anyHidden, `${what}: standard error`)
}

describe("strangers' words", () => {
  test("what is printed of a workflow", async () => {
    const input = JSON.stringify({ text: hidden, level: "high", [`odd${hidden}`]: null, kinds: [] })
    const cwd = folderWith({
      "a.wire": workflow,
      [`name ${hidden.replaceAll("\u2028", "")}.wire`]: `output { a: nothing.here${hidden} b: "${hidden}`,
      "input.json": input,
    })
    assertVisible(await runWire(["check", "."], { cwd }), "check")
    const checked = await runWire(["check", "--json", "."], { cwd })
    assertVisible(checked, "check --json")
    assert.equal((JSON.parse(checked.out) as { valid: boolean }).valid, false)
    assertVisible(await runWire(["fmt", "--check", "."], { cwd }), "fmt --check")
    const run = await runWire(["run", "a.wire", "--input", "input.json"], { cwd })
    assert.equal(run.code, 0, run.err)
    assertVisible(run, "run")
    assert.equal((JSON.parse(run.out) as { text: string }).text, `${hidden} ${hidden}`)
    const events = await runWire(["run", "a.wire", "--input", "input.json", "--events"], { cwd })
    assertVisible(events, "run --events")
    assertVisible(await runWire(["run", "a.wire", "--set", `level=${hidden}`], { cwd }), "run, wrong input")
  })

  test("what is printed of tests", async () => {
    const cwd = folderWith({
      "a.wire": workflow,
      "a.test.wire": tests,
      "b.test.wire": `test "b ${hidden}" { expect nothing.${hidden} }`,
    })
    for (const reporter of ["pretty", "json", "junit"]) {
      const result = await runWire(["test", "--reporter", reporter], {
        cwd,
        env: { FORCE_COLOR: reporter === "pretty" ? "" : "1" },
      })
      assert.equal(result.code, 2, result.out + result.err)
      assertVisible(result, reporter)
      if (reporter !== "junit") continue
      const read = spawnSync(
        "python3",
        ["-c", "import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())"],
        {
          input: result.out,
        },
      )
      assert.deepEqual([read.status, String(read.stderr)], [0, ""])
    }
    const compared = await runWire(["test", "a.test.wire", "--live", "--model", `m=${hidden}`], { cwd })
    assertVisible(compared, "--model")
  })

  soakTest("types are written for a workflow, whatever it says, and nothing else is", async () => {
    const cwd = folderWith({ "w/a.wire": workflow })
    for (const out of ["wire.d.ts", "workflows.py", "schemas.json"]) {
      const written = await runWire(["types", "w", "--out", out], { cwd })
      assert.equal(written.code, 0, written.err)
      const text = readFileSync(join(cwd, out), "utf8")
      assert.doesNotMatch(text, anyHidden, out)
      assertVisible(
        await runWire(["types", "w", "--lang", out.endsWith("ts") ? "typescript" : "python"], { cwd }),
        "types",
      )
    }
    const script = `
import ast, json, typing, workflows
tree = ast.parse(open("workflows.py").read())
print(json.dumps([sorted({type(node).__name__ for node in tree.body}), typing.get_args(typing.get_type_hints(workflows.AOutput)["level"])]))`
    const ran = spawnSync("python3", ["-c", script], { cwd, encoding: "utf8" })
    assert.deepEqual(JSON.parse(ran.stdout || ran.stderr), [
      // `try` is around the import of `NotRequired`, which older versions of Python do not have.
      ["Assign", "ClassDef", "ImportFrom", "Try"],
      [`low${hidden}`, "high"],
    ])
    assert.equal(existsSync(join(cwd, "stolen")), false)
    const lines = readFileSync(join(cwd, "wire.d.ts"), "utf8").split("\n")
    assert.deepEqual(
      lines.filter((line) => /^\s*export (?!type |interface )/.test(line)),
      [],
    )
  })
})
