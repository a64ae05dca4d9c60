// `npm run package`: builds the command and the client, and packs each as a tarball that npm installs: wireworks-VERSION.tgz and
// wireworks-client-VERSION.tgz. A plain `npm pack` would not build: `.npmrc` keeps npm from running scripts, `prepack` included.

import { join } from "node:path"
import { ensureInstalled, main, pinnedNode, root, run } from "./setup.mjs"

await main(async () => {
  await ensureInstalled()
  const build = join(root, "scripts", "build.mjs")
  /** @type {[string, string[]][]} */
  const steps = [
    [pinnedNode(), [build]],
    [pinnedNode(), [build, "--client"]],
    ["npm", ["pack", "--silent", "."]],
    ["npm", ["pack", "--silent", "./packages/client"]],
  ]
  for (const [command, args] of steps) {
    const { code } = await run(command, args, { cwd: root })
    if (code !== 0) return code
  }
  return 0
})
