import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { atEnd } from "../support/at-end.ts"
import { eventually, hasCount, says } from "./actions.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-releases-"))
atEnd(() => rmSync(folder, { recursive: true, force: true }))

const asks = (question: string): string => `input { order: string }
ask review {
    question: "${question}"
    show: input.order
    output { publish: boolean }
}
output { publish: ask.review.publish }
`
const splits = (team: string, release = ""): string => `input { n: integer }
${release}
output {
    team: ${team}
    n: input.n
}
`

for (const name of ["wide", "narrow"]) writeFileSync(join(folder, `asks-${name}.wire`), asks("Publish it?"))
writeFileSync(join(folder, "splits.wire"), splits('"{{ input.n }} sales"'))
writeFileSync(
  join(folder, "splits.next.wire"),
  splits('"{{ input.n + input.n % 2 }} sales"', "release { share: 0.25  shadow: 1 }"),
)

const { address, visit } = await openPlayground(
  { WIRE_WORKFLOWS: folder, WIRE_SHADOW_COST_PER_DAY: "1" },
  { path: "/console/workflows", colorScheme: "light", reducedMotion: "reduce" },
)

async function execute(name: string, input: object): Promise<void> {
  const response = await fetch(`${address}/workflows/${name}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input }),
  })
  assert.ok(response.ok, await response.text())
}

test("versions: a dry run as a table, the move itself, and the candidate beside the current version", async () => {
  const complaints: string[] = []
  for (let n = 0; n < 12; n++) await execute("splits", { n: n % 5 })
  for (const width of [1440, 390]) {
    const workflow = width === 390 ? "asks-narrow" : "asks-wide"
    for (const order of ["A-1", "A-2", "A-3"]) await execute(workflow, { order })
    writeFileSync(join(folder, `${workflow}.wire`), asks("Publish it now?"))
    const viewport = { width, height: width === 390 ? 844 : 900 }
    await eventually(async () => {
      const answer = await fetch(`${address}/workflows/${workflow}/versions`)
      const { versions } = (await answer.json()) as { versions: object[] }
      assert.equal(versions.length, 2)
    })
    const { page, close } = await visit({ viewport, path: `/console/workflows?versions=${workflow}` })
    const look = lookAt(page, complaints, `releases-${width}-`)
    await page.getByRole("button", { name: /^What a move of the waiting runs/ }).click()
    const table = page.getByRole("region", { name: /^Moving runs from version/ })
    await hasCount(table.locator("tbody tr"), 3)
    await says(table, /nothing has moved yet[^]*moves, asks again/)
    await look("dry-run")
    await table.getByRole("button", { name: "Move 3 runs" }).click()
    await says(table, /this is what became of them/)
    const versions = page.getByRole("region", { name: `Versions of ${workflow}` })
    await says(versions, /current[^]*3 waiting/)
    await look("moved")
    await table.getByRole("button", { name: "Close the table" }).click()
    await page.goto(`${address}/console/workflows?versions=splits`)
    const release = page.getByRole("region", { name: "Release of splits" })
    await says(release, /gets traffic[^]*current 75 %[^]*Current[^]*Candidate[^]*Runs/)
    await says(release, /Shadows: [\d.]+ % of \d+ agree[^]*Disagreements[^]*output\.team/)
    await release
      .getByRole("button", { name: /^Compare outputs/ })
      .first()
      .click()
    await says(release, /− {3}"team": "(\d) sales"[^]*\+ {3}"team": "(?!\1)\d sales"/)
    await look("release")
    await release.getByRole("button", { name: "Stop the candidate" }).click()
    await says(release, /stopped/)
    await release.getByRole("button", { name: "Let it go on" }).click()
    await says(release, /gets traffic/)
    if (width !== 390) {
      // A candidate that goes on is judged by what comes then.
      for (let n = 0; n < 12; n++) await execute("splits", { n: 3 })
      await release
        .getByRole("link", { name: /^shadow / })
        .first()
        .click()
      await says(page.getByRole("region", { name: "The run" }), /splits[^]*completed/)
    }
    // The next width finds disagreements of its own.
    for (let n = 0; n < 24; n++) await execute("splits", { n: n % 5 })
    await close()
  }
  assert.deepEqual(complaints, [])
})
