#!/usr/bin/env node

// The command: refuses an old Node with a sentence before anything is loaded that it would choke on.

const needed = 24
const major = Number(process.versions.node.split(".")[0])

if (major < needed) {
  process.stderr.write(`wire needs Node ${needed} or newer, and this is ${process.version}.\n`)
  process.exitCode = 2
} else {
  const { runCommandLine } = await import("./command-line.ts")
  await runCommandLine()
}
