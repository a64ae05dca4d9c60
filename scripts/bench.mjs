// `npm run bench [-- NAME [ARGUMENT…]]`: runs bench/*.bench.ts one after the other, or those whose path contains NAME, each
// with the arguments (`npm run bench -- serve --quick`).

import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { ensureInstalled, main, pinnedNode, root, run, SetupError } from "./setup.mjs"

await main(async () => {
  await ensureInstalled("everything")
  const folder = join(root, "bench")
  const all = existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".bench.ts"))
    : []
  const [name, ...rest] = process.argv.slice(2)
  const chosen = all.filter((file) => name === undefined || file.includes(name)).toSorted()
  if (chosen.length === 0)
    throw new SetupError(`No benchmark in bench/ ${name === undefined ? "yet" : `like ${name}`}.`)
  for (const file of chosen) {
    console.log(`\n${file}`)
    const { code } = await run(pinnedNode(), [join(folder, file), ...rest], { shell: false })
    if (code !== 0) return code
  }
  return 0
})
