// `npm test [-- PATTERN]`: installs what is missing, then runs every check and test as one run of Node's test runner.
// PATTERN takes the test files whose path contains it or, if there are none, the tests whose name matches it.

import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, realpathSync } from "node:fs"
import { join, relative } from "node:path"
import { run as runFiles } from "node:test"
import { spec } from "node:test/reporters"
import { ensureNatsServers } from "./nats-servers.mjs"
import { ensureOlderNode } from "./older-node.mjs"
import { ensureInstalled, main, pinnedNode, root, run, SetupError } from "./setup.mjs"

/** Programs that npm does not bring, each needed only by the tests of one folder. */
const tools = [
  { folder: "test/browser", commands: ["chromium", "chromium-browser", "google-chrome"], debian: ["chromium"] },
  // Runs the snippets that the playground offers. Where it cannot be had, those tests are skipped.
  { folder: "playground/share", commands: ["php"], debian: ["php-cli", "php-curl"], isOptional: true },
]

/** In this order, as far as they exist; checks of types, lint, format and layers are in test/static-checks.test.ts. */
const folders = ["test", "scripts", "src", "playground", "editors"]

/** What runs side by side: files that compute, files that mostly wait, and the short ones; with how long one takes, in seconds. */
const lanes = [
  [
    { path: /^test\/simulation\//, seconds: 90 },
    { path: /^test\/hostile\//, seconds: 60 },
    { path: /^test\/browser\//, seconds: 50 },
    { path: /^test\/properties\//, seconds: 12 },
  ],
  [
    { path: /^test\/cluster\//, seconds: 40 },
    { path: /^test\/crash\//, seconds: 30 },
    { path: /^test\/(container|package|build|npm-start|mcp\/conformance)/, seconds: 25 },
    { path: /^test\/(mcp|contract|cli)\//, seconds: 6 },
  ],
  [{ path: /^/, seconds: 3 }],
]

await main(async () => {
  await ensureInstalled()
  // In a fresh clone the machine's own Node runs this, which may be too old for what follows.
  if (realpathSync(process.execPath) !== realpathSync(pinnedNode())) {
    return (await run(pinnedNode(), process.argv.slice(1), { shell: false })).code
  }
  const { files, namePattern } = select(process.argv.slice(2))
  for (const tool of tools) {
    if (files.some((file) => file.startsWith(`${tool.folder}/`))) await ensureTool(tool)
  }
  if (files.some((file) => /^test\/(cluster|crash)\//.test(file))) await ensureNatsServers()
  if (files.some((file) => /^test\/(build|npm-start|package)\.test/.test(file))) await ensureOlderNode()

  // Once, before files of tests that run side by side would each build it.
  if (files.some((file) => /^test\/(browser|cli|crash|cluster|hostile)\//.test(file))) {
    await import("../test/support/built-wire.ts")
  }
  if (files.some((file) => /^(test\/(crash|mcp)|src\/adapters\/sqlite)\//.test(file))) {
    await import("../test/support/built-programs.ts")
  }

  const { code, count, skipped } = await runTests(files, namePattern)
  if (code === 0 && count === 0) throw new SetupError(`No test matches ${namePattern}.`)
  if (skipped.length > 0) console.error(`\nSkipped:\n${skipped.map((line) => `  ${line}`).join("\n")}`)
  return code
})

/** @param {readonly string[]} files @param {string | null} namePattern */
async function runTests(files, namePattern) {
  setEnvironment()
  process.chdir(root)
  const stream = runFiles({
    files: inOrder(files),
    concurrency: 3,
    timeout: 600_000,
    ...(namePattern !== null && { testNamePatterns: [namePattern] }),
  })
  let code = 0
  let count = 0
  /** @type {string[]} */
  const skipped = []
  /** @param {import("node:test").EventData.TestPass | import("node:test").EventData.TestFail} ended */
  const take = ({ details, name, file, skip }) => {
    // Suites, and the entry that stands for a file none of whose tests ran, do not count.
    if (details.type === "suite" || /\.test\.tsx?$/.test(name)) return
    if (skip === undefined) count++
    else {
      const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given"
      skipped.push(`${relative(root, file ?? "")}: ${name} (${reason})`)
    }
  }
  stream.on("test:pass", take)
  stream.on("test:fail", (ended) => {
    if (ended.todo === undefined || ended.todo === false) code = 1
    take(ended)
  })
  await new Promise((resolve, reject) => {
    const report = stream.compose(new spec())
    report.on("end", resolve).on("error", reject)
    report.pipe(process.stdout, { end: false })
  })
  return { code, count, skipped }
}

/**
 * The files in the order in which they start, three at a time: one of each lane, the long ones first. In the order of their names
 * several browsers would compete for the processors, and later nothing but waiting would be done. @param {readonly string[]} files
 */
function inOrder(files) {
  const ends = lanes.map(() => 0)
  const kinds = lanes.flatMap((lane, at) => lane.map((kind) => ({ ...kind, at })))
  return kinds
    .flatMap((kind) =>
      files.filter((file) => kinds.find(({ path }) => path.test(file)) === kind).map((file) => ({ file, kind })),
    )
    .map(({ file, kind: { at, seconds } }) => {
      const start = ends[at] ?? 0
      ends[at] = start + seconds
      return { file, start }
    })
    .toSorted((a, b) => a.start - b.start)
    .map(({ file }) => file)
}

/** Which files to run, and which of their tests. @param {readonly string[]} patterns */
function select(patterns) {
  const all = folders.filter((folder) => existsSync(join(root, folder))).flatMap(testFiles)
  if (patterns.length === 0) return { files: all, namePattern: null }
  const files = all.filter((file) => patterns.some((pattern) => file.includes(pattern)))
  return files.length > 0 ? { files, namePattern: null } : { files: all, namePattern: patterns.join("|") }
}

/** @param {string} folder */
function testFiles(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((file) => `${folder}/${file}`.replaceAll("\\", "/"))
    .filter((file) => /\.test\.tsx?$/.test(file) && !file.includes("node_modules/"))
    .toSorted()
}

/**
 * A developer's own settings of the service must not reach the tests. Stripped and compiled sources are kept: many
 * processes load the same ones.
 */
function setEnvironment() {
  for (const name of Object.keys(process.env)) if (name.startsWith("WIRE_")) delete process.env[name]
  process.env["NODE_COMPILE_CACHE"] ??= join(root, ".cache", "compile")
}

/** @param {typeof tools[number]} tool */
async function ensureTool({ folder, commands, debian, isOptional = false }) {
  if (commands.some(onPath)) return
  const packages = debian.join(" ")
  const advice = `${folder} needs ${commands[0]}. Install it (on Debian: apt-get install ${packages}) and try again.`
  const giveUp = () => {
    if (!isOptional) throw new SetupError(advice)
    console.error(advice)
  }
  if (process.getuid?.() !== 0 || !onPath("apt-get")) {
    giveUp()
    return
  }
  console.error(`Installing ${packages} for ${folder}.`)
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  const install = ["install", "-y", "-qq", "--no-install-recommends", ...debian]
  let outcome = await run("apt-get", install, { env })
  if (outcome.code !== 0) {
    await run("apt-get", ["update", "-qq"], { env })
    outcome = await run("apt-get", install, { env })
  }
  if (outcome.code !== 0 || !commands.some(onPath)) giveUp()
}

/** @param {string} command */
function onPath(command) {
  return spawnSync("which", [command], { stdio: "ignore" }).status === 0
}
