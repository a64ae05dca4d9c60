import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { it } from "node:test"
import { promisify } from "node:util"
import type { RunCost } from "./count-run.ts"

/** What a run of one agent made when this was written. Lower these when it makes less; a run pays only for what it uses. */
const known: RunCost = { bytes: 109_700 }
const grows = 1.05

/** Counts are the same each time while V8 compiles nothing, and nothing is collected in between. */
const flags = [
  "--expose-gc",
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--min-semi-space-size=128",
  "--max-semi-space-size=128",
]

// Another version of V8 has objects of other sizes.
const skip = process.versions.node.startsWith("24.") ? false : "the counts are those of Node 24"

it("a run of one agent makes no more bytes than before", { skip }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, join(import.meta.dirname, "count-run.ts")])
  const { bytes } = JSON.parse(stdout) as RunCost
  assert.ok(bytes <= known.bytes * grows, `${bytes} bytes; ${known.bytes} when this was written`)
})
