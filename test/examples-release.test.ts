import assert from "node:assert/strict"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import type { ReleaseAnswer } from "../src/api/releases.ts"
import { formatText } from "../src/syntax/format.ts"
import { runWire } from "./cli/run-wire.ts"
import { startService } from "./contract/http/start-service.ts"
import { within } from "./support/within.ts"

const examples = join(dirname(import.meta.dirname), "examples", "release")

test("the example of a release is right and canonical, gets shadows, and is promoted", async () => {
  for (const name of ["refunds", "refunds.next"]) {
    const source = readFileSync(join(examples, `${name}.wire`), "utf8")
    assert.deepEqual(formatText(source), { formatted: source, changed: false })
  }
  const checked = await runWire(["check", examples])
  assert.equal(checked.code, 0, checked.out + checked.err)
  assert.doesNotMatch(checked.out, /warning/)
  const tested = await runWire(["test", examples])
  assert.equal(tested.code, 0, tested.out + tested.err)
  const folder = mkdtempSync(join(tmpdir(), "wireworks-release-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(examples, folder, { recursive: true })
  const service = await startService({ WORKFLOWS: folder, SHADOW_COST_PER_DAY: "10" })
  const shadows = async (): Promise<ReleaseAnswer> => {
    for (let n = 0; ; n++) {
      const input = { customer: `c${1 + (n % 3)}`, order: `A-${n}`, message: "It arrived broken." }
      assert.equal((await service.post("/workflows/refunds/execute", { input })).status, 200)
      const answer = (await (await service.get("/workflows/refunds/release")).json()) as ReleaseAnswer
      assert.equal(answer.state, "running", JSON.stringify(answer))
      if (answer.shadows.compared > 2) return answer
    }
  }
  const { agreement, version } = await within(60_000, "shadows", shadows())
  assert.ok(agreement !== null)
  const promoted = await runWire(["release", "promote", "refunds", folder])
  assert.equal(promoted.code, 0, promoted.err)
  assert.match(promoted.out + promoted.err, new RegExp(version ?? "-"))
  assert.doesNotMatch(readFileSync(join(folder, "refunds.wire"), "utf8"), /^release/m)
})
