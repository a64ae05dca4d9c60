import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Command } from "commander"
import about from "../../../package.json" with { type: "json" }
import { findInProject } from "../../compiler/project-path.ts"
import type { DocsParts } from "../../mcp-server/docs/docs-tools.ts"
import { diagnose } from "./diagnose.ts"
import { readFoundSource, readSource } from "./read-source.ts"
import { serveStdio } from "./mcp-serve.ts"
import { writeAtomically } from "./write-atomically.ts"

export function addMcpDocs(mcp: Command): void {
  mcp
    .command("docs")
    .summary("serve the checker and the documentation to coding agents")
    .description(
      "An MCP server over standard input and output for coding agents: tools that check, fix and format workflows, explain\n" +
        "diagnostics, search the documentation, and show examples. No network, and no files outside of this folder.",
    )
    .addHelpText(
      "after",
      `
Example, for an agent that reads .mcp.json:
  { "mcpServers": { "wire": { "command": "wire", "args": ["mcp", "docs"] } } }

Exit code: 0 when its client leaves.`,
    )
    .action(async () => {
      const { docsServer } = await import("../../mcp-server/docs/docs-server.ts")
      process.exitCode = await serveStdio(docsServer(partsOf(process.cwd()), about.version), "the documentation")
    })
}

function partsOf(folder: string): DocsParts {
  const root = realpathSync(folder)
  const packaged = packageRoot()
  const textsIn = (name: string, end: string): ReadonlyMap<string, string> => {
    const from = packaged === null ? null : join(packaged, name)
    const files = from !== null && existsSync(from) ? readdirSync(from).filter((file) => file.endsWith(end)) : []
    return new Map(files.toSorted().map((file) => [file, readFileSync(join(from ?? "", file), "utf8")]))
  }
  return {
    read(path) {
      const file = inside(root, path)
      if (file === null) return { problem: `${path} is not a .wire file of this folder.` }
      const { text, problem } = readFoundSource(file, root)
      return text === null ? { problem: `${path} ${problem}.` } : { text }
    },
    write(path, text) {
      const file = inside(root, path)
      if (file === null) return `${path} is not a .wire file of this folder.`
      const before = readSource(file)
      const problem = before.text === null ? before.problem : writeAtomically(file, text, before.version)
      return problem === null ? null : `${path} ${problem}.`
    },
    diagnose: (text, path) => diagnose(path === undefined ? "source.wire" : (inside(root, path) ?? path), text).issues,
    pages: () => textsIn("docs", ".md"),
    examples: () =>
      new Map(
        [...textsIn("examples", ".wire")]
          .filter(([file]) => !file.endsWith(".test.wire"))
          .map(([file, text]) => [file.replace(/\.wire$/, ""), text]),
      ),
  }
}

/** The real path of a file of the folder; null for one that is elsewhere, by way of a link too. */
function inside(root: string, path: string): string | null {
  if (!path.endsWith(".wire")) return null
  const found = findInProject(root, path)
  if ("real" in found) return found.real
  // Reading what is not there reports it.
  return found.problem === "missing" ? resolve(root, path) : null
}

/** Where docs/ and examples/ are: beside the build in the package, above the sources in the repository. */
function packageRoot(): string | null {
  let folder = import.meta.dirname
  for (let up = 0; up < 5; up++) {
    if (existsSync(join(folder, "docs", "language.md"))) return folder
    folder = dirname(folder)
  }
  return null
}
