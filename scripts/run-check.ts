import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import type { Check } from "./checks.ts"
import { root } from "./setup.mjs"

export interface Outcome {
  readonly passed: boolean
  /** Everything that the command printed. */
  readonly printed: string
}

/** tsc and the linter's type checker free little before they end: collecting garbage only when memory gets short saves a third of their work. */
const fewerCollections = { GOGC: "off", GOMEMLIMIT: "2GiB" }

/** Our own scripts are stripped and compiled once, as in `npm test`. */
const keptCode = { NODE_COMPILE_CACHE: join(root, ".cache", "compile") }

export async function runCheck({ command, args }: Check): Promise<Outcome> {
  const env = { ...fewerCollections, ...keptCode, ...process.env }
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", resolve)
  })
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { passed: code === 0, printed: `${out}${err}` }
}
