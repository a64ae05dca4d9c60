import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Command } from "commander"
import about from "../../../package.json" with { type: "json" }
import { complain } from "../terminal/complain.ts"
import { whyUnwritable } from "./file-errors.ts"
import { visibleText } from "../../base/visible-text.ts"

export function addInit(program: Command): void {
  program
    .command("init")
    .summary("start a project of workflows")
    .description(
      "Writes a workflow, its test, a README, a .gitignore and a GitHub Actions file that checks, formats and tests. Nothing that\n" +
        "is there is overwritten.",
    )
    .argument("[folder]", "where to write; made if it is not there", ".")
    .addHelpText(
      "after",
      `
Examples:
  wire init my-workflows
  cd my-workflows && wire test && wire serve workflows

Exit code: 0 when all was written, 1 when one of the files is there already or cannot be written.`,
    )
    .action((folder: string) => {
      process.exitCode = init(folder)
    })
}

function init(folder: string): number {
  const there = Object.keys(files).filter((file) => existsSync(join(folder, file)))
  if (there.length > 0) {
    complain(visibleText(`${there.map((file) => join(folder, file)).join(", ")} exists already: nothing was written.`))
    return 1
  }
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file)
    try {
      mkdirSync(dirname(path), { recursive: true })
      // Never over a file that somebody else has made meanwhile.
      writeFileSync(path, text, { flag: "wx" })
    } catch (error) {
      complain(visibleText(`${path} ${whyUnwritable(error)}.`))
      return 1
    }
  }
  const names = Object.keys(files).map((file) => `  ${visibleText(join(folder, file))}\n`)
  const enter = folder === "." ? "" : `  cd ${visibleText(folder)}\n`
  process.stdout.write(`Wrote\n${names.join("")}\nTry it:\n${enter}  wire test\n  wire serve workflows\n`)
  return 0
}

const workflow = `// Sorts a support ticket: how bad it is, and what it is about.

input {
    text: string
}

provider demo from openai {
    endpoint: "demo"
}

model fast from demo {
    id: "demo"
}

agent triage {
    model: model.fast
    instruction: "Sort this support ticket: {{ input.text }}"

    output {
        severity: "low" | "high"

        /// One sentence.
        summary: string
    }
}

output {
    severity: agent.triage.severity
    summary: agent.triage.summary
    escalated: agent.triage.severity == "high"
}
`

const test = `test "an outage is escalated" {
    input {
        text: "The site is down"
    }

    given agent.triage: { severity: "high", summary: "Outage" }

    expect output.escalated == true
    expect asked agent.triage contains "The site is down"
}

test "a question is not escalated" {
    input {
        text: "How do I change my name?"
    }

    given agent.triage: { severity: "low", summary: "Question" }

    expect output.escalated == false
}
`

const ignored = `node_modules/
data/
secrets.json
`

const archive = `wireworks-${about.version}.tgz`

const actions = `name: workflows

on: [push, pull_request]

jobs:
  workflows:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 24
      - run: npm install --global ./${archive}
      - run: wire check workflows
      - run: wire fmt --check workflows
      - run: wire test workflows
`

const readme = `# Workflows

Wireworks is not on npm yet: \`npm run package\` in a checkout of its repository writes \`${archive}\`. Put it into this folder and commit it:
the GitHub Actions file installs it, too.

\`\`\`sh
npm install --global ./${archive}      # the command \`wire\`
\`\`\`

\`\`\`sh
wire test                 # runs the tests; calls nobody
wire serve workflows      # http://127.0.0.1:13703/workflows
\`\`\`

\`workflows/triage.wire\` is the workflow \`triage\`:

\`\`\`sh
curl http://127.0.0.1:13703/workflows/triage/execute \\
  -H 'Content-Type: application/json' -d '{ "input": { "text": "The site is down" } }'
\`\`\`

It runs on the demo model, which needs no key. To use another one, change \`provider\` and \`model\`, and give the key as a secret of
the server: \`WIRE_SECRET_API_KEY=… wire serve workflows\` is \`secrets.api_key\` in the workflow.

Typed calls from TypeScript:

\`\`\`sh
npm install ./${archive}
wire types workflows --out wire.d.ts
\`\`\`

\`\`\`ts
import { createClient } from "wireworks/client"
import type { Workflows } from "./wire.d.ts"

const client = createClient<Workflows>({ baseUrl: "http://127.0.0.1:13703" })
const { output } = await client.workflow("triage").execute({ text: "The site is down" })
console.log(output.summary)
\`\`\`
`

const files: Readonly<Record<string, string>> = {
  "workflows/triage.wire": workflow,
  "workflows/triage.test.wire": test,
  ".github/workflows/workflows.yml": actions,
  ".gitignore": ignored,
  "README.md": readme,
}
