import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { describe, test } from "node:test"
import {
  copied,
  editor,
  eventually,
  hasCount,
  hasValue,
  nodeSays,
  openExample,
  refused,
  run,
  runToEnd,
  says,
  status,
  tab,
  write,
} from "./actions.ts"
import { openPlayground } from "./open-playground.ts"

const playground = await openPlayground()

/** Visits of which each has its own storage, and none looks at the clipboard, go on side by side: most of them wait. */
const together = { concurrency: 2 }

describe("a first visit", together, () => {
  test("runs with Ctrl+Enter from the editor, and from a field", async () => {
    const { page, close } = await playground.visit()
    await editor(page).click()
    await page.keyboard.press("Control+Enter")
    await status(page, /completed in/)
    await page.getByRole("textbox", { name: "name" }).fill("Grace")
    await page.keyboard.press("Control+Enter")
    await tab(page, "Output")
    await page.getByText("Hello, Grace.").waitFor()
    await close()
  })
})

describe("the form of the input", () => {
  const source = `input {
    title: string
    count: integer
    share: number
    draft: boolean
    level: enum { low, high }
    tags: [string]
    author: { name: string, mail: maybe string }
    advice: variant kind {
        rewrite {
            patch: string
        }

        question {
            text: string
            urgent: boolean
        }
    }
    anything: object
    either: string | integer
    mixed: [string | integer]
    bags: [object]
}

output {
    all: input
}
`
  test("has a control for every kind of type, and sends what they say", async () => {
    const { page, close } = await playground.visit()
    await write(page, source)
    await page.getByRole("textbox", { name: "title string" }).fill("Owls")
    await page.getByRole("textbox", { name: "count integer" }).fill("3")
    await page.getByRole("textbox", { name: "share number" }).fill("0.25")
    await page.getByRole("switch", { name: "draft" }).check()
    await page.getByRole("combobox", { name: "level" }).selectOption("high")
    const tags = page.getByRole("group", { name: /^tags/ })
    await tags.getByRole("button", { name: "Add an entry" }).click()
    await tags.getByRole("button", { name: "Add an entry" }).click()
    await tags.getByRole("textbox").nth(0).fill("b")
    await tags.getByRole("textbox").nth(1).fill("a")
    await tags.getByRole("button", { name: "Move entry 2 down", disabled: true }).waitFor()
    await tags.getByRole("button", { name: "Move entry 1 down" }).click()
    await tags.getByRole("button", { name: "Move entry 1 down" }).click()
    await tags.getByRole("button", { name: "Move entry 2 up" }).click()
    await tags.getByRole("button", { name: "Fold tags" }).click()
    await tags.getByText('2 entries ["a","b"]').waitFor()
    await hasCount(tags.getByRole("textbox"), 0)
    await tags.getByRole("button", { name: "Unfold tags" }).click()
    const author = page.getByRole("group", { name: /^author/ })
    await author.getByRole("textbox", { name: "name string" }).fill("Ada")
    await author.getByRole("combobox").selectOption({ label: "string" })
    await author.getByRole("textbox", { name: "mail string" }).fill("ada@example.org")
    await page.getByRole("combobox", { name: /^kind/ }).selectOption("question")
    await page.getByRole("textbox", { name: "text string" }).fill("Why?")
    await page.getByRole("switch", { name: "urgent" }).check()
    await page.getByRole("textbox", { name: "anything object" }).fill('{"x": [1]}')
    await page.getByRole("combobox", { name: "Kind of input.either" }).selectOption({ label: "integer" })
    await page.getByRole("textbox", { name: "either integer" }).fill("7")
    assert.doesNotMatch(await page.getByRole("region", { name: /^Input,/ }).innerText(), /undefined/)
    // What the controls of an entry remember moves with the entry, and so does the keyboard.
    const mixed = page.getByRole("group", { name: /^mixed/ }).first()
    const bags = page.getByRole("group", { name: /^bags/ }).first()
    for (const list of [mixed, bags])
      for (let entries = 0; entries < 2; entries++) await list.getByRole("button", { name: "Add an entry" }).click()
    await mixed.getByRole("combobox").nth(0).selectOption({ label: "integer" })
    await mixed.getByRole("textbox", { name: "1 integer" }).fill("5")
    await mixed.getByRole("textbox", { name: "2 string" }).fill("s")
    await bags.getByRole("textbox").nth(0).fill('{"first": true}')
    for (const list of [mixed, bags]) {
      await list.getByRole("button", { name: "Move entry 1 down" }).click()
      await list.locator("[aria-label='Move entry 2 up']:focus").waitFor()
    }
    await mixed.getByRole("textbox", { name: "2 integer" }).waitFor()
    assert.equal(await bags.getByRole("textbox").nth(1).inputValue(), '{"first": true}')
    await runToEnd(page)
    await tab(page, "Output")
    const copy = page.getByRole("button", { name: "Copy", exact: true })
    assert.deepEqual(JSON.parse(await copied(page, copy, "Output copied.")), {
      all: {
        title: "Owls",
        count: 3,
        share: 0.25,
        draft: true,
        level: "high",
        tags: ["a", "b"],
        author: { name: "Ada", mail: "ada@example.org" },
        advice: { kind: "question", text: "Why?", urgent: true },
        anything: { x: [1] },
        either: 7,
        mixed: ["s", 5],
        bags: [{}, { first: true }],
      },
    })
    await close()
  })

  test("is the same as JSON", async () => {
    const { page, close } = await playground.visit()
    await page.getByRole("button", { name: "JSON" }).click()
    const text = page.getByRole("textbox", { name: "Input as JSON" })
    await eventually(async () => assert.deepEqual(JSON.parse(await text.inputValue()), { name: "Ada" }))
    await text.fill('{ "nam": "Bo" }')
    await page
      .getByText(/nam.*(not|unknown|no such|expected)/i)
      .first()
      .waitFor()
    await text.fill('{ "name": ')
    await page.getByText("This is not JSON yet").waitFor()
    await text.fill('{ "name": "Bo" }')
    await page.getByRole("button", { name: "Form", exact: true }).click()
    await hasValue(page.getByRole("textbox", { name: "name" }), "Bo")
    await close()
  })
})

