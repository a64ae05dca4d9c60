import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import nodeModule from "node:module"
import { constants } from "node:os"
import { dirname, join } from "node:path"

// Runs on old releases of Node: nothing here may need a new one.

/** The Node that was installed with the package; undefined where there is none for this platform. */
export function installedNode(): string | undefined {
  const system = process.platform === "win32" ? "win" : process.platform
  const require = nodeModule.createRequire(import.meta.url)
  try {
    const folder = dirname(require.resolve(`node-${system}-${process.arch}/package.json`))
    const binary = join(folder, "bin", process.platform === "win32" ? "node.exe" : "node")
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

/** Runs this command on another Node, on the same terminal. Resolves to its exit code. */
export function handOver(node: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit" })
    // A terminal sends Ctrl-C to both processes: forwarded, it would arrive twice.
    const signals: NodeJS.Signals[] = process.stdin.isTTY ? ["SIGTERM", "SIGHUP"] : ["SIGTERM", "SIGHUP", "SIGINT"]
    for (const signal of signals) process.on(signal, () => child.kill(signal))
    if (process.stdin.isTTY) process.on("SIGINT", () => undefined)
    child.on("error", reject)
    child.on("exit", (code, signal) => resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]))
  })
}
