import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { builtWire } from "../test/support/built-wire.ts"

// CPU of one start of the command, in turns with a start of Node that does nothing. `npm run bench -- start [OTHER/wire.js [ROUNDS]]`
// also starts the bundle of another version, and prints how many times as much this one takes.

const [other, rounds = "20"] = process.argv.slice(2)

const folder = mkdtempSync(join(tmpdir(), "wireworks-bench-start-"))
const workflow = join(folder, "hello.wire")
writeFileSync(
  workflow,
  `input { name: string }
provider demo from openai { endpoint: "demo" }
model small from demo { id: "demo" }
agent reply { model: model.small  instruction: "Greet {{ input.name }}."  output { message: string } }
output { message: agent.reply.message }
`,
)

const commands: Readonly<Record<string, readonly string[]>> = {
  "wire --version": ["--version"],
  "wire --help": ["--help"],
  "wire check": ["check", workflow],
  "wire run": ["run", workflow, "--set", "name=Ada"],
}

/** Milliseconds of CPU of all processes that have ended, which Linux counts in hundredths of a second. */
function ofEnded(): number {
  const [, fields = ""] = /^.*\) (.*)$/s.exec(readFileSync("/proc/self/stat", "utf8")) ?? []
  const values = fields.split(" ").map(Number)
  return 10 * ((values[13] ?? 0) + (values[14] ?? 0))
}

function cpuOf(args: readonly string[]): number {
  const before = ofEnded()
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}:\n${stderr}`)
  return ofEnded() - before
}

const bundles = other === undefined ? [builtWire] : [builtWire, other]
/** Milliseconds of each start, by the name of the command. */
const taken = new Map<string, number[]>()
// The first round fills the caches of compiled code.
for (let round = 0; round <= Number(rounds); round++) {
  const measure = (name: string, args: readonly string[]): void => {
    const ms = cpuOf(args)
    if (round > 0) taken.set(name, [...(taken.get(name) ?? []), ms])
  }
  measure("node", ["-e", "0"])
  for (const [name, args] of Object.entries(commands)) {
    for (const [index, bundle] of bundles.entries())
      measure(`${name}${index === 0 ? "" : ", other"}`, [bundle, ...args])
  }
}
rmSync(folder, { recursive: true })

const mean = (name: string): number => {
  const all = taken.get(name) ?? []
  return all.reduce((sum, ms) => sum + ms, 0) / all.length
}
console.log(`node alone: ${mean("node").toFixed(0)} ms of CPU`)
for (const name of Object.keys(commands)) {
  const own = mean(name)
  const compared = other === undefined ? "" : `, ${(own / mean(`${name}, other`)).toFixed(2)} times the other`
  console.log(`${name}: ${own.toFixed(0)} ms, ${(own / mean("node")).toFixed(1)} times node alone${compared}`)
}
