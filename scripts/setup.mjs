// What has to be there before anything else can run. Runs on Node 20 without dependencies: on a fresh machine there is
// nothing else yet.

import { spawn } from "node:child_process"
import { existsSync, lstatSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { constants } from "node:os"
import { delimiter, dirname, join, sep } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** The npm package that holds Node for this platform; the lockfile pins the content of each. */
const nodePackage = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
const nodeBinary = join(nodePackage, "bin", process.platform === "win32" ? "node.exe" : "node")

/**
 * What is installed: everything, or what the product is built from and runs on. `npm start` installs the latter, a seventh of the rest.
 * @typedef {"everything" | "product"} Extent
 */

/** The oldest Node that runs the sources and their tests, and the oldest that builds and runs the product (`engines` of packages/command). */
const oldest = /** @type {const} */ ({ everything: [24, 0], product: [22, 13] })

/** Whether the Node of this process is new enough. @param {Extent} extent */
function isOwnNodeEnough(extent) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const [wantedMajor, wantedMinor] = oldest[extent]
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

/** The Node that the project runs on: the one of the lockfile or, where none is installed, the one of this process. @param {Extent} extent */
export function pinnedNode(extent = "everything") {
  const installed = join(root, "node_modules", nodeBinary)
  if (existsSync(installed)) return installed
  if (isOwnNodeEnough(extent)) return process.execPath
  throw new SetupError(
    `For ${process.platform} on ${process.arch} no Node is installed with the dependencies: install Node ${oldest[extent].join(".")} or newer.`,
  )
}

/**
 * Installs everything that is missing. In a fresh clone the machine's own Node runs the script, which may be too old for what follows: then the
 * pinned Node runs the same command.
 * @returns {Promise<number | null>} the exit code of that command, null where this process goes on
 */
export async function handOver() {
  await ensureInstalled("everything")
  if (realpathSync(process.execPath) === realpathSync(pinnedNode())) return null
  return (await run(pinnedNode(), process.argv.slice(1), { shell: false })).code
}

/** Installs the dependencies unless what is installed is what the lockfile says. @param {Extent} extent */
export async function ensureInstalled(extent) {
  const reason = whyInstall(root, extent)
  if (reason === null) return
  const modules = join(root, "node_modules")
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new SetupError(`${reason}, but node_modules is a symbolic link. Run \`npm ci\` where it points to.`)
  }
  console.error(`Installing dependencies (${reason}).`)
  // The flags undo what a user's npmrc or NODE_ENV may say: without optional dependencies there is no esbuild and no Node. No package needs its
  // install scripts. `loglevel` hides that the machine's own Node is older than ours.
  const flags = ["--ignore-scripts", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"]
  if (extent === "everything" || hasMoreThanProduct(modules)) flags.push("--include=dev")
  // The workspace scripts/node brings Node.
  else
    flags.push("--omit=dev", ...(isOwnNodeEnough(extent) ? ["--workspace=playground", "--include-workspace-root"] : []))
  const { code, stopped } = await run("npm", ["ci", ...flags], { env: { ...process.env, PATH: pathWithoutModules() } })
  // Somebody wanted this to end, not to go on with half of an installation: that is no failure.
  if (stopped !== null) endBy(stopped)
  if (code !== 0) throw new SetupError(`\`npm ci\` failed (exit code ${code}).`)
  // Headers to compile add-ons with, a third of the package.
  rmSync(join(modules, nodePackage, "include"), { recursive: true, force: true })
  const still = whyInstall(root, extent)
  if (still !== null) throw new SetupError(`\`npm ci\` ran, and yet ${still}.`)
}

/** A change of the lockfile must not take the tests' packages away. @param {string} modules */
function hasMoreThanProduct(modules) {
  const { packages } = readJson(join(modules, ".package-lock.json")) ?? { packages: {} }
  return Object.values(packages).some((/** @type {{ dev?: boolean }} */ entry) => entry.dev === true)
}

/** @param {string} path */
function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : null
}

/**
 * Why the dependencies must be installed: a clause, or null when they need not be.
 * @param {string} at the project's folder
 * @param {Extent} extent
 */
export function whyInstall(at, extent) {
  const modules = join(at, "node_modules")
  const installed = readJson(join(modules, ".package-lock.json"))?.packages
  if (installed === undefined) return "node_modules is missing"
  const wanted = JSON.parse(readFileSync(join(at, "package-lock.json"), "utf8")).packages
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.includes("node_modules/") || entry.link === true) continue
    if (entry.dev === true && extent === "product") continue
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)
    const there = installed[path]
    if (there === undefined) {
      if (entry.optional !== true && entry.peer !== true) return `${name} is missing`
    } else if (there.version !== entry.version) {
      return `${name} is ${there.version}, the lockfile says ${entry.version}`
    } else if (there.integrity !== entry.integrity && there.integrity !== undefined) {
      return `${name} differs from the lockfile`
    }
  }
  const needsNode =
    wanted[`node_modules/${nodePackage}`] !== undefined && !(extent === "product" && isOwnNodeEnough(extent))
  return needsNode && !existsSync(join(modules, nodeBinary)) ? `${nodePackage} has no binary` : null
}

/** `npm run` puts node_modules/.bin first, whose `node` would be deleted under npm's feet. */
function pathWithoutModules() {
  const parts = (process.env["PATH"] ?? "").split(delimiter)
  return parts.filter((part) => !part.endsWith(`node_modules${sep}.bin`)).join(delimiter)
}

/**
 * Ends this process as the signal would have without a handler, so that the parent process sees the usual exit code.
 * @param {NodeJS.Signals} signal
 * @returns {never}
 */
export function endBy(signal) {
  process.kill(process.pid, signal)
  // Where the signal is ignored or late.
  return process.exit(128 + constants.signals[signal])
}

/**
 * Runs a command on this terminal and hands on the signals that we get, until it has ended.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 * @returns {Promise<{ code: number, signal: NodeJS.Signals | null, stopped: NodeJS.Signals | null }>} `stopped`: the last signal that
 *   was handed on
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])
    /** @type {NodeJS.Signals | null} */
    let stopped = null
    /** @type {import("node:child_process").ChildProcess | null} */
    let child = null
    const forward = (/** @type {NodeJS.Signals} */ signal) => {
      stopped = signal
      child?.kill(signal)
    }
    // Before the command starts: a signal that came between the two would end this process and leave the command behind.
    for (const signal of signals) process.on(signal, forward)
    child = spawn(command, args, { stdio: "inherit", shell: process.platform === "win32", ...options })
    const done = () => {
      for (const signal of signals) process.off(signal, forward)
    }
    child.on("error", (error) => {
      done()
      reject(new SetupError(`Cannot run ${command}: ${error.message}`))
    })
    child.on("exit", (code, signal) => {
      done()
      resolve({ code: signal === null ? (code ?? 1) : 128 + constants.signals[signal], signal, stopped })
    })
  })
}

/** Something that the person at the keyboard can fix; shown without a stack. */
export class SetupError extends Error {}

/**
 * Runs a script's main function, which yields the exit code; a set-up error becomes one line and exit code 1.
 * @param {() => Promise<number | string | null | undefined>} body
 */
export async function main(body) {
  try {
    process.exitCode = await body()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
