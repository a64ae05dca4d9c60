import { test } from "node:test"
import { editor, hasCount, nodeSays, runToEnd, write, written } from "../actions.ts"
import { openServed } from "../served.ts"
import type { Playground } from "../open-playground.ts"

export function served(playground: Playground): void {
  test("the workflows of the server are opened read-only, run by name, and edited as a copy", async () => {
    const { page, close } = await playground.visit()
    await openServed(page, "tickets/triage")
    await written(page, /Sorts a ticket/)
    await write(page, "output { a: 1 }")
    await written(page, /Sorts a ticket/)
    await page.getByRole("textbox", { name: "name" }).fill("Ada")
    await runToEnd(page)
    await nodeSays(page, "agent.greeter", /done/)
    await page.getByRole("button", { name: "Edit a copy" }).click()
    await editor(page).focus()
    await write(page, "output { a: 1 }")
    await written(page, "output { a: 1 }")
    await hasCount(page.getByText("The server's workflow"), 0)
    await close()
  })
}
