import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { test } from "node:test"

// Types, lint, format and layers as tests, so that `npm test` is one run with one count.

const root = dirname(import.meta.dirname)
const bin = (name: string) => join(root, "node_modules", ".bin", name)

/** Other files of tests run beside it: one checker uses less of the processors than four, and later runs look only at what has changed. */
const types = (project: string): readonly [string, ...string[]] => {
  const known = join(root, ".cache", "types", `${project.replaceAll("/", "-")}.tsbuildinfo`)
  return [bin("tsc"), "-p", project, "--checkers", "1", "--incremental", "--tsBuildInfoFile", known]
}

const checks: Record<string, readonly [string, ...string[]]> = {
  types: types("tsconfig.json"),
  "types of what the browser imports": types("tsconfig.portable.json"),
  "types of the playground": types("playground"),
  "types of the browser tests": types("test/browser"),
  lint: [bin("oxlint")],
  format: [bin("oxfmt"), "--check"],
  layers: [process.execPath, "scripts/check-layers.ts"],
}

for (const [name, [command, ...args]] of Object.entries(checks)) {
  test(name, async () => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
    const exited = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject)
      child.on("close", resolve)
    })
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
    assert.equal(code, 0, `${name} failed (npm run check):\n${out}${err}`)
  })
}
