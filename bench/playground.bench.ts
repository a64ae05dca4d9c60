import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import type { Browser, Page } from "playwright-core"
import { build } from "../scripts/build.mjs"
import { launchBrowser } from "../test/browser/launch.ts"
import { lineCount, workflowOf } from "./language-sources.ts"
import { thousandSteps } from "../test/support/thousand-steps.ts"

// What the playground costs its visitor: bytes over the wire, time to the first paint and until it can be used, main-thread
// time of a key in files of 500, 3,000 and 5,000 lines with the longest task among them, and frames per second while a loop of 1,000
// iterations draws itself. The floors, in the same run: a key in the eight lines of an empty workflow, and the frames of the page
// when nothing happens.

const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-"))
await build(folder)

const service = spawn(process.execPath, [join(folder, "wire.js"), "serve"], {
  env: { ...process.env, WIRE_STORE: "memory", WIRE_PORT: "0", WIRE_LOG_LEVEL: "error" },
  stdio: ["ignore", "pipe", "inherit"],
})
async function listening(): Promise<string> {
  for await (const line of createInterface(service.stdout)) {
    const found = /listens on (\S+)/.exec(line)?.[1]
    if (found !== undefined) return found
  }
  throw new Error("The service did not start")
}

async function open(from: Browser, address: string): Promise<Page> {
  const page = await from.newPage({ viewport: { width: 1440, height: 900 } })
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await page.goto(`${address}/playground`)
  await page.getByRole("textbox", { name: "Workflow source" }).waitFor()
  return page
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

// ------------------------------------------------------------------------------------------------------------ size

function sizes(): string {
  const files = readdirSync(join(folder, "playground")).filter((name) => /\.(js|css)$|^index\.html$/.test(name))
  const page = readFileSync(join(folder, "playground", "index.html"), "utf8")
  const isFirst = (name: string): boolean => name === "index.html" || page.includes(`"playground/${name}"`)
  const row = (name: string, of: readonly string[]): string => {
    const sums = ["", ".gz", ".br"].map((ending) =>
      of.reduce((sum, file) => sum + statSync(join(folder, "playground", `${file}${ending}`)).size / 1_000, 0),
    )
    return `${name.padEnd(12)}${sums.map(kb).join("")}`
  }
  const rows = [
    row("at first", files.filter(isFirst)),
    row(
      "later",
      files.filter((name) => !isFirst(name)),
    ),
  ]
  return ["kB          plain    gzip  brotli", ...rows, ""].join("\n")
}

function kb(value = 0): string {
  return value.toFixed(1).padStart(8)
}

// -------------------------------------------------------------------------------------------------------- start-up

/** Times of visits with an empty cache. */
async function startUp(from: Browser, address: string): Promise<string> {
  const paints: number[] = []
  const ready: number[] = []
  for (let visit = 0; visit < 7; visit++) {
    const context = await from.newContext({ viewport: { width: 1440, height: 900 } })
    const page = await context.newPage()
    await page.goto(`${address}/playground`)
    await page.getByRole("button", { name: "Run", exact: true }).waitFor()
    const times = await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
      ready: performance.getEntriesByName("wireworks-ready")[0]?.startTime ?? Number.NaN,
    }))
    paints.push(times.paint)
    ready.push(times.ready)
    await context.close()
  }
  return [
    "ms from the navigation, median of 7 first visits",
    `first paint       ${median(paints).toFixed(0).padStart(6)}`,
    `can be used       ${median(ready).toFixed(0).padStart(6)}`,
    "",
  ].join("\n")
}

// ------------------------------------------------------------------------------------------------------------ keys

const empty = 'output {\n    text: ""\n}\n\n\n\n\n\n'

