import { join } from "node:path"
import { build, sourceStamp } from "../../scripts/build.mjs"
import { madeOnce } from "./made-once.ts"

/** The command, to be started with Node: the bundle of the sources as they are, because what is tested is what ships. */
export const builtWire = join(await madeOnce("bundle", sourceStamp(), build), "wire.js")
