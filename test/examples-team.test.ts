import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { formatText } from "../src/syntax/format.ts"
import { runWire } from "./cli/run-wire.ts"

const folder = join(dirname(import.meta.dirname), "examples", "team")

test("the team's workflows are right and canonical, run, and pass their tests", async () => {
  for (const name of ["lib/models", "triage", "reply"]) {
    const source = readFileSync(join(folder, `${name}.wire`), "utf8")
    assert.deepEqual(formatText(source), { formatted: source, changed: false })
  }
  const checked = await runWire(["check", folder])
  assert.equal(checked.code, 0, checked.out + checked.err)
  assert.doesNotMatch(checked.out, /warning/)
  const input = ["--set", "ticket.subject=Down", "--set", "ticket.text=Nothing works."]
  for (const name of ["triage", "reply"]) {
    const secret = name === "reply" ? ["--secret", "reply_key=env:REPLY_KEY"] : []
    const args = ["run", join(folder, `${name}.wire`), "-q", ...input, ...secret]
    const ran = await runWire(args, { env: { REPLY_KEY: "not a real key" } })
    assert.equal(ran.code, 0, ran.err)
  }
  const tested = await runWire(["test", folder])
  assert.equal(tested.code, 0, tested.out + tested.err)
  const bundled = await runWire(["bundle", join(folder, "triage.wire")])
  const { file, modules } = JSON.parse(bundled.out) as { file: string; modules: Record<string, string> }
  assert.match(file, /triage\.wire$/)
  assert.deepEqual(
    Object.keys(modules).map((path) => path.replace(/^.*team\//, "")),
    ["lib/models.wire"],
  )
})
