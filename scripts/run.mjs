// `node scripts/run.mjs FILE ARGUMENT…`: installs what is missing, then runs FILE on the pinned Node, which also runs TypeScript.

import { resolve } from "node:path"
import { ensureInstalled, main, pinnedNode, run } from "./setup.mjs"

await main(async () => {
  await ensureInstalled("everything")
  const [file = "", ...args] = process.argv.slice(2)
  return (await run(pinnedNode(), [...process.execArgv, resolve(file), ...args], { shell: false })).code
})
