// `npm start`: installs and builds what is missing, then serves. Arguments go to `wire serve`, settings are WIRE_*.

import { realpathSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { endBy, ensureInstalled, main, pinnedNode, root, run } from "./setup.mjs"

const entry = join(root, "dist", "wire.js")
const args = ["serve", ...process.argv.slice(2)]

await main(async () => {
  await ensureInstalled()
  const { build, isStale } = await import("./build.mjs")
  if (isStale()) {
    console.error("Building dist/ from src/.")
    await build()
  }
  const node = pinnedNode()
  if (realpathSync(process.execPath) === realpathSync(node)) {
    // Already on the Node that it needs (npm puts the installed one first): no second process, nothing to hand on.
    process.argv = [process.execPath, entry, ...args]
    await import(pathToFileURL(entry).href)
    return process.exitCode
  }
  const { code, signal } = await run(node, [...process.execArgv, entry, ...args], { shell: false })
  if (signal !== null) endBy(signal)
  return code
})
