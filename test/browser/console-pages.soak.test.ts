import assert from "node:assert/strict"
import { mkdtempSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, test } from "node:test"
import type { RunsAnswer } from "../../src/api/runs.ts"
import { atEnd } from "../support/at-end.ts"
import { within } from "../support/within.ts"
import { hasCount, says } from "./actions.ts"
import { lookAt } from "./look-at.ts"
import { openPlayground } from "./open-playground.ts"

const folder = mkdtempSync(join(tmpdir(), "wireworks-scored-"))
atEnd(() => rm(folder, { recursive: true, force: true }))
writeFileSync(
  join(folder, "tickets.wire"),
  `input { text: string }
score short { value: length(input.text) < 20 }
score words { value: length(input.text) / 10.0 }
score tone {
    of: { text: input.text }
    judge: "Is it kind?"
    model: model.judge
    output {
        grade: enum { good, fair, bad }
        why: string
    }
}
provider demo from openai { endpoint: "demo" }
model judge from demo {
    id: "demo"
    price { input: 0.40  output: 1.60 }
}
output { text: input.text }
`,
)

const { address, visit } = await openPlayground(
  { WIRE_WORKFLOWS: folder, WIRE_SCORE_COST_PER_DAY: "1" },
  { path: "/console/scores", colorScheme: "light", reducedMotion: "reduce" },
)

function post(path: string, body: object): Promise<Response> {
  return fetch(`${address}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
}

async function listOf(query: string): Promise<RunsAnswer["runs"]> {
  return ((await (await fetch(`${address}/runs${query}`)).json()) as RunsAnswer).runs
}

describe("the console's pages of scores and files", () => {
  test("scores are counted by day and version, and lead to the runs with a value and to the worst ones", async () => {
    const { page, close } = await visit()
    await page.getByText("No run was scored in this time.").waitFor()
    for (const text of ["Late again", "Where is my parcel today?", "Thanks, it works", "A long story about an order"]) {
      assert.equal((await post("/workflows/tickets/execute", { input: { text } })).status, 200)
    }
    const unscored = async (): Promise<boolean> => (await listOf("")).some(({ scores }) => scores.length < 3)
    const scored = async (): Promise<void> => {
      while (await unscored()) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await within(60_000, "a score of each run", scored())
    await close()
    const complaints: string[] = []
    for (const width of [1440, 390]) {
      const { page: scores, close: leave } = await visit({ viewport: { width, height: width === 390 ? 844 : 900 } })
      const look = lookAt(scores, complaints, `console-${width}-`)
      const card = scores.getByRole("listitem").filter({ has: scores.getByRole("heading", { name: "short" }) })
      await says(card, /4 results[^]*true 50%[^]*false 50%/)
      const words = scores.getByRole("listitem").filter({ has: scores.getByRole("heading", { name: "words" }) })
      await says(words, /mean 1\.95/)
      await words.getByRole("link", { name: "Worst runs by words" }).click()
      const worst = scores.getByRole("region", { name: "Worst runs by words" })
      await hasCount(worst.locator("tbody tr"), 4)
      await says(worst.locator("tbody tr").first(), /1[^]*Late again/)
      await look("scores")
      await card.getByRole("link", { name: "Runs with short false" }).click()
      await scores.waitForURL(/runs\?score=short%3Afalse&since=30d$/)
      const rows = scores.getByRole("region", { name: "List of runs" }).locator("tbody tr")
      await hasCount(rows, 2)
      await scores.goBack()
      await worst.getByRole("link").first().click()
      await says(scores.getByRole("region", { name: "The run" }), /tickets[^]*Late again/)
      await leave()
    }
    assert.deepEqual(complaints, [])
  })

  test("files are sent, looked at with the runs that use them, downloaded and deleted", async () => {
    const complaints: string[] = []
    for (const width of [1440, 390]) {
      const { page, close } = await visit({
        viewport: { width, height: width === 390 ? 844 : 900 },
        path: "/console/files",
      })
      const look = lookAt(page, complaints, `console-${width}-`)
      await page.getByText("There are no files.").waitFor()
      await look("files-none")
      const report = { name: "report.csv", mimeType: "text/csv", buffer: Buffer.from(`name,count\nAda,${width}\n`) }
      await page.locator("input[type=file]").setInputFiles(report)
      const file = page.getByRole("region", { name: "The file" })
      await says(file, /report\.csv[^]*text\/csv[^]*No run uses it/)
      const file_id = new URL(page.url()).searchParams.get("file") ?? ""
      const source = "input { table: file }\noutput { name: input.table.name }"
      const run = await post("/execute", { workflow_source: source, input: { table: { file_id } } })
      assert.equal(run.status, 200, await run.clone().text())
      const run_id = run.headers.get("x-service-run-id") ?? ""
      await page.reload()
      await file.getByText("Used by 1 run").waitFor()
      await look("files")
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        file.getByRole("button", { name: "Download" }).click(),
      ])
      assert.equal(download.suggestedFilename(), "report.csv")
      await file.getByRole("button", { name: "Delete" }).click()
      const dialog = page.getByRole("dialog")
      await says(dialog, /1 run used it/)
      await look("files-delete")
      await dialog.getByRole("button", { name: "Delete the file" }).click()
      await page.getByText("There are no files.").waitFor()
      assert.equal((await fetch(`${address}/files/${file_id}`)).status, 404)
      assert.equal((await fetch(`${address}/execute/${run_id}`)).status, 200)
      await close()
    }
    assert.deepEqual(complaints, [])
  })
})
