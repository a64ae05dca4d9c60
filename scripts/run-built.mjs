// The command as it was built, on the Node that the project runs on.

import { existsSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { endBy, pinnedNode, root, run } from "./setup.mjs"

const entry = join(root, "dist", "wire.js")

export function isBuilt() {
  return existsSync(entry)
}

/** Runs `wire` with these arguments. @param {readonly string[]} args @returns the exit code */
export async function runBuilt(args) {
  const node = pinnedNode("product")
  if (realpathSync(process.execPath) === realpathSync(node)) {
    // Already on the Node that it needs (npm puts the installed one first): no second process, nothing to hand on.
    process.argv = [process.execPath, entry, ...args]
    await import(pathToFileURL(entry).href)
    return process.exitCode
  }
  const { code, signal } = await run(node, [...process.execArgv, entry, ...args], { shell: false })
  if (signal !== null) endBy(signal)
  return code
}
