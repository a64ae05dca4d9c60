import { availableParallelism } from "node:os"
import { checks } from "./checks.ts"
import { runCheck } from "./run-check.ts"

// Runs all checks side by side, or those of the parts that are named: types, lint, format, layers, docs, prose.

const parts = process.argv.slice(2)
const unknown = parts.filter((part) => !checks.some((check) => check.part === part))
if (unknown.length > 0) {
  console.error(
    `No such check: ${unknown.join(", ")}. There are: ${[...new Set(checks.map(({ part }) => part))].join(", ")}.`,
  )
  process.exit(2)
}

const left = checks.filter(({ part }) => parts.length === 0 || parts.includes(part))
async function work(): Promise<void> {
  for (let check = left.shift(); check !== undefined; check = left.shift()) {
    const { passed, printed } = await runCheck(check)
    console.log(passed ? `${check.name}: passed` : `${check.name}: failed\n${printed}`)
    if (!passed) process.exitCode = 1
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work))