async function keys(from: Browser, address: string): Promise<string> {
  const rows = ["a key               lines   main thread ms a key   after the last, ms   longest task, ms   over 50 ms"]
  for (const [name, source] of [
    ["floor", empty],
    ["500 lines", workflowOf(500)],
    ["3,000 lines", workflowOf(3_000)],
    ["5,000 lines", workflowOf(5_000)],
  ] as const) {
    const page = await open(from, address)
    await page.getByRole("textbox", { name: "Workflow source" }).focus()
    await page.keyboard.press("ControlOrMeta+a")
    await page.evaluate((text) => navigator.clipboard.writeText(text), source)
    await page.keyboard.press("ControlOrMeta+v")
    await page.keyboard.press("ControlOrMeta+Home")
    await settled(page)
    const session = await page.context().newCDPSession(page)
    await session.send("Performance.enable", { timeDomain: "threadTicks" })
    const spent = async (): Promise<number> => {
      const { metrics } = await session.send("Performance.getMetrics")
      return (metrics.find(({ name: metric }) => metric === "TaskDuration")?.value ?? 0) * 1_000
    }
    const typed = "// a comment that somebody types in one go, without a pause"
    const before = await spent()
    await page.keyboard.type(typed)
    const during = await spent()
    await settled(page)
    const after = await spent()
    const tasks = await tasksWhile(from, page, async () => {
      await page.keyboard.press("ControlOrMeta+End")
      // Each pause is long enough for a check, each word changes the plan.
      await page.keyboard.type('\ndynamic {\n    typed: "{{ input.title }}"\n', { delay: 150 })
      await settled(page)
    })
    const figures = [
      String(lineCount(source)).padStart(9),
      ((during - before) / typed.length).toFixed(2).padStart(23),
      (after - during).toFixed(1).padStart(21),
      Math.max(0, ...tasks)
        .toFixed(1)
        .padStart(19),
      String(tasks.filter((took) => took > 50).length).padStart(13),
    ]
    rows.push(`${name.padEnd(16)}${figures.join("")}`)
    await page.close()
  }
  return [...rows, ""].join("\n")
}

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** Microseconds of the thread's own time: what other processes took of the machine does not count. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** How long each task of the page's main thread took, in ms of the thread's time. */
async function tasksWhile(from: Browser, page: Page, work: () => Promise<void>): Promise<number[]> {
  await from.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] })
  await work()
  const { traceEvents } = JSON.parse((await from.stopTracing()).toString()) as { traceEvents: readonly TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`
  const isMain = ({ name, args }: TraceEvent): boolean => name === "thread_name" && args.name === "CrRendererMain"
  const main = new Set(traceEvents.filter(isMain).map(threadOf))
  return traceEvents
    .filter((event) => event.name === "RunTask" && main.has(threadOf(event)))
    .map(({ tdur = 0 }) => tdur / 1_000)
}

/** Resolves when the page has had nothing to do for a while. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        let calm = 0
        let last = performance.now()
        const look = (): void => {
          const now = performance.now()
          calm = now - last < 50 ? calm + (now - last) : 0
          last = now
          if (calm > 1_500) resolve()
          else setTimeout(look, 20)
        }
        look()
      }),
  )
}

// ---------------------------------------------------------------------------------------------------------- frames

interface FrameCount {
  readonly seconds: number
  readonly perSecond: number
  /** Frames in the slowest whole second. */
  readonly worst: number
  /** The longest time between two frames. */
  readonly longest: number
}

async function frames(from: Browser, address: string): Promise<string> {
  const page = await open(from, address)
  const idle = await watchFrames(page, () => page.waitForTimeout(3_000))
  await page.getByRole("textbox", { name: "Workflow source" }).focus()
  await page.keyboard.press("ControlOrMeta+a")
  await page.evaluate((text) => navigator.clipboard.writeText(text), thousandSteps)
  await page.keyboard.press("ControlOrMeta+v")
  await page.getByRole("button", { name: "JSON" }).click()
  const items = JSON.stringify({ items: Array.from({ length: 1_000 }, (_, at) => at) })
  await page.getByRole("textbox", { name: "Input as JSON" }).fill(items)
  await page.getByRole("button", { name: "Form", exact: true }).click()
  await page.getByRole("tab", { name: "Secrets" }).click()
  await settled(page)
  const run = await watchFrames(page, async () => {
    await page.getByRole("button", { name: "Run", exact: true }).click()
    await page.locator(".status", { hasText: /completed in/ }).waitFor({ timeout: 120_000 })
  })
  const rows = await page.locator(".axis-name").innerText()
  const row = (name: string, { seconds, perSecond, worst, longest }: FrameCount): string =>
    `${name.padEnd(24)}${seconds.toFixed(1).padStart(8)}${perSecond.toFixed(1).padStart(14)}${worst.toFixed(1).padStart(16)}${longest.toFixed(0).padStart(16)}`
  await page.close()
  return [
    `frames                   seconds   a second, mean   slowest second   longest gap, ms   (${rows})`,
    row("floor: nothing happens", idle),
    row("1,000 iterations", run),
    "",
  ].join("\n")
}

async function watchFrames(page: Page, work: () => Promise<unknown>): Promise<FrameCount> {
  await page.evaluate(() => {
    const times: number[] = []
    const watch = (time: number): void => {
      times.push(time)
      requestAnimationFrame(watch)
    }
    Object.assign(window, { frameTimes: times })
    requestAnimationFrame(watch)
  })
  await work()
  const times = await page.evaluate(() => [...(window as unknown as { frameTimes: number[] }).frameTimes])
  const [first = 0] = times
  const last = times.at(-1) ?? first
  const seconds = (last - first) / 1_000
  const perWhole = new Map<number, number>()
  for (const time of times) {
    const second = Math.floor((time - first) / 1_000)
    perWhole.set(second, (perWhole.get(second) ?? 0) + 1)
  }
  const whole = [...perWhole].filter(([second]) => second < Math.floor(seconds)).map(([, count]) => count)
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time))
  return {
    seconds,
    perSecond: times.length / seconds,
    worst: whole.length === 0 ? times.length / seconds : Math.min(...whole),
    longest: Math.max(0, ...gaps),
  }
}

// ------------------------------------------------------------------------------------------------------------- run

const browser = await launchBrowser()
try {
  const address = await listening()
  console.log(sizes())
  console.log(await startUp(browser, address))
  console.log(await keys(browser, address))
  console.log(await frames(browser, address))
} finally {
  await browser.close()
  service.kill("SIGTERM")
  rmSync(folder, { recursive: true })
}
