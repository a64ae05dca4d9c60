import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { text as textOf } from "node:stream/consumers"
import { test } from "node:test"
import type { Download, Page } from "playwright-core"
import { eventually, hasCount, openExample, runToEnd, says, status, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

const hostile = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="parent.pwned = 1">
<script>window.pwned = 1; parent.pwned = 1</script><rect width="40" height="40" fill="teal"/></svg>`

const copies = `input { one: file  maybe_one: maybe file }
output { one: input.one  more: [make_file("table.csv", "name,cost\\r\\n<b>tea</b>,3\\r\\n")] }
`

const asks = `dynamic { notice: make_file("notice.md", "# Notice: 3 months") }
ask send { question: "Send it?"  show: { letter: dynamic.notice }  output { yes: boolean } }
output { yes: ask.send.yes }
`

/** Drops a file on the zone that is there, as a person does from a folder. */
async function drop(page: Page, name: string, type: string, contents: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([fileName, fileType, text]) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([text ?? ""], fileName ?? "", { type: fileType ?? "" }))
      return transfer
    },
    [name, type, contents],
  )
  const zone = page.locator(".drop-zone").first()
  await zone.dispatchEvent("dragover", { dataTransfer: data })
  await zone.dispatchEvent("drop", { dataTransfer: data })
}

async function downloaded(page: Page, name: string): Promise<Download> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: `Download ${name}` }).click(),
  ])
  return download
}

export function media(playground: Playground): void {
  test("files are chosen for a list, and what a run makes is seen, heard, read and saved", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    const look = lookAt(page, complaints, "story-")
    await openExample(page, "Files")
    await tab(page, "Input")
    await page.getByLabel("Add files to input.notes").setInputFiles([
      { name: "owls.txt", mimeType: "text/plain", buffer: Buffer.from("Owls hear a mouse.") },
      { name: "mice.txt", mimeType: "text/plain", buffer: Buffer.from("Mice hear an owl.") },
    ])
    await hasCount(page.locator(".inputs .taken-file"), 2)
    await page.getByRole("button", { name: "Move entry 2 up" }).click()
    await says(page.locator(".inputs .taken-file").first(), /mice\.txt\s+17 B · text\/plain/)
    await look("files-input")
    await runToEnd(page)
    await tab(page, "Output")
    const output = page.getByRole("region", { name: "Output as text" })
    const picture = output.getByRole("img")
    await eventually(async () =>
      assert.ok(await picture.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0)),
    )
    const sound = output.locator("audio")
    await eventually(async () => assert.ok(await sound.evaluate((audio) => (audio as HTMLAudioElement).duration > 0)))
    await output.getByRole("cell", { name: "mice.txt" }).waitFor()
    await look("files-output")
    const report = await downloaded(page, "report.md")
    assert.equal(report.suggestedFilename(), "report.md")
    assert.match(await textOf(await report.createReadStream()), /^# an owl at night\n/)
    await page.getByRole("button", { name: "Tree", exact: true }).click()
    await hasCount(page.locator(".json-tree .stored-file"), 4)
    await look("files-tree")
    await close()
    assert.deepEqual(complaints, [])
  })

  test("a file is dropped, its script runs nowhere, and a wrong one is refused with a reason", async () => {
    const { page, close } = await playground.visit({ expected: /415|400/ })
    await write(page, copies)
    await tab(page, "Input")
    await drop(page, "lie.png", "image/png", "not a picture")
    await says(page.locator(".drop-zone [role=alert]"), /^lie\.png: The contents of the file are not image\/png\.$/)
    await drop(page, "../hostile.svg", "image/svg+xml", hostile)
    await page.getByRole("button", { name: "Remove ..hostile.svg" }).waitFor()
    const thumbnail = page.locator(".inputs .taken-file img")
    await eventually(async () =>
      assert.equal(await thumbnail.evaluate((image) => (image as HTMLImageElement).naturalWidth), 40),
    )
    await page.getByRole("combobox", { name: "Kind of input.maybe_one" }).selectOption({ label: "file" })
    await hasCount(page.locator(".drop-zone"), 1)
    await page.getByRole("combobox", { name: "Kind of input.maybe_one" }).selectOption({ label: "null (nothing)" })
    await runToEnd(page)
    await tab(page, "Output")
    await page.getByRole("cell", { name: "<b>tea</b>" }).waitFor()
    assert.equal(await page.evaluate(() => "pwned" in window), false)
    await tab(page, "Input")
    await page.getByRole("button", { name: "Remove ..hostile.svg" }).click()
    await page.getByRole("button", { name: "Run", exact: true }).click()
    await page
      .getByText(/Not started: input\.one/)
      .first()
      .waitFor()
    assert.match(await status(page, /completed/), /completed/)
    await close()
  })

  test("a question shows the files that it is about", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    await write(page, asks)
    await page.getByRole("button", { name: "Run", exact: true }).click()
    const card = page.getByRole("article")
    await says(card.locator(".stored-file"), /notice\.md\s+18 B · text\/markdown/)
    await says(card.getByRole("region", { name: "notice.md" }), /^# Notice: 3 months$/)
    await lookAt(page, complaints, "story-")("files-question")
    await close()
    assert.deepEqual(complaints, [])
  })
}
