#!/usr/bin/env node

// `npx wire` in this repository, the `bin` of its package.json: without one, npm would look for a package of that name elsewhere. Runs what is
// built. It builds only where nothing is, because a service may run from dist/.

import { isBuilt, runBuilt } from "./run-built.mjs"
import { main, root, SetupError, whyInstall } from "./setup.mjs"

await main(async () => {
  if (!isBuilt()) {
    if (whyInstall(root, "product") !== null) {
      throw new SetupError(
        "Nothing is built yet. Run `npm start`, `npm test` or `npm run build` once, and then this again.",
      )
    }
    console.error("Building dist/ from src/.")
    const { build } = await import("./build.mjs")
    await build()
  }
  return runBuilt(process.argv.slice(2))
})
