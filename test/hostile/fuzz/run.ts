import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fuzz } from "./fuzz.ts"
import { targets } from "./targets.ts"

// `npm run fuzz [-- COUNT [SEED [NAME]]]`: so many inputs in all, shared among the targets (or those whose name contains NAME).
// Findings go to `.cache/fuzz/`.

const [count = "100000", seed = String(Date.now() % 1_000_000), name = ""] = process.argv.slice(2)
const chosen = targets.filter((target) => target.name.includes(name))
const each = Math.ceil(Number(count) / chosen.length)
const folder = join(import.meta.dirname, "..", "..", "..", ".cache", "fuzz")
/** Inputs in a row: a fresh start now and then makes other families. */
const perRound = 2000
let findings = 0

for (const target of chosen) {
  const total = { inputs: 0, characters: 0, cpuMs: 0, slowestMs: 0 }
  for (let round = 0; total.inputs < each; round++) {
    const figures = await fuzz(target, Number(seed) + round, Math.min(perRound, each - total.inputs), (finding) => {
      findings++
      mkdirSync(folder, { recursive: true })
      const file = join(folder, `${target.name.replaceAll(" ", "-")}-${finding.seed}-${finding.index}.json`)
      writeFileSync(file, JSON.stringify(finding, null, 2))
      console.log(`FOUND ${finding.error === null ? `${finding.ms} ms` : finding.error.split("\n")[0]}: ${file}`)
    })
    total.inputs += figures.inputs
    total.characters += figures.characters
    total.cpuMs += figures.cpuMs
    total.slowestMs = Math.max(total.slowestMs, figures.slowestMs)
  }
  const perKb = total.cpuMs / (total.characters / 1000)
  console.log(
    `${target.name}: ${total.inputs} inputs, ${Math.round(total.characters / 1e6)} MB, ${perKb.toFixed(3)} ms/KB, slowest ${total.slowestMs.toFixed(1)} ms`,
  )
}
console.log(`seed ${seed}: ${findings} findings`)
process.exitCode = findings === 0 ? 0 : 1
