#!/usr/bin/env node

// Whole: a name that an old Node does not have would keep it from saying so.
import nodeModule from "node:module"
import { join } from "node:path"

// The command: an old Node hands over to the one that comes with the package, before anything is loaded that it cannot read.

const needed = 24
const major = Number(process.versions.node.split(".")[0])

if (major < needed) {
  const { handOver, installedNode } = await import("./hand-over.ts")
  const node = installedNode()
  if (node === undefined) {
    process.stderr.write(`wire needs Node ${needed} or newer, and this is ${process.version}.\n`)
    process.exitCode = 2
  } else process.exitCode = await handOver(node)
} else {
  // The bundle's compiled code is kept beside it, where that can be written: the next start need not compile it again.
  if (import.meta.url.endsWith(".js")) nodeModule.enableCompileCache(join(import.meta.dirname, ".compiled"))
  const { runCommandLine } = await import("./command-line.ts")
  await runCommandLine()
}
