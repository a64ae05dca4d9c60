// The brokers that the cluster is tested on: the newest that there is, and one that is too old, which must be refused. Debian's own may be
// older than both, so that they are unpacked from later Debian releases into `.cache/nats`, without touching the system.

import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { root, SetupError } from "./setup.mjs"

/** Where each is unpacked, and the Debian releases that have it: the first that can be had will do. */
const newest = { folder: join(root, ".cache", "nats", "newest"), suites: ["sid", "forky"] }
const outdated = { folder: join(root, ".cache", "nats", "outdated"), suites: ["trixie"] }

const binary = join("usr", "sbin", "nats-server")
const oldest = [2, 12]

/** @typedef {{ readonly path: string, readonly version: string }} NatsServer */

/**
 * The oldest and the newest of those that are here and new enough: two, one, or none. `NATS_SERVERS` names others, as paths with
 * `:` between them.
 * @returns {NatsServer[]}
 */
export function findNatsServers() {
  const named = process.env["NATS_SERVERS"]
  const paths =
    named === undefined
      ? [...[join(newest.folder, binary)].filter((path) => existsSync(path)), "nats-server"]
      : named.split(delimiter)
  const found = paths
    .flatMap((path) => {
      const version = versionOf(path)
      return version !== null && isNewEnough(version) ? [{ path, version }] : []
    })
    .toSorted((a, b) => compareVersions(a.version, b.version))
  const [first, last] = [found[0], found.at(-1)]
  if (first === undefined || last === undefined) return []
  return first.version === last.version ? [first] : [first, last]
}

/** The one that is too old to be used; null where it is not here. */
export function outdatedNatsServer() {
  const path = join(outdated.folder, binary)
  const version = versionOf(path)
  return version === null || isNewEnough(version) ? null : { path, version }
}

/** Gets what is missing: `count` 2 for both. A developer who has one that is new enough needs no newer one. */
export async function ensureNatsServers(count = 2) {
  const onPath = versionOf("nats-server")
  const isThere = process.env["NATS_SERVERS"] !== undefined || (onPath !== null && isNewEnough(onPath))
  for (const { folder, suites } of [newest, outdated].slice(isThere ? 1 : 0, count)) {
    if (versionOf(join(folder, binary)) === null) await unpackFirst(suites, folder)
  }
  if (findNatsServers().length > 0) return
  throw new SetupError(
    `test/cluster needs nats-server ${oldest.join(".")} or newer. Put one on the PATH, or name it in NATS_SERVERS, and try again.`,
  )
}

/** @param {readonly string[]} suites @param {string} folder */
async function unpackFirst(suites, folder) {
  for (const suite of suites) {
    try {
      await unpack(suite, folder)
      return
    } catch (error) {
      const reason = error instanceof Error ? (error.message.trim().split("\n").at(-1) ?? "") : String(error)
      console.error(`Debian's ${suite} gives no nats-server: ${reason}`)
    }
  }
}

/** @param {string} suite @param {string} folder */
async function unpack(suite, folder) {
  const source = debianSource()
  if (source === null) throw new Error("this system has no Debian package sources")
  console.error(`Getting the nats-server of Debian's ${suite} for test/cluster.`)
  const state = `${folder}.${process.pid}`
  rmSync(state, { recursive: true, force: true })
  for (const part of ["lists/partial", "cache/archives/partial", "root"]) {
    mkdirSync(join(state, part), { recursive: true })
  }
  try {
    writeFileSync(join(state, "sources.list"), `deb ${source.options}${source.uri} ${suite} main\n`)
    const settings = {
      "Dir::Etc::sourcelist": join(state, "sources.list"),
      "Dir::Etc::sourceparts": "/dev/null",
      "Dir::State::lists": join(state, "lists"),
      "Dir::Cache": join(state, "cache"),
      // The user that apt takes for downloads may not be allowed to write here.
      "APT::Sandbox::User": "root",
      "Acquire::Languages": "none",
      "Acquire::Retries": "2",
      "Acquire::http::Timeout": "30",
      "Acquire::https::Timeout": "30",
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])
    const run = promisify(execFile)
    // An update that failed says so in its output alone; then there is nothing to download.
    await run("apt-get", [...options, "update", "-qq"], { cwd: state })
    await run("apt-get", [...options, "download", "-qq", "nats-server"], { cwd: state })
    const [archive] = readdirSync(state).filter((file) => file.endsWith(".deb"))
    if (archive === undefined) throw new Error("nothing was downloaded")
    await run("dpkg-deb", ["-x", join(state, archive), join(state, "root")])
    const version = versionOf(join(state, "root", binary))
    if (version === null) throw new Error("what was downloaded does not run here")
    if (!isNewEnough(version)) throw new Error(`it is ${version}`)
    rmSync(folder, { recursive: true, force: true })
    renameSync(join(state, "root"), folder)
  } finally {
    rmSync(state, { recursive: true, force: true })
  }
}

/**
 * Where this system gets its Debian packages from, whatever mirror that is.
 * @param {string} folder
 * @returns {{ readonly uri: string, readonly options: string } | null}
 */
export function debianSource(folder = "/etc/apt") {
  const parts = join(folder, "sources.list.d")
  const files = [
    join(folder, "sources.list"),
    ...(existsSync(parts) ? readdirSync(parts).toSorted() : []).map((file) => join(parts, file)),
  ].filter((file) => existsSync(file))
  for (const file of files) {
    const text = readFileSync(file, "utf8")
    const found = file.endsWith(".sources") ? fromStanzas(text) : file.endsWith(".list") ? fromLines(text) : null
    if (found !== null) return found
  }
  return null
}

/** @param {string} text */
function fromLines(text) {
  for (const line of text.split("\n")) {
    const [, options = "", uri = ""] = /^deb\s+(\[[^\]]*\]\s+)?(\S+)\s+\S+\s+.*\bmain\b/.exec(line.trim()) ?? []
    if (isArchive(uri)) return { uri, options: options.trim() === "" ? "" : `${options.trim()} ` }
  }
  return null
}

/** @param {string} text */
function fromStanzas(text) {
  for (const stanza of text.replaceAll(/^#.*\n/gm, "").split(/\n\s*\n/)) {
    const field = (/** @type {string} */ name) => new RegExp(`^${name}:[ \\t]*(.*)$`, "im").exec(stanza)?.[1]?.trim()
    if (field("Enabled") === "no" || !(field("Types") ?? "").split(/\s+/).includes("deb")) continue
    const uri = (field("URIs") ?? "").split(/\s+/).find(isArchive)
    if (uri === undefined) continue
    const signedBy = field("Signed-By")
    const trusted = field("Trusted") === "yes" ? ["trusted=yes"] : []
    // A key may stand in the file itself; then it stays with the system's own.
    const signed = signedBy?.startsWith("/") === true ? [`signed-by=${signedBy}`] : []
    const options = [...trusted, ...signed].join(" ")
    return { uri, options: options === "" ? "" : `[${options}] ` }
  }
  return null
}

/** Debian's main archive, not its security updates nor anybody else's. @param {string} uri */
function isArchive(uri) {
  return /^[a-z+]+:.*\/debian\/?$/.test(uri)
}

/** @param {string} path @returns {string | null} */
function versionOf(path) {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" })
  return /v(\d+\.\d+\.\d+)/.exec(stdout ?? "")?.[1] ?? null
}

/** @param {string} version */
function isNewEnough(version) {
  return compareVersions(version, oldest.join(".")) >= 0
}

/** @param {string} a @param {string} b */
export function compareVersions(a, b) {
  const [left, right] = [a.split(".").map(Number), b.split(".").map(Number)]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
