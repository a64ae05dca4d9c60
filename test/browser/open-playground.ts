import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { after } from "node:test"
import type { Browser, BrowserContext, BrowserContextOptions, Page, Request } from "playwright-core"
import { startService } from "../cli/run-wire.ts"
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
  readonly browser: Browser
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
  /** Fails for what went wrong in the browser so far, then closes it. */
  readonly close: () => Promise<void>
}

/** Starts everything; it is taken down after the tests of this file. */
export async function openPlayground(env: Readonly<Record<string, string>> = {}): Promise<Playground> {
  const service = await startService(process.execPath, [builtWire, "serve"], {
    WIRE_STORE: "memory",
    WIRE_PORT: "0",
    WIRE_LOG_LEVEL: "error",
    ...env,
  })
  const browser = await launchBrowser()
  after(async () => {
    await browser.close()
    service.child.kill("SIGTERM")
    await service.ended
  })
  const { address } = service
  return { address, browser, visit: (options = {}) => visit(browser, options.address ?? address, options) }
}

async function visit(browser: Browser, address: string, options: VisitOptions): Promise<Visit> {
  const { expected, path = "/playground", says, address: _address, ...rest } = options
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...rest })
  context.setDefaultTimeout(120_000)
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
    page.getByRole("textbox", { name: "Workflow source" }).waitFor(),
  ])
  return {
    page,
    context,
    requests,
    close: async () => {
      const surprises = wrong.filter((text) => expected === undefined || !expected.test(text))
      await context.close()
      assert.deepEqual(surprises, [])
    },
  }
}

/** `BROWSER_SLOWDOWN=6` makes the page's own code six times slower: to find tests that depend on its speed. */
async function slowDown(page: Page): Promise<void> {
  const rate = Number(process.env["BROWSER_SLOWDOWN"] ?? 1)
  if (rate > 1) await (await page.context().newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate })
}
