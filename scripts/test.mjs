// `npm test [-- PATTERN]`: installs what is missing, then runs everything that protects a change as one run of Node's test runner.
// PATTERN takes the test files whose path contains it or, if there are none, the tests whose name matches it. `npm run soak` runs the rest.

import { relative } from "node:path"
import { spec } from "node:test/reporters"
import { handOver, main, root, SetupError } from "./setup.mjs"
import { allFiles, entries, hasFailed, inProcesses, isSoakOnly, isTest, prepare, start } from "./suite.mjs"

await main(async () => {
  const handedOver = await handOver()
  if (handedOver !== null) return handedOver
  const { files, namePattern } = select(process.argv.slice(2))
  await prepare(files)
  const { code, count, skipped } = await runTests(files, namePattern)
  if (code === 0 && count === 0) throw new SetupError(`No test matches ${namePattern}.`)
  if (skipped.length > 0) console.error(`\nSkipped:\n${skipped.map((line) => `  ${line}`).join("\n")}`)
  return code
})

/** @param {readonly string[]} files @param {string | null} namePattern */
async function runTests(files, namePattern) {
  const names = namePattern === null ? {} : { testNamePatterns: [namePattern] }
  const stream = start(entries(inProcesses(files)), { concurrency: 5, ...names })
  let code = 0
  let count = 0
  /** @type {string[]} */
  const skipped = []
  /** @param {import("node:test").EventData.TestPass | import("node:test").EventData.TestFail} ended */
  const take = (ended) => {
    if (!isTest(ended)) return
    const { name, file, skip } = ended
    if (skip === undefined) count++
    else {
      const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given"
      skipped.push(`${relative(root, file ?? "")}: ${name} (${reason})`)
    }
  }
  stream.on("test:pass", take)
  stream.on("test:fail", (ended) => {
    if (hasFailed(ended)) code = 1
    take(ended)
  })
  await new Promise((resolve, reject) => {
    const report = stream.compose(new spec())
    report.on("end", resolve).on("error", reject)
    report.pipe(process.stdout, { end: false })
  })
  return { code, count, skipped }
}

/** Which files to run, and which of their tests. A pattern that fits files of the soak alone takes those. @param {readonly string[]} patterns */
function select(patterns) {
  const all = allFiles()
  const usual = all.filter((file) => !isSoakOnly(file))
  if (patterns.length === 0) return { files: usual, namePattern: null }
  for (const some of [usual, all]) {
    const files = some.filter((file) => patterns.some((pattern) => file.includes(pattern)))
    if (files.length > 0) return { files, namePattern: null }
  }
  return { files: usual, namePattern: patterns.join("|") }
}
