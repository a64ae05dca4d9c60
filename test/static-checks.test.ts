import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { test } from "node:test"

// Types, lint, format and layers as tests, so that `npm test` is one run with one count.

const root = dirname(import.meta.dirname)
const bin = (name: string) => join(root, "node_modules", ".bin", name)

const checks: Record<string, readonly [string, ...string[]]> = {
  types: [bin("tsc"), "-p", "tsconfig.json"],
  "types of what the browser imports": [bin("tsc"), "-p", "tsconfig.portable.json"],
  "types of the playground": [bin("tsc"), "-p", "playground"],
  "types of the browser tests": [bin("tsc"), "-p", "test/browser"],
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
