#!/usr/bin/env node

// Whole: a name that an old Node does not have would keep it from saying so.
import nodeModule from "node:module"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

// The command. An old Node says what is needed, before anything is loaded that it cannot read.

/** `engines` of the package, a test compares: SQLite is part of Node without a flag since then. */
const oldest = [22, 13] as const
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)

if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  // In a checkout of the repository Node comes with the dependencies.
  const checkout = fileURLToPath(new URL("..", import.meta.url))
  const other = existsSync(join(checkout, "scripts", "wire.mjs")) ? `, or run \`npx wire\` in ${checkout}` : ""
  process.stderr.write(
    `wire needs Node ${oldest.join(".")} or newer, and this is ${process.version}. Install a newer one from https://nodejs.org${other}.\n`,
  )
  process.exitCode = 2
} else {
  // The bundle's compiled code is kept beside it, where that can be written: the next start need not compile it again.
  if (import.meta.url.endsWith(".js")) nodeModule.enableCompileCache(join(import.meta.dirname, ".compiled"))
  silenceSqlite()
  const { runCommandLine } = await import("./command-line.ts")
  await runCommandLine()
}

/** Node warns that the interface of its SQLite may change. Our tests watch that; users can do nothing about it. */
function silenceSqlite(): void {
  const warn = process.emitWarning.bind(process) as (...args: readonly unknown[]) => void
  process.emitWarning = (warning: string | Error, ...rest: readonly unknown[]): void => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) warn(warning, ...rest)
  }
}
