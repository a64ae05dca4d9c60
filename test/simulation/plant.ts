import { registerHooks } from "node:module"
import { plantedBugs } from "./planted-bugs.ts"

// `node --import ./plant.ts`: runs the code with one bug planted in it, named by `WIRE_PLANTED_BUG`.

const bug = plantedBugs.find(({ name }) => name === process.env["WIRE_PLANTED_BUG"])
if (bug === undefined) throw new Error(`There is no bug named ${process.env["WIRE_PLANTED_BUG"] ?? ""}`)

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(`/${bug.file}`)) return loaded
    const source =
      typeof loaded.source === "string" ? loaded.source : Buffer.from(loaded.source as Uint8Array).toString()
    if (source.split(bug.from).length !== 2) throw new Error(`"${bug.from}" is not in ${bug.file} exactly once`)
    return { ...loaded, source: source.replace(bug.from, bug.to) }
  },
})
