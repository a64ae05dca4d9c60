import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually, hasCount, node, nodeSays, runToEnd, says, slowChain, status, tab, write } from "../actions.ts"
import { lookAt } from "../look-at.ts"
import type { Playground } from "../open-playground.ts"

export function lookingBack(playground: Playground): void {
  test("the timeline of a run that has ended is zoomed by keys and buttons, around what is selected", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    // Long enough for three steps of the zoom, however fast the machine is.
    await write(page, slowChain(1))
    await runToEnd(page)
    await tab(page, "Timeline")
    await page.getByRole("treeitem", { name: /^model call/ }).click()
    const marks = page.locator(".axis-marks")
    const zoomIn = page.getByRole("button", { name: "Zoom in in time" })
    await zoomIn.waitFor()
    const before = await marks.innerText()
    await page.getByRole("tree", { name: "Timeline" }).press("+")
    await zoomIn.click()
    await eventually(async () => assert.notEqual(await marks.innerText(), before))
    const complaints: string[] = []
    await lookAt(page, complaints)("timeline-zoomed")
    assert.deepEqual(complaints, [])
    await page.getByRole("button", { name: "Zoom out in time" }).click()
    await page.getByRole("button", { name: "Show the whole run" }).click()
    await eventually(async () => assert.equal(await marks.innerText(), before))
    await hasCount(page.getByRole("button", { name: "Zoom out in time" }), 0)
    await close()
  })

  test("the timeline shows which part of the run's cost a step has, where models have prices", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    await write(
      page,
      `provider p from openai {
    endpoint: "demo"
}

model cheap from p {
    id: "demo"

    price {
        input: 1
        output: 1
    }
}

model dear from p {
    id: "demo"

    price {
        input: 30
        output: 30
    }
}

agent draft {
    model: model.cheap
    instruction: "Write about owls."

    output {
        text: string
    }
}

agent review {
    model: model.dear
    instruction: "Review: {{ agent.draft.text }}"

    output {
        text: string
    }
}

output {
    text: agent.review.text
}`,
    )
    await runToEnd(page)
    await tab(page, "Timeline")
    const row = page.getByRole("treeitem", { name: /^agent\.review/ })
    await says(row, / · cost 0\.00\d+/)
    assert.match((await row.getAttribute("title")) ?? "", /^cost 0\.00\d+, 9\d % of the run$/m)
    const widths = await page.locator(".bar-cost").evaluateAll((bars) => bars.map((bar) => bar.clientWidth))
    assert.equal(widths.length, 2)
    assert.ok((widths[0] ?? 0) > 0 && (widths[1] ?? 0) > 9 * (widths[0] ?? 0), String(widths))
    const complaints: string[] = []
    await lookAt(page, complaints)("timeline-costs")
    assert.deepEqual(complaints, [])
    await close()
  })

  test("a person goes back in the time of a run, and a new run goes on from there; changed steps say what they took before", async () => {
    const { page, close } = await playground.visit({ colorScheme: "light", reducedMotion: "reduce" })
    const complaints: string[] = []
    const see = lookAt(page, complaints, "back-")
    await write(page, slowChain(2))
    await runToEnd(page)
    const before = await page.evaluate(() => location.hash)

    // To its start, and on until the first step is done.
    const slider = page.getByRole("slider", { name: "Moment of the run" })
    const bar = page.getByRole("group", { name: "Looking back" })
    await hasCount(bar, 0)
    await slider.focus()
    await page.keyboard.press("Home")
    await says(bar, /At 0 ms: 0 of 2 steps done/)
    await status(page, /looking back: after 0 ms of/)
    await page.keyboard.press("PageUp")
    await says(bar, /At (?!0 ms)/)
    /** A fiftieth of the run at a time: on a busy machine one step may take much longer than the other. */
    const untilFirstIsDone = async (): Promise<void> => {
      const most = Number(await slider.getAttribute("max"))
      for (let part = 1; part < 50 && !/: 1 of 2/.test(await bar.innerText()); part++) {
        await slider.fill(String(Math.floor((most * part) / 50)))
      }
      await says(bar, /: 1 of 2 steps done/)
    }
    await untilFirstIsDone()
    await nodeSays(page, "agent.step1", /done/)
    await nodeSays(page, "agent.step2", /waiting|running/)
    await page.getByText("At this moment of the run there was no result yet.").waitFor()
    await see("moment")

    // The end, by its button; and a run from the moment.
    await bar.getByRole("button", { name: "Back to the end" }).click()
    await status(page, /completed in/)
    await hasCount(bar, 0)
    await slider.focus()
    await page.keyboard.press("Home")
    await bar.getByRole("button", { name: "Run on from here" }).waitFor()
    await untilFirstIsDone()
    await bar.getByRole("button", { name: "Run on from here" }).click()
    await page.waitForFunction((hash) => location.hash !== hash, before)
    await status(page, /completed in/)
    await nodeSays(page, "agent.step1", /reused/)
    await nodeSays(page, "agent.step2", /done/)

    // Another answer of the first step: the second one runs with it.
    const forked = await page.evaluate(() => location.hash)
    await node(page, "agent.step1").click()
    const details = page.getByRole("region", { name: "Details" })
    await details.getByRole("button", { name: "Change it and run on" }).click()
    const result = details.getByRole("textbox", { name: "Result of agent.step1 in the new run" })
    await result.fill("{ text: no }")
    await details.getByRole("button", { name: "Run on with it" }).click()
    await says(details.getByRole("alert"), /Not JSON/)
    await result.fill('{ "text": "copper" }')
    await see("change")
    await details.getByRole("button", { name: "Run on with it" }).click()
    await page.waitForFunction((hash) => location.hash !== hash, forked)
    await status(page, /completed in/)
    await details.getByRole("heading", { name: "Output, given" }).waitFor()
    await node(page, "agent.step2").click()
    await says(details.locator(".traced .of-step"), /^copper$/)
    await nodeSays(page, "agent.step2", /done/)
    await details.getByRole("button", { name: "Close details" }).click()

    // What an edit would cost, from all runs; in the nodes are the figures of the run that is shown.
    const figures = page.locator(".node .node-figures")
    const shownFigures = await figures.allTextContents()
    assert.match(shownFigures.join(), /\d+ tok/)
    await write(page, slowChain(2).replaceAll("in a word", "in two words"))
    await eventually(async () => {
      const first = await node(page, "agent.step1").getAttribute("aria-description")
      assert.match(first ?? "", /Would run: .*\. In 1 earlier run: [\d.]+ m?s · \d+ tok/)
      const second = await node(page, "agent.step2").getAttribute("aria-description")
      assert.match(second ?? "", /In 3 earlier runs: [\d.]+(?: m?s – |–)?[\d.]* ?m?s/)
    })
    assert.deepEqual(await figures.allTextContents(), shownFigures)
    const again = page.getByRole("button", { name: "Run 2 changed steps" })
    assert.match((await again.getAttribute("title")) ?? "", /In 1 earlier run: .*, one after the other$/)
    await see("expected")
    assert.deepEqual(complaints, [])
    await close()
  })
}
