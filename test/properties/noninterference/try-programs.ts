import { allEmphases } from "./random-program.ts"
import { tryProgram } from "./try-program.ts"

// `node try-programs.ts SEED COUNT [--stop-at-first] [--emphasis=NAME]`: tries programs from a seed on, and prints what is wrong.

const [seed = 0, count = 1000] = process.argv.slice(2).map(Number)
const named = process.argv.find((one) => one.startsWith("--emphasis="))?.slice("--emphasis=".length)
const emphasis = allEmphases.find((one) => one === named)
const stops = process.argv.includes("--stop-at-first")
const started = performance.now()
let accepted = 0
let runs = 0
let compared = 0
let wrong = 0
for (let at = 0; at < count; at++) {
  const tried = await tryProgram(seed + at, emphasis)
  accepted += tried.isAccepted ? 1 : 0
  runs += tried.runs
  compared += tried.compared
  if (tried.wrong.length > 0) {
    wrong++
    console.log(`seed ${seed + at}, after ${at + 1} programs: ${tried.wrong.join("; ")}`)
    if (stops) break
  }
  if ((at + 1) % 500 === 0 || at + 1 === count) {
    const seconds = Math.round((performance.now() - started) / 1000)
    console.log(
      `${at + 1} programs in ${seconds} s, ${accepted} accepted, ${runs} runs, ${compared} calls compared, ${wrong} wrong`,
    )
  }
}
