import { LightSignal } from "../src/base/light-signal.ts"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { MemoryStore } from "../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import { compile } from "../src/compile.ts"
import { formatText } from "../src/syntax/format.ts"
import { assistantText } from "../src/log/messages.ts"
import type { ModelClient } from "../src/ports/model.ts"
import type { RunStore } from "../src/ports/store.ts"
import { defaultLimits } from "../src/run/context/run-context.ts"
import { Desk } from "../test/support/people.ts"
import { workflowOf } from "./language-sources.ts"
import { sqliteWithRuns } from "./stored-runs.ts"

// What one more costs at each size: an item of a loop, a step, a kilobyte of source, a run beside others that wait, a run beside others that
// are stored. CPU of the whole process, and how many times that of the smallest size it is. Flat is at most 1.3 times.
//   npm run bench -- growth [loop|steps|source|waiting|stored] [MOST]

const [only, bound] = process.argv.slice(2)
const most = bound === undefined ? Number.POSITIVE_INFINITY : Number(bound)
const flat = 1.3

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const provider = `provider p from openai { endpoint: "https://model.test/v1" }
model m from p { id: "m-1" }`
const usage = {
  input_tokens: 812,
  output_tokens: 95,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: null,
}
const output = { s: "The owls were asleep." }

const model: ModelClient = {
  turn: () =>
    Promise.resolve({ kind: "output", output, message: assistantText(JSON.stringify(output)), calls: [], usage }),
}

const limits = { ...defaultLimits, maxIterations: 1_000_000, keptBytes: 4e9, logBytes: 4e9, valueBytes: 1e9 }
const settings = { maxRuns: 200, maxQueued: 1000, maxWaiting: 1_000_000, leaseMs: 600_000, limits }

function desk(source: string, store: RunStore = new MemoryStore(systemClock)): Desk {
  return new Desk(source, { model, store, settings: { ...settings, limits: { ...limits, outputBytes: 1e9 } } })
}

