import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { affectedBy } from "./affected-by.ts"
import { root } from "./setup.mjs"

// Lints the files that have changed since everything passed, and all that import them: the rules know types, so a change of one file
// can break a rule in another. Without .cache, and when a setting has changed, it lints everything.
// `npx oxlint --fix` repairs what can be repaired.

const cache = join(root, ".cache", "lint.json")

const hash = (text: string): string => createHash("sha256").update(text).digest("base64").slice(0, 16)
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const found = (pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => /(^|[\\/])(node_modules|dist|data|\.cache|\.git)$/.test(path) })
    .map((path) => path.replaceAll("\\", "/"))
    .toSorted()

const files = new Map(found("**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}").map((path) => [path, read(path)]))
const settings = [".oxlintrc.json", "package-lock.json", ...found("**/tsconfig*.json")].map(read).join("\n")
const now: Record<string, string> = { settings: hash(settings) }
for (const [path, text] of files) now[path] = hash(text)
const passed: Record<string, string> = existsSync(cache)
  ? (JSON.parse(readFileSync(cache, "utf8")) as Record<string, string>)
  : {}

const changed = [...new Set([...Object.keys(now), ...Object.keys(passed)])].filter((path) => now[path] !== passed[path])
const affected = changed.includes("settings") ? new Set(files.keys()) : affectedBy(changed, files)
const isAll = affected.size > files.size / 2
const paths = isAll ? [] : [...affected]
const { status } =
  affected.size === 0
    ? { status: 0 }
    : spawnSync(join(root, "node_modules", ".bin", "oxlint"), ["--no-error-on-unmatched-pattern", ...paths], {
        cwd: root,
        stdio: "inherit",
      })
if (status === 0) {
  mkdirSync(dirname(cache), { recursive: true })
  // In one step: another check may read it at the same time.
  const fresh = `${cache}.${process.pid}`
  writeFileSync(fresh, JSON.stringify(now))
  renameSync(fresh, cache)
  console.log(`${affected.size} of ${files.size} files linted.`)
}
process.exitCode = status ?? 1
