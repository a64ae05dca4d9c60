import { standardOutput } from "../terminal/screen.ts"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { Command } from "commander"
import { whyUnwritable } from "./file-errors.ts"
import { packCommand } from "./own-package.ts"
import { projectFiles, type Triggering } from "./project-files.ts"
import { visibleText } from "../../base/visible-text.ts"
import { CommandFailure } from "../terminal/command-failure.ts"

export function initCommand(command: Command): void {
  command
    .description(
      "Writes a project that runs as it is: workflows, tests, a recording, what each can reach, a typed call, package.json,\n" +
        "tsconfig.json, a GitHub Actions file, a devcontainer and an AGENTS.md for coding agents. Nothing that is there is overwritten.",
    )
    .option("--schedule", "also write a workflow that starts at a time of day")
    .option("--webhook", "also write a workflow that a push on GitHub starts")
    .option("--skill", "also write .agents/skills/wire/SKILL.md, for coding agents that read skills")
    .argument("[folder]", "where to write; made if it is not there", ".")
    .addHelpText(
      "after",
      `
Examples:
  wire init my-workflows
  cd my-workflows

It prints the commands that follow: the first writes this version of wireworks, which is not on npm, into the project.

Exit code: 0 when all was written, 1 when one of the files is there already or cannot be written.`,
    )
    .action((folder: string, options: Triggering & { skill?: true }) => {
      const ofSkill = options.skill === true ? skillFiles : {}
      init(folder, { ...projectFiles(options), ...agentFiles, ...ofSkill })
    })
}

function init(folder: string, files: Readonly<Record<string, string>>): void {
  const there = Object.keys(files).filter((file) => existsSync(join(folder, file)))
  if (there.length > 0) {
    const names = there.map((file) => join(folder, file)).join(", ")
    throw new CommandFailure(visibleText(`${names} exists already: nothing was written.`))
  }
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file)
    try {
      mkdirSync(dirname(path), { recursive: true })
      // Never over a file that somebody else has made meanwhile.
      writeFileSync(path, text, { flag: "wx" })
    } catch (error) {
      throw new CommandFailure(visibleText(`${path} ${whyUnwritable(error)}.`))
    }
  }
  const names = Object.keys(files).map((file) => `  ${visibleText(join(folder, file))}\n`)
  const enter = folder === "." ? "" : `  cd ${visibleText(folder)}\n`
  const pack = packCommand(resolve(folder))
  const steps = `${enter}  ${visibleText(pack)}\n  npm install\n  npm test\n  npm start`
  standardOutput.print(`Wrote\n${names.join("")}\nTry it:\n${steps}`)
}

// What `wire init` writes for coding agents.

const howTo = `- Before you write a \`.wire\` file, read the language on one page: \`GET /llms.txt\` of a running service, or \`docs/llms.txt\` of the package.
- \`wire check workflows\` reports what is wrong: each message has a code and a hint that, followed, works. Run it after every change.
- \`wire fmt workflows\` writes the canonical form.
- \`wire test workflows\` runs the tests (\`NAME.test.wire\` beside \`NAME.wire\`). They call nobody.
- \`wire run workflows/triage.wire\` runs a workflow. The demo model (\`endpoint: "demo"\`) needs no key.
- \`wire mcp docs\` is an MCP server with the tools check, format, explain, search_docs, examples and reach.
- Keys are secrets: declare them in \`secrets { }\`, never write them into a file.
`

const agentFiles: Readonly<Record<string, string>> = {
  "AGENTS.md": `# For coding agents

Every \`.wire\` file in \`workflows/\` is an AI workflow that Wireworks checks, tests and serves.

${howTo}`,
}

const skillFiles: Readonly<Record<string, string>> = {
  ".agents/skills/wire/SKILL.md": `---
name: wire
description: Write, check, test and run Wireworks workflows (.wire files). Use when a task touches a .wire file or asks for an AI workflow.
---

# Workflows in .wire files

${howTo}`,
}