/** Milliseconds of CPU. */
async function cpuOf(work: () => unknown): Promise<number> {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

interface Row {
  readonly size: number
  /** Milliseconds of CPU that one more costs. */
  readonly more: number
}

function print(name: string, one: string, rows: readonly Row[]): void {
  const first = rows[0]?.more ?? Number.NaN
  console.log(name)
  for (const { size, more } of rows) {
    const ratio = more / first
    const verdict = ratio > flat ? "  over" : ""
    console.log(
      `  ${size.toLocaleString("en").padStart(9)}: ${(more * 1000).toFixed(1).padStart(9)} µs ${one}, ${ratio.toFixed(2)} times${verdict}`,
    )
  }
}

/** What one more costs between two sizes: all sizes are measured in turns, so that a busy machine slows down all of them. */
async function growing(name: string, one: string, sizes: readonly number[], make: (size: number) => () => unknown) {
  const taken = sizes.filter((size) => size <= most)
  const works = taken.map((size) => make(size))
  const found = taken.map((): number[] => [])
  const largest = taken.at(-1) ?? 0
  for (let round = 0; round < 6; round++) {
    for (const [at, work] of works.entries()) {
      // Small sizes are done more than once, so that each is long enough to be measured. The first round only compiles.
      const times = Math.ceil(Math.min(largest / 10 / (taken[at] ?? 1), 100))
      collect()
      const ms = await cpuOf(async () => {
        for (let time = 0; time < times; time++) await work()
      })
      if (round > 0) found[at]?.push(ms / times)
    }
  }
  const rows: Row[] = []
  for (let at = 1; at < taken.length; at++) {
    const [small = 0, large = 0] = [taken[at - 1], taken[at]]
    // The difference of each round: both were measured within moments.
    const each = (found[at] ?? []).map((ms, round) => (ms - (found[at - 1]?.[round] ?? 0)) / (large - small))
    rows.push({ size: large, more: median(each) })
  }
  print(name, one, rows)
}

/** What the same work costs beside so many others. */
async function beside(
  name: string,
  sizes: readonly number[],
  make: (size: number) => Promise<{ readonly work: () => Promise<unknown>; readonly close: () => Promise<void> }>,
) {
  const taken = sizes.filter((size) => size <= most)
  const works: Awaited<ReturnType<typeof make>>[] = []
  for (const size of taken) works.push(await make(size))
  const found = taken.map((): number[] => [])
  for (let round = 0; round < 40; round++) {
    for (const [at, { work }] of works.entries()) {
      const ms = await cpuOf(async () => {
        for (let time = 0; time < 10; time++) await work()
      })
      if (round >= 10) found[at]?.push(ms / 10)
    }
  }
  for (const { close } of works) await close()
  print(
    name,
    "a run",
    taken.map((size, at) => ({ size, more: median(found[at] ?? []) })),
  )
}

async function toEnd(on: Desk, input = {}): Promise<void> {
  const run_id = await on.start({ input })
  const end = await on.runs.ending(run_id, new LightSignal())
  if (end?.type !== "workflow_completed") throw new Error(JSON.stringify(end))
}

/** Leaves nothing behind in the store, so that each run has the same heap. */
async function toEndAndGone(on: Desk, input = {}): Promise<void> {
  await toEnd(on, input)
  await on.store.sweep(Number.MAX_SAFE_INTEGER)
}

const folder = mkdtempSync(join(tmpdir(), "wireworks-growth-"))
let databases = 0
const masterKey = createMasterKey(randomBytes(32))

const parts: Readonly<Record<string, () => Promise<void>>> = {
  async loop() {
    const on = desk(`input { items: [string] }
${provider}
agent each for item in input.items { model: model.m  instruction: "Review {{ item }}"  output { s: string } }
output { said: agent.each.*.s }`)
    await growing("Items of a loop", "an item", [1000, 3000, 10_000, 30_000, 100_000], (size) => {
      const items = Array.from({ length: size }, (_, at) => `item ${at}`)
      return () => toEndAndGone(on, { items })
    })
    await on.close()
  },

  async steps() {
    const shapes = {
      "Steps side by side": () => "x",
      "Steps one after the other": (at: number) => (at === 0 ? "x" : `{{ agent.a${at - 1}.s }}`),
    }
    for (const [name, instruction] of Object.entries(shapes)) {
      await growing(name, "a step", [10, 100, 1000, 3000, 10_000], (size) => {
        const agents = Array.from({ length: size }, (_, at) => {
          return `agent a${at} { model: model.m instruction: "${instruction(at)}" output { s: string } }`
        })
        const on = desk(`${provider}\n${agents.join("\n")}\noutput { said: agent.a${size - 1}.s }`)
        return () => toEndAndGone(on)
      })
    }
  },

  async source() {
    const sizes = [1, 10, 30, 100, 300, 1000]
    const sourceOf = (kilobytes: number): string => {
      const perLine = workflowOf(2000).length / 2000
      return workflowOf(Math.round((kilobytes * 1000) / perLine))
    }
    await growing("Sources: read, checked and planned", "a kB", sizes, (size) => {
      const source = sourceOf(size)
      return () => {
        if (compile(source).plan === undefined) throw new Error("The source has a mistake")
      }
    })
    await growing("Sources: formatted", "a kB", sizes, (size) => {
      const source = sourceOf(size)
      return () => formatText(source)
    })
  },

  async waiting() {
    const source = `ask review { question: "Publish?"  output { publish: boolean } }
output { publish: ask.review.publish }`
    for (const kind of ["memory", "SQLite"]) {
      await beside(`Runs that wait for people, ${kind}`, [10, 100, 1000, 10_000], async (size) => {
        const path = join(folder, `${++databases}.db`)
        const store =
          kind === "memory"
            ? new MemoryStore(systemClock)
            : await openSqliteStore({ path, masterKey, clock: systemClock })
        const on = await desk(source, store).open()
        const park = async (): Promise<string> => {
          const run_id = await on.start()
          const end = await on.runs.ending(run_id, new LightSignal())
          if (end?.type !== "run_waiting") throw new Error(JSON.stringify(end))
          return run_id
        }
        for (let run = 0; run < size; run += 100) await Promise.all(Array.from({ length: Math.min(100, size) }, park))
        const work = async (): Promise<void> => {
          const run_id = await park()
          const { found } = await store.questions.ofRun(run_id, 1, null)
          await on.answer(run_id, found[0]?.question, { publish: true })
          await on.end(run_id)
        }
        const close = async (): Promise<void> => {
          await on.close()
          await store.close()
        }
        return { work, close }
      })
    }
  },

  async stored() {
    const source = `${provider}
agent a { model: model.m  instruction: "x"  output { s: string } }
output { said: agent.a.s }`
    await beside("Stored runs, memory", [1000, 10_000, 100_000], async (size) => {
      const on = desk(source)
      for (let run = 0; run < size; run += 100) await Promise.all(Array.from({ length: 100 }, () => toEnd(on)))
      return { work: () => toEnd(on), close: () => on.close() }
    })
    await beside("Stored runs, SQLite", [1000, 10_000, 100_000, 1_000_000], async (size) => {
      const path = join(folder, `${++databases}.db`)
      const store = await sqliteWithRuns(path, masterKey, size)
      const on = desk(source, store)
      const close = async (): Promise<void> => {
        await on.close()
        await store.close()
      }
      return { work: () => toEnd(on), close }
    })
  },
}

try {
  for (const [name, measure] of Object.entries(parts)) if (only === undefined || only === name) await measure()
} finally {
  rmSync(folder, { recursive: true })
}
