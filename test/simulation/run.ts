import { simulate } from "./history.ts"

// `npm run simulate [-- COUNT [FIRST]]`: histories with the seeds FIRST, FIRST + 1 …. A history that goes wrong is printed with its
// diary, and `npm run simulate -- 1 SEED` gives exactly that history again.

const [count = "1000", first = "1"] = process.argv.slice(2)
const total = { runs: 0, events: 0, calls: 0, crashes: 0, resumed: 0, completed: 0 }
const started = performance.now()
let failed = 0
for (let at = 0; at < Number(count); at++) {
  const { seed, problems, diary, figures } = await simulate(Number(first) + at)
  for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += figures[key]
  if (problems.length === 0) {
    if (Number(count) === 1) console.log(diary.join("\n"))
    continue
  }
  failed++
  if (failed <= 3 || Number(count) === 1) console.log(`\nseed ${seed}\n${diary.join("\n")}\n`)
  console.log(`seed ${seed}: ${problems.slice(0, 5).join("\n    ")}`)
  if (failed >= 20) break
}
const seconds = (performance.now() - started) / 1000
console.log(`${count} histories in ${seconds.toFixed(1)} s, ${failed} went wrong: ${JSON.stringify(total)}`)
process.exitCode = failed === 0 ? 0 : 1
