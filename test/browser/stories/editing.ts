import assert from "node:assert/strict"
import { test } from "node:test"
import {
  cursorAt,
  editor,
  hasAttribute,
  hasFocus,
  pointAt,
  refused,
  run,
  runToEnd,
  says,
  write,
  written,
} from "../actions.ts"
import { greeter } from "../greeter.ts"
import type { Playground } from "../open-playground.ts"
import { soakTest } from "../../support/strength.ts"

export function editing(playground: Playground): void {
  test("the editor reports what is wrong while one types, where, and with a hint", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter.replace("agent.greeter.greeting", "agent.greter.greeting"))
    await page.getByRole("button", { name: "1 problem" }).click()
    const problem = page.getByRole("region", { name: "Problems" }).getByRole("listitem")
    await says(problem, /25:21\s+Unknown reference: agent\.greter\.greeting/)
    await says(problem, /Did you mean agent\.greeter\.greeting\?/)
    const tooltip = page.locator(".cm-tooltip-lint", { hasText: "Did you mean agent.greeter.greeting?" })
    await pointAt(page, () => editor(page).locator(".cm-lintRange-error").hover(), tooltip)
    // A press of Run says the same and goes there.
    await refused(page, () => run(page), /^Not started: 1 error in the source\. Unknown reference/)
    await problem.getByRole("button", { name: /Unknown reference/ }).click()
    await page.keyboard.type("greeter.greeting")
    await page.getByText("No problems").waitFor()
    await close()
  })

  test("the editor completes roots, fields and types with what is there", async () => {
    const { page, close } = await playground.visit()
    await write(page, greeter)
    await cursorAt(page, "greeter.greeting")
    await page.keyboard.press("Shift+End")
    const options = page.getByRole("option")
    const choose = async (typed: string, name: RegExp): Promise<void> => {
      await page.keyboard.type(typed)
      await options.filter({ hasText: name }).first().waitFor()
      // The list takes keys only once it has stood for a moment, so that nobody picks by accident.
      await page.waitForFunction(() => {
        const host = document.querySelector(".editor")?.shadowRoot
        return host?.querySelector("[aria-selected=true]") !== null
      })
      await options.filter({ hasText: name }).first().click()
    }
    await choose("gre", /^greeter/)
    await page.keyboard.type(".")
    await says(options.filter({ hasText: /^mood/ }), /maybe string/)
    await choose("gr", /^greeting/)
    await written(page, greeter)
    await close()
  })

  soakTest("a value of the input that does not fit is reported at its field, and nothing is sent", async () => {
    const { page, requests, close } = await playground.visit()
    await write(page, "input {\n    count: integer\n}\n\noutput {\n    count: input.count\n}\n")
    const field = page.getByRole("textbox", { name: "count integer" })
    await field.fill("3.5")
    await page
      .locator(".form-field", { hasText: "count" })
      .getByText(/expected.* integer/i)
      .waitFor()
    await refused(page, () => run(page))
    await hasFocus(field)
    await hasAttribute(field, "aria-invalid", "true")
    assert.deepEqual(
      requests.filter((request) => request.url().endsWith("/execute")),
      [],
    )
    await field.fill("3")
    await runToEnd(page)
    await close()
  })
}
