import { join } from "node:path"
import { bundlePrograms, sourceStamp } from "../../scripts/build.mjs"
import { madeOnce } from "./made-once.ts"

/** The programs that tests start many times, and the thread that the SQLite store starts by its file name. */
const entryPoints = {
  "crash-child": "test/crash/child.ts",
  "conformance-client": "test/mcp/conformance-client.ts",
  "sqlite-child": "test/support/sqlite-child.ts",
  "writer-thread": "src/adapters/sqlite/writer-thread.ts",
} as const

const folder = await madeOnce("programs", sourceStamp(["test"]), (fresh) => bundlePrograms(entryPoints, fresh))

/** A program's bundle, to be started with Node. */
export function builtProgram(name: Exclude<keyof typeof entryPoints, "writer-thread">): string {
  return join(folder, `${name}.js`)
}
