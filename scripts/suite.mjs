// The tests as one suite: which files there are, which of them belong to `npm test` and which to `npm run soak`, what they need to
// be installed, and in which order they start.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run as runFiles } from "node:test"
import { ensurePostgres } from "./postgres-server.mjs"
import { ensureOtherNodes } from "./other-nodes.mjs"
import { root, run, SetupError } from "./setup.mjs"

/**
 * @typedef {object} Part
 * @property {string} name what `npm run soak -- --only` takes
 * @property {RegExp} path a file belongs to the first part that fits
 * @property {number} seconds how long a file takes in `npm test`
 * @property {number} soakSeconds how long a file takes in the soak
 * @property {number} [together] how many files share a process in `npm test`; without it each has its own
 */

/**
 * In the soak these run side by side, a few processes at a time: those that compute, those that mostly wait, and the short ones.
 * @type {readonly (readonly Part[])[]}
 */
const lanes = [
  [{ name: "trust", path: /^test\/properties\/trust\.test/, seconds: 9, soakSeconds: 600 }],
  [
    { name: "simulation", path: /^test\/simulation\//, seconds: 20, soakSeconds: 150, together: 4 },
    { name: "browser", path: /^test\/browser\//, seconds: 120, soakSeconds: 30 },
    { name: "hostile", path: /^test\/hostile\//, seconds: 50, soakSeconds: 80 },
    { name: "properties", path: /^test\/properties\//, seconds: 3, soakSeconds: 40, together: 8 },
  ],
  [
    { name: "postgres", path: /^test\/postgres\//, seconds: 4, soakSeconds: 60 },
    { name: "crash", path: /^test\/crash\//, seconds: 5, soakSeconds: 40 },
    // Builds of all sources, and the checks of all sources.
    {
      name: "packages",
      path: /^test\/(container|package|build|npm-start|client-package|static-checks)/,
      seconds: 70,
      soakSeconds: 25,
    },
    { name: "mcp", path: /^test\/mcp\//, seconds: 7, soakSeconds: 25, together: 4 },
    { name: "cli", path: /^test\/cli\//, seconds: 13, soakSeconds: 8, together: 6 },
    { name: "services", path: /^test\/(contract|lsp)\//, seconds: 4, soakSeconds: 8, together: 12 },
  ],
  [
    { name: "project", path: /^test\//, seconds: 5, soakSeconds: 3, together: 12 },
    { name: "units", path: /^/, seconds: 1, soakSeconds: 3, together: 80 },
  ],
]

export const partNames = lanes.flat().map(({ name }) => name)

/** @param {string} file */
export function partOf(file) {
  const part = lanes.flat().find(({ path }) => path.test(file))
  if (part === undefined) throw new Error(`${file} belongs to no part`)
  return part
}

/** Where tests stand. The checks of types, lint, format and layers are in test/static-checks.test.ts. */
const folders = ["test", "scripts", "src", "playground", "editors"]

/** Every file of tests. */
export function allFiles() {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`),
    )
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.test\.tsx?$/.test(file) && !file.includes("node_modules/"))
    .toSorted()
}

/** `npm test` runs every file but these. @param {string} file */
export function isSoakOnly(file) {
  return /\.soak\.test\.tsx?$/.test(file)
}

/** The soak runs these: what `npm test` leaves out, and what does more at full strength. @param {string} file */
export function isOfSoak(file) {
  return isSoakOnly(file) || /support\/(strength|fast-check)\.ts"/.test(readFileSync(join(root, file), "utf8"))
}

/** Files whose tests do something else with each seed. @param {string} file */
export function takesSeed(file) {
  return /\bsoakSeed\b|support\/fast-check\.ts"/.test(readFileSync(join(root, file), "utf8"))
}

/**
 * The files in the order in which the soak starts them. In the order of their names several browsers would compete for the processors,
 * and later nothing but waiting would be done.
 * @param {readonly string[]} files
 */
export function inOrder(files) {
  return lanes
    .flatMap((lane) => {
      let end = 0
      return lane.flatMap((part) =>
        files
          .filter((file) => partOf(file) === part)
          .map((file) => {
            const start = end
            end += part.soakSeconds
            return { file, start }
          }),
      )
    })
    .toSorted((a, b) => a.start - b.start)
    .map(({ file }) => file)
}

/**
 * The files that each process of `npm test` runs: some parts share processes, since loading the sources takes longer than most of their
 * tests. The longest start first, so that at the end all processors have something to do.
 * @param {readonly string[]} files
 */
export function inProcesses(files) {
  /** @type {string[][]} */
  const processes = []
  /** @type {Map<Part, string[]>} */
  const open = new Map()
  for (const file of files) {
    const part = partOf(file)
    const list = open.get(part)
    if (part.together === undefined || hasHooksForEach(file)) processes.push([file])
    else if (list !== undefined && list.length < part.together) list.push(file)
    else {
      const begun = [file]
      processes.push(begun)
      open.set(part, begun)
    }
  }
  return processes.toSorted((a, b) => expectedSeconds(b) - expectedSeconds(a))
}

/** @param {readonly string[]} files of one process */
function expectedSeconds(files) {
  return files.reduce((sum, file) => sum + partOf(file).seconds, 0)
}

/** Such hooks would run for the tests of all files in the process. @param {string} file */
function hasHooksForEach(file) {
  return /^(before|after)Each\(/m.test(readFileSync(join(root, file), "utf8"))
}

/** One file for each process, which imports those that share it: Node's test runner starts a process for a file. @param {readonly (readonly string[])[]} processes */
export function entries(processes) {
  const folder = join(root, ".cache", "together")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return processes.map((files, index) => {
    const [only = ""] = files
    if (files.length === 1) return only
    const entry = join(folder, `${index + 1}-${partOf(only).name}.test.ts`)
    writeFileSync(entry, files.map((file) => `import ${JSON.stringify(`../../${file}`)}\n`).join(""))
    return entry
  })
}

/** Programs that npm does not bring, each needed only by some files. */
const tools = [
  { path: /^test\/browser\//, commands: ["chromium", "chromium-browser", "google-chrome"], debian: ["chromium"] },
  // Runs the snippets that the playground offers. Where it cannot be had, those tests are skipped.
  { path: /^playground\/share\/snippets/, commands: ["php"], debian: ["php-cli", "php-curl"], isOptional: true },
  { path: /^test\/editors\/neovim/, commands: ["nvim"], debian: ["neovim"], isOptional: true },
]

/**
 * Installs and builds what these files need, once, before files that run side by side would each do it.
 * @param {readonly string[]} files
 */
export async function prepare(files) {
  const has = (/** @type {RegExp} */ path) => files.some((file) => path.test(file))
  for (const tool of tools) if (has(tool.path)) await ensureTool(tool)
  if (has(/^test\/(postgres\/|crash\/people\.soak|simulation\/planted-bugs\.soak)/)) await ensurePostgres()
  if (has(/^test\/(build|npm-start|package)\./)) await ensureOtherNodes()
  if (has(/^test\/((browser|cli|contract|crash|hostile|lsp|mcp|postgres|run)\/|editors\/neovim|mcp\/inspector)/))
    await import("../test/support/built-wire.ts")
  if (has(/^(test\/(crash|mcp)|src\/adapters\/sqlite)\//)) await import("../test/support/built-programs.ts")
  // A developer's own settings of the service must not reach the tests.
  for (const name of Object.keys(process.env)) if (name.startsWith("WIRE_")) delete process.env[name]
  // Stripped and compiled sources are kept: many processes load the same ones.
  process.env["NODE_COMPILE_CACHE"] ??= join(root, ".cache", "compile")
  process.chdir(root)
}

/**
 * Starts them; what happens comes as events of Node's test runner. More at a time than there are processors, because many of them wait.
 * @param {readonly string[]} files in this order
 * @param {Omit<import("node:test").RunOptions, "files">} [options]
 */
export function start(files, options = {}) {
  return runFiles({ files: [...files], concurrency: 4, timeout: 1_200_000, ...options })
}

/** Suites, and the entry that stands for a file none of whose tests ran, do not count. @param {import("node:test").EventData.TestPass | import("node:test").EventData.TestFail} ended */
export function isTest({ details, name }) {
  return details.type !== "suite" && !/\.test\.tsx?$/.test(name)
}

/** @param {import("node:test").EventData.TestFail} ended */
export function hasFailed({ todo }) {
  return todo === undefined || todo === false
}

/** @param {{ path: RegExp, commands: string[], debian: string[], isOptional?: boolean }} tool */
async function ensureTool({ commands, debian, isOptional = false }) {
  if (commands.some(onPath)) return
  const packages = debian.join(" ")
  const advice = `Some tests need ${commands[0]}. Install it (on Debian: apt-get install ${packages}) and try again.`
  const giveUp = () => {
    if (!isOptional) throw new SetupError(advice)
    console.error(advice)
  }
  if (process.getuid?.() !== 0 || !onPath("apt-get")) {
    giveUp()
    return
  }
  console.error(`Installing ${packages}.`)
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
