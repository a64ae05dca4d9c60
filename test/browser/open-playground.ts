import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import type { TestContext } from "node:test"
import { after, getTestContext } from "node:test"
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from "playwright-core"
import type { Started } from "../cli/run-wire.ts"
import { startService } from "../cli/run-wire.ts"
import { atEnd } from "../support/at-end.ts"
import { builtWire } from "../support/built-wire.ts"
import { launchBrowser } from "./launch.ts"

const root = dirname(dirname(import.meta.dirname))

/** Where screenshots go; git ignores it. */
export const screenshots = join(root, "screenshots")
mkdirSync(screenshots, { recursive: true })

/** The built service with its playground, and a real browser in front of it. */
export interface Playground {
  /** `http://127.0.0.1:…` */
  readonly address: string
  /** A first visit: a browser that has never been here. Fails afterwards for any console error or foreign request. */
  readonly visit: (options?: VisitOptions) => Promise<Visit>
}

export interface VisitOptions extends BrowserContextOptions {
  /** Another address than the service's own, of a proxy in between. */
  readonly address?: string
  /** Errors that the visit provokes on purpose. */
  readonly expected?: RegExp
  readonly path?: string
  /** A sentence that the page shows for a few seconds when it opens. */
  readonly says?: string
}

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** Every request that the page has made. */
  readonly requests: readonly Request[]
  /** Fails for what went wrong in the browser so far, and closes the page. */
  readonly close: () => Promise<void>
}

let browser: Promise<Browser> | undefined

/** One for all tests of the file: each visit has its own storage. */
function sharedBrowser(): Promise<Browser> {
  browser ??= launchBrowser()
  atEnd(async () => (await browser)?.close())
  return browser
}

/** Starts a service, and the browser unless it runs; both end after the tests. `usual` is what visits have unless they say otherwise. */
export async function openPlayground(
  env: Readonly<Record<string, string>> = {},
  usual: VisitOptions = {},
): Promise<Playground> {
  const service = await startService(process.execPath, [builtWire, "serve"], {
    WIRE_STORE: "memory",
    WIRE_PORT: "0",
    ...env,
  })
  after(async () => {
    service.child.kill("SIGTERM")
    await service.ended
  })
  const visits = await sharedBrowser()
  return { address: service.address, visit: (options = {}) => visit(visits, service, { ...usual, ...options }) }
}

async function visit(from: Browser, service: Started, options: VisitOptions): Promise<Visit> {
  const { expected, path = "/playground", says, address = service.address, ...rest } = options
  const context = await from.newContext({ viewport: { width: 1440, height: 900 }, ...rest })
  context.setDefaultTimeout(120_000)
  reportFailure(context, service)
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: address })
  const page = await context.newPage()
  await slowDown(page)
  const wrong: string[] = []
  const requests: Request[] = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") wrong.push(message.text())
  })
  page.on("pageerror", (error) => wrong.push(String(error)))
  page.on("request", (request) => {
    requests.push(request)
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith("http") && origin !== address) wrong.push(`A request to ${request.url()}`)
  })
  await Promise.all([
    ...(says === undefined ? [] : [page.getByText(says).waitFor()]),
    page.goto(`${address}${path}`),
    path.startsWith("/console")
      ? page.getByRole("navigation", { name: "Pages" }).waitFor()
      : page.getByRole("textbox", { name: "Workflow source" }).waitFor(),
  ])
  return {
    page,
    context,
    requests,
    close: async () => {
      const surprises = wrong.filter((text) => expected === undefined || !expected.test(text))
      assert.deepEqual(surprises, [])
      await context.close()
    },
  }
}

let pictures = 0

/** After the test that made the visit: if it has failed, names a picture of each page, and prints what the service has logged since. */
export function reportFailure(context: BrowserContext, service: Started): void {
  // Node's types do not know `passed` yet.
  const test = getTestContext() as (TestContext & { readonly passed: boolean }) | undefined
  if (test === undefined) throw new Error("A visit belongs to a test")
  const before = service.output().length
  test.after(async () => {
    if (!test.passed) {
      for (const page of context.pages()) {
        const name = test.name.replace(/\W+/g, "-").slice(0, 60)
        const path = join(screenshots, `failed-${name}-${++pictures}.png`)
        const outcome = await page.screenshot({ path, timeout: 30_000 }).then(() => path, String)
        console.error(`"${test.name}" failed at ${page.url()}: ${outcome}`)
      }
      console.error(`The service's log of "${test.name}":\n${service.output().slice(before)}`)
    }
    await context.close()
  })
}

/** `BROWSER_SLOWDOWN=6` makes the page's own code six times slower: to find tests that depend on its speed. */
async function slowDown(page: Page): Promise<void> {
  const rate = Number(process.env["BROWSER_SLOWDOWN"] ?? 1)
  if (rate > 1) await (await page.context().newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate })
}
