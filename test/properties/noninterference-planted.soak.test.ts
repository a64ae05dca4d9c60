import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { plantedBugs } from "./noninterference/planted-bugs.ts"

// Mistakes that the checker of trust once had, planted again: random programs have to find each of them.

/** A planted bug has to be found within so many programs. */
const enough = 4000

for (const { name, seed, emphasis } of plantedBugs) {
  test(`a planted bug is found: ${name}`, { timeout: 3_600_000 }, async (t) => {
    const plant = new URL("./noninterference/plant.ts", import.meta.url).href
    const script = fileURLToPath(new URL("./noninterference/try-programs.ts", import.meta.url))
    const given = [script, String(seed), String(enough), "--stop-at-first", `--emphasis=${emphasis}`]
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", plant, ...given], {
      env: { ...process.env, WIRE_PLANTED_BUG: name },
      maxBuffer: 64 * 1024 * 1024,
    })
    const [found] = /^seed \d+, after \d+ programs: .*/m.exec(stdout) ?? []
    assert.ok(found !== undefined, stdout.slice(-2000))
    t.diagnostic(found.slice(0, 200))
  })
}
