import { readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import type * as Sources from "../../src/cli/compose/compose.ts"
import { builtWire } from "./built-wire.ts"

// The service as it is built, to run in the process of a test: `npm start` loads the same file in a process of its own.

const folder = dirname(builtWire)
const [file = "", ...others] = readdirSync(folder).filter((name) => /^compose-[A-Z\d]{8}\.js$/.test(name))
if (file === "" || others.length > 0)
  throw new Error(`The bundle has not one file with the service: ${[file, ...others].join(", ")}`)

export const { compose } = (await import(pathToFileURL(join(folder, file)).href)) as typeof Sources
