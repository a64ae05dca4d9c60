import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { atEnd } from "../support/at-end.ts"
import { slowChain } from "./actions.ts"

/** A folder of workflows for `WIRE_WORKFLOWS`: `tickets/triage`, `slowly`, `daily` with its triggers, `caller` that calls `parts`, and one that does not compile. */
export function servedFolder(slowly = slowChain(1)): string {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-served-"))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const hello = readFileSync(join(import.meta.dirname, "..", "..", "examples", "hello.wire"), "utf8")
  mkdirSync(join(folder, "tickets"))
  writeFileSync(join(folder, "tickets", "triage.wire"), `// Sorts a ticket.\n${hello}`)
  writeFileSync(join(folder, "slowly.wire"), slowly)
  writeFileSync(join(folder, "daily.wire"), daily)
  writeFileSync(join(folder, "parts.wire"), parts)
  writeFileSync(
    join(folder, "caller.wire"),
    'workflow inner from "./parts.wire"\ndynamic { r: call workflow.inner { input { n: 4 } } }\noutput { r: dynamic.r }\n',
  )
  writeFileSync(join(folder, "broken.wire"), "agent {\n")
  return folder
}

const parts = `input { n: integer }

provider p from openai { endpoint: "demo" }
model m from p { id: "demo" }

agent say { model: model.m  instruction: "Say {{ input.n }}."  output { text: string } }

output { twice: input.n * 2
 text: agent.say.text }
`

const daily = `input { day: string }
secrets { hook_secret: string }

schedule mornings {
    cron: "0 9 * * 1-5"
    timezone: "Europe/Berlin"

    input { day: due.date }
}

webhook asked {
    verify: github
    secret: secrets.hook_secret

    input { day: body.day }
}

output { day: input.day }
`

export async function openServed(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "Open", exact: true }).click()
  await page.getByRole("menuitemradio", { name: new RegExp(`^${name}`) }).click()
  await page.getByText(`The server's workflow ${name}`).waitFor()
}
