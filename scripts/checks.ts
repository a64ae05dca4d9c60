import { join } from "node:path"
import { root } from "./setup.mjs"

/** A check of the sources that needs no test: a command that fails when it finds something. */
export interface Check {
  /** The part of `npm run check -- PART` that it belongs to. */
  readonly part: string
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
}

const bin = (name: string): string => join(root, "node_modules", ".bin", name)

/** What tsc knows of a project stays in .cache: the next run checks only what has changed. One checker shares more than four, in less time of the processors. */
function types(project: string, name: string): Check {
  const known = join(root, ".cache", "types", `${project.replaceAll("/", "-")}.tsbuildinfo`)
  const args = ["-p", project, "--checkers", "1", "--incremental", "--tsBuildInfoFile", known]
  return { part: "types", name, command: bin("tsc"), args }
}

/** The long ones first, because they run side by side. */
export const checks: readonly Check[] = [
  types("tsconfig.json", "types"),
  { part: "lint", name: "lint", command: process.execPath, args: [join(root, "scripts", "lint.ts")] },
  types("test/browser", "types of the browser tests"),
  types("playground", "types of the playground"),
  types("tsconfig.portable.json", "types of what the browser imports"),
  { part: "format", name: "format", command: bin("oxfmt"), args: ["--check"] },
  { part: "layers", name: "layers", command: process.execPath, args: [join(root, "scripts", "check-layers.ts")] },
  { part: "docs", name: "docs", command: process.execPath, args: [join(root, "scripts", "docs.ts"), "--check"] },
  { part: "prose", name: "prose", command: process.execPath, args: [join(root, "scripts", "check-prose.ts")] },
]
