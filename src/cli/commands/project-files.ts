import { visibleJson } from "../../base/visible-text.ts"
import { compile } from "../../compile.ts"
import { openingComment } from "../../source/opening-comment.ts"
import { reachOf } from "../../trust/reach.ts"
import { archiveName } from "./own-package.ts"
import { push, pushTest, reminder, reminderTest } from "./trigger-files.ts"
import { answersOf } from "../../workflows/types/answers-of.ts"
import { printTypeScript } from "../../workflows/types/print-typescript.ts"

// The files of the project that `wire init` makes. It runs as it is: on the demo model, and from a recording.

const triage = `// Sorts a support ticket: how bad it is, and what it is about. Strangers write tickets: the agent that reads them uses no tools.

input {
    text: untrusted string
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

const triageTest = `test "an outage is escalated" {
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

const reply = `// Drafts the answer to a ticket with a hosted model. Its test plays a recording, and needs no key.
input {
    text: string
    severity: "low" | "high"
}

secrets {
    api_key: string
}

provider openai from openai {
    api_key: secrets.api_key
}

model mini from openai {
    id: "gpt-4.1-mini"
}

agent reply {
    model: model.mini
    instruction: "Answer this ticket of {{ input.severity }} severity in two sentences: {{ input.text }}"

    output {
        message: string
    }
}

output {
    message: agent.reply.message
}
`

const replyTest = `// Played from reply.test.recording.json. To record it anew:
//     wire test workflows/reply.test.wire --record --secret api_key=env:OPENAI_API_KEY
test "an outage gets an apology" {
    input {
        text: "The site is down"
        severity: "high"
    }

    expect output.message contains "sorry"
}
`

const message =
  "We are sorry that the site is down for you. Our engineers are looking into it, and you will hear from us within the hour."

const usage = { cached_tokens: 0, input_tokens: 61, output_tokens: 34, reasoning_tokens: 0, written_tokens: 0 }

/** A recording as `wire test --record` writes it; its key is the digest of the request. */
const recording = {
  exchanges: {
    "326d463d9cee5653bd6f1c56c07d6e77": {
      answers: [
        {
          calls: [{ attempt: 1, format: "json_schema", usage }],
          kind: "output",
          message: { parts: [{ text: JSON.stringify({ message }), type: "text" }], role: "assistant" },
          output: { message },
          usage,
        },
      ],
      request: {
        api: "responses",
        inference: {},
        input: [
          {
            parts: [{ text: "Answer this ticket of high severity in two sentences: The site is down", type: "text" }],
            role: "user",
          },
        ],
        kind: "model",
        model: "gpt-4.1-mini",
        output: {
          name: "reply",
          schema: {
            additionalProperties: false,
            properties: { message: { type: "string" } },
            required: ["message"],
            type: "object",
          },
        },
        response_format: "auto",
        system: null,
        tools: [],
      },
    },
  },
  version: 1,
}

const workflows = { reply, triage }

/** What `wire reach --json` prints: CI fails when a change makes it more. */
function reachFiles(): Record<string, string> {
  const files = Object.entries(workflows).map(([name, text]) => {
    return [`workflows/${name}.reach.json`, `${visibleJson(reachOf(compile(text).program), 2)}\n`] as const
  })
  return Object.fromEntries(files)
}

function typesFile(more: Readonly<Record<string, string>>): string {
  const all = Object.entries({ ...workflows, ...more }).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const found = all.map(([name, text]) => {
    const { plan, program } = compile(text)
    if (plan === undefined) throw new Error(`The workflow ${name} of a new project is wrong`)
    const { input, output, types } = plan
    return { name, description: openingComment(text), input, output, answers: answersOf(program), types }
  })
  return printTypeScript(found)
}

const call = `import { createClient } from "wireworks/client"
import type { Workflows } from "./wire.d.ts"

const client = createClient<Workflows>({ baseUrl: "http://127.0.0.1:13703" })
const { output } = await client.workflow("triage").execute({ text: "The site is down" })
console.log(output.severity, output.summary)
`

const names = Object.keys(workflows)
const reachChecks = names.map((name) => `wire reach workflows/${name}.wire --check workflows/${name}.reach.json`)

const packageFile = {
  name: "workflows",
  private: true,
  type: "module",
  engines: { node: ">=22.18.0" },
  scripts: {
    // npm passes SIGTERM to the shell alone, and a shell that ends leaves the service running. Windows has no `exec`.
    start: process.platform === "win32" ? "wire serve workflows" : "exec wire serve workflows",
    call: "node src/triage.ts",
    check: [
      "wire check workflows",
      "wire fmt --check workflows",
      ...reachChecks,
      "wire types workflows --out src/wire.d.ts --check",
      "tsc",
    ].join(" && "),
    reach: names.map((name) => `wire reach workflows/${name}.wire --json > workflows/${name}.reach.json`).join(" && "),
    test: "wire test workflows",
    types: "wire types workflows --out src/wire.d.ts",
  },
  devDependencies: { typescript: "^5.9.0 || ^7.0.0", wireworks: `file:${archiveName}` },
}

const compilerOptions = {
  target: "es2024",
  module: "nodenext",
  lib: ["es2024", "dom"],
  types: [],
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
}

const ignored = `node_modules/
data/
secrets.json
.env
`

const actions = `name: workflows

on: [push, pull_request]

permissions:
  contents: read

jobs:
  workflows:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with:
          node-version: 24
      - run: npm install
      - run: npm run check
      - run: npm test
`

const devcontainer = {
  name: "Workflows",
  image: "mcr.microsoft.com/devcontainers/javascript-node:24",
  postCreateCommand: "npm install",
  forwardPorts: [13703],
  portsAttributes: { "13703": { label: "Wireworks" } },
}

const readme = `# Workflows

\`\`\`sh
npm install
npm test                  # runs the tests; calls nobody
npm start                 # http://127.0.0.1:13703/playground
npm run call              # in another terminal: a typed call of the workflow \`triage\`
npm run check             # what CI checks
\`\`\`

Wireworks is not on npm: \`package.json\` names the file \`${archiveName}\` of this folder. Commit it. \`npm run package\` in a checkout of Wireworks writes it, and
\`npm install --save-dev ./wireworks-VERSION.tgz\` takes a newer one.

| file | |
|---|---|
| \`workflows/triage.wire\` | the workflow \`triage\`, on the demo model, which needs no key |
| \`workflows/triage.test.wire\` | its tests, with given results |
| \`workflows/triage.reach.json\` | what it can do at most. CI fails when a change makes it more; \`npm run reach\` writes it again, for the reviewer to see |
| \`workflows/reply.wire\` | the workflow \`reply\`, on a hosted model: \`WIRE_SECRET_API_KEY=… npm start\` gives the server its key |
| \`workflows/reply.test.wire\` | its test, which plays \`reply.test.recording.json\` |
| \`src/triage.ts\` | a typed call; \`npm run types\` writes \`src/wire.d.ts\` after a change of a workflow |
| \`.github/workflows/workflows.yml\` | the same checks and tests for every push |
| \`.devcontainer/devcontainer.json\` | the same tools in a container |

Without the client:

\`\`\`sh
curl http://127.0.0.1:13703/workflows/triage/execute \\
  -H 'Content-Type: application/json' -d '{ "input": { "text": "The site is down" } }'
\`\`\`
`

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

/** Workflows that start by themselves. */
export interface Triggering {
  readonly schedule?: true
  readonly webhook?: true
}

/** The files of a new project, by path. */
export function projectFiles({ schedule, webhook }: Triggering = {}): Readonly<Record<string, string>> {
  const more = { ...(schedule === true && { reminder }), ...(webhook === true && { push }) }
  return {
    "package.json": json(packageFile),
    "tsconfig.json": json({ compilerOptions, include: ["src"] }),
    "workflows/triage.wire": triage,
    "workflows/triage.test.wire": triageTest,
    "workflows/reply.wire": reply,
    "workflows/reply.test.wire": replyTest,
    "workflows/reply.test.recording.json": json(recording),
    ...(schedule === true && { "workflows/reminder.wire": reminder, "workflows/reminder.test.wire": reminderTest }),
    ...(webhook === true && { "workflows/push.wire": push, "workflows/push.test.wire": pushTest }),
    ...reachFiles(),
    "src/triage.ts": call,
    "src/wire.d.ts": typesFile(more),
    ".github/workflows/workflows.yml": actions,
    ".devcontainer/devcontainer.json": json(devcontainer),
    ".gitignore": ignored,
    "README.md": readme,
  }
}
