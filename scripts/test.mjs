// `npm test [-- PATTERN]`: installs what is missing, then runs every check and test as one run of Node's test runner.
// PATTERN takes the test files whose path contains it or, if there are none, the tests whose name matches it.

import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
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

  const { code, count, skipped } = await runTests(files, namePattern)
  if (code === 0 && count === 0) throw new SetupError(`No test matches ${namePattern}.`)
  if (skipped.length > 0) console.error(`\nSkipped:\n${skipped.map((line) => `  ${line}`).join("\n")}`)
  return code
})

/** @param {readonly string[]} files @param {string | null} namePattern */
async function runTests(files, namePattern) {
  const scratch = mkdtempSync(join(tmpdir(), "wireworks-test-"))
  const report = join(scratch, "report")
  try {
    const { code } = await run(
      pinnedNode(),
      [
        "--test",
        "--test-concurrency=2",
        "--test-timeout=600000",
        ...(namePattern === null ? [] : [`--test-name-pattern=${namePattern}`]),
        "--test-reporter=spec",
        "--test-reporter-destination=stdout",
        `--test-reporter=${join(root, "scripts", "count-tests.mjs")}`,
        `--test-reporter-destination=${report}`,
        ...files,
      ],
      { cwd: root, env: testEnvironment(), shell: false },
    )
    /** @type {{ count: number, skipped: { file: string, name: string, reason: string }[] }} */
    const { count, skipped } = JSON.parse(readFileSync(report, "utf8"))
    return {
      code,
      count,
      skipped: skipped.map(({ file, name, reason }) => `${relative(root, file)}: ${name} (${reason})`),
    }
  } finally {
    rmSync(scratch, { recursive: true })
  }
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
function testEnvironment() {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("WIRE_"))
  return { NODE_COMPILE_CACHE: join(root, ".cache", "compile"), ...Object.fromEntries(environment) }
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
