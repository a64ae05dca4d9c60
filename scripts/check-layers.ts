import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { layerViolations } from "./layers.ts"

// Prints every import that goes against the architecture's layers (docs: CONTRIBUTING.md), and fails if there is one.

const root = dirname(import.meta.dirname)
const folders = ["src", "playground"].filter((folder) => existsSync(`${root}/${folder}`))
const paths = folders.flatMap((folder) =>
  globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root, exclude: (path) => path.endsWith("node_modules") }),
)
const files = new Map(paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(`${root}/${path}`, "utf8")]))
const violations = layerViolations(files)
for (const { file, line, message } of violations) console.error(`${file}:${line} ${message}`)
console.log(
  violations.length === 0 ? `Layers hold in ${files.size} files.` : `${violations.length} against the layers.`,
)
process.exitCode = violations.length === 0 ? 0 : 1
