// `npm start`: installs and builds what is missing, then serves. Arguments go to `wire serve`, settings are WIRE_*.

import { runBuilt } from "./run-built.mjs"
import { ensureInstalled, main } from "./setup.mjs"

await main(async () => {
  await ensureInstalled("product")
  const { build, isStale } = await import("./build.mjs")
  if (isStale()) {
    console.error("Building dist/ from src/.")
    await build()
  }
  return runBuilt(["serve", ...process.argv.slice(2)])
})