describe("run control", together, () => {
  test("options are checked and sent: a cache key makes the second run answer from the cache", async () => {
    const { page, close } = await playground.visit()
    await tab(page, "Options")
    await page.getByRole("textbox", { name: /^Time limit/ }).fill("soon")
    await refused(page, () => run(page))
    await page.getByRole("textbox", { name: /^Time limit/ }).fill("30s")
    await page.getByRole("textbox", { name: /^Cache key/ }).fill("browser-test")
    await runToEnd(page)
    await run(page)
    await nodeSays(page, "agent.greeter", /cached/)
    await Promise.all([
      page.getByText("1 entry of this cache key dropped.").waitFor(),
      page.getByRole("button", { name: "Empty it" }).click(),
    ])
    await close()
  })
})

describe("output and events", () => {
  test("the output as a tree and as raw JSON, copied and downloaded", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await tab(page, "Output")
    await page.getByRole("button", { name: "Raw" }).click()
    const raw = await page.getByLabel("Output as JSON").innerText()
    assert.deepEqual(JSON.parse(raw), { greeting: "Hello, Ada." })
    const copy = page.getByRole("button", { name: "Copy", exact: true })
    assert.deepEqual(JSON.parse(await copied(page, copy, "Output copied.")), JSON.parse(raw))
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download", exact: true }).click(),
    ])
    assert.match(download.suggestedFilename(), /\.json$/)
    assert.deepEqual(JSON.parse(readFileSync(await download.path(), "utf8")), JSON.parse(raw))
    await close()
  })

  test("the events with their ids, filtered, opened and copied as text", async () => {
    const { page, close } = await playground.visit()
    await runToEnd(page)
    await tab(page, "Events")
    const rows = page.getByRole("option")
    await hasCount(rows, 5)
    await says(rows.first(), /^1\s+\+0 ms\s+workflow_started/)
    await page.getByRole("searchbox", { name: "Filter events" }).fill("agent_ greeter")
    await page.getByText("2 of 5 events").waitFor()
    await rows.filter({ hasText: "agent_completed" }).click()
    await says(page.getByRole("region", { name: /^Event \d/ }), /greeting: Hello, Ada\./)
    const copy = page.getByRole("region", { name: "Results" }).getByRole("button", { name: "Copy", exact: true })
    assert.match(
      await copied(page, copy, "2 events copied."),
      /^id: 3\nevent: agent_started\ndata: \{.*\}\n\nid: \d\nevent: agent_completed\n/,
    )
    // The pieces of text are left out until they are asked for.
    await page.getByRole("searchbox", { name: "Filter events" }).fill("agent_delta")
    await page.getByText("0 of 5 events").waitFor()
    await page.getByRole("button", { name: /text chunk/ }).click()
    await rows.filter({ hasText: "agent_delta" }).first().waitFor()
    await close()
  })
})

describe("examples", () => {
  const names = [
    "Hello",
    "Chain",
    "Fan-out and join",
    "Loop",
    "Lists",
    "Conditions",
    "Variants and match",
    "Context and compaction",
    "Fallback models",
    "Cost and limits",
    "Files",
    "MCP tools",
    "People",
    "Cache",
  ]
  test("every one of them runs against the demo model", async () => {
    const { page, close } = await playground.visit()
    await page.getByRole("button", { name: /^Open$/ }).click()
    await eventually(async () => {
      assert.deepEqual(await page.getByRole("menuitemradio").locator("span").allInnerTexts(), names)
    })
    await page.keyboard.press("Escape")
    await close()
    // Two at a time: some of them wait for the slow model.
    const left = [...names]
    const walk = async (): Promise<void> => {
      const visit = await playground.visit()
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        await openExample(visit.page, name)
        await visit.page.getByText("No problems").waitFor()
        if (name !== "People") await runToEnd(visit.page)
        else {
          await run(visit.page)
          await visit.page.getByRole("radio", { name: "Yes" }).check()
          await visit.page.getByRole("button", { name: "Answer", exact: true }).click()
          await status(visit.page, /completed in/)
        }
      }
      await visit.close()
    }
    await Promise.all([walk(), walk()])
  })
})
