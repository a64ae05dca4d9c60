import type { CodeRules } from "../../src/compile.ts"
import type { CheckedCode } from "../../src/source/code-files.ts"

/** Files that the workflows of cases and of the documentation use. docs/modules.md shows the first ones. */
export const sampleModules: Readonly<Record<string, string>> = {
  "rank.js": "/** Sorts numbers. */\nexport function rank(rows) {\n  return rows.toSorted((a, b) => b - a)\n}\n",
  "lib/score.ts": 'import { rank } from "../rank.js"\nexport default (rows: number[]) => rank(rows)[0] ?? 0\n',
  "orders.wire": `input {
    customer: string
    note: maybe string
}

output {
    team: "sales"

    parts: {
        first: input.customer
    }
}
`,
  "broken.js": "export function parse(text) {\n  return text.split(\n}\n",
  "values.js": "export const rank = 1\nexport async function wait() {}\nexport function* each() {}\n",
  "common.wire": `secrets {
    api_key: string
    tracker_key: maybe string
}

schema place {
    line: integer
}

schema finding {
    text: string
    place: schema.place
}

provider llm from openai {
    endpoint: "demo"
    api_key: secrets.api_key
}

model fast from llm {
    id: "demo"
}

mcp tracker {
    endpoint: "demo"

    headers {
        authorization: secrets.tracker_key
    }
}

tool search from mcp.tracker.tool.find-books {
    input {
        query: string
    }

    requires: none
}
`,
  "free.wire": `provider llm from openai {
    endpoint: "demo"
}

model fast from llm {
    id: "demo"
}
`,
  "steered.wire": `input {
    url: string
}

provider llm from openai {
    endpoint: input.url
}

model fast from llm {
    id: "demo"
}
`,
  "mail.wire": `mcp mail {
    endpoint: "demo"
}

tool inbox from mcp.mail.tool.inbox {
    gives: untrusted
}

tool send from mcp.mail.tool.send {
    input {
        text: string
    }

    requires: trusted
}
`,
  "broken.wire": "model fast from nowhere {\n    id: 1\n}\n",
  "circle.wire": 'import { model.fast } from "./main.wire"\n',
  "again.wire":
    'import { model.fast } from "./free.wire"\n\nmodel other from llm {\n    id: "demo"\n}\n\nprovider llm from openai {\n    endpoint: "demo"\n}\n',
  "triage.wire": `// Sorts one ticket.

input {
    text: string
    product: maybe string
}

secrets {
    api_key: string
    trace_key: maybe string
}

schema ticket {
    urgent: boolean
    topic: enum { bug, question }
}

provider llm from openai {
    endpoint: "demo"
    api_key: secrets.api_key
}

model fast from llm {
    id: "demo"
}

agent classify {
    model: model.fast
    instruction: "Sort {{ input.text }} about {{ input.product ?? "anything" }}."

    output {
        ticket: schema.ticket
        score: integer
    }
}

output {
    ticket: agent.classify.ticket
    score: agent.classify.score
    text: input.text
}
`,
  "steers.wire": `input {
    url: string
    text: string
}

provider llm from openai {
    endpoint: input.url
}

model fast from llm {
    id: "demo"
}

agent answer {
    model: model.fast
    instruction: input.text

    output {
        text: string
    }
}

output {
    text: agent.answer.text
}
`,
  "steers-below.wire": `workflow inner from "./steers.wire"

input {
    address: string
    text: string
}

dynamic {
    answered: call workflow.inner {
        input {
            url: "https://{{ input.address }}/v1"
            text: input.text
        }
    }
}

output {
    text: dynamic.answered.text
}
`,
  "calls-main.wire": `workflow main from "./main.wire"

output {
    text: "x"
}
`,
  "refunds.wire": `input {
    mail: string
    amount: number
    note: maybe string
}

provider llm from openai {
    endpoint: "demo"
}

model fast from llm {
    id: "demo"
}

mcp shop {
    endpoint: "demo"
}

tool refund from mcp.shop.tool.refund {
    input {
        amount: number
        note: maybe string
    }

    requires: trusted
}

tool search from mcp.shop.tool.search_books {
    input {
        query: string
    }
}

agent reader {
    model: model.fast
    instruction: input.mail

    output {
        text: string
        angry: boolean
    }
}

dynamic {
    refunded: call tool.refund { input { amount: input.amount, note: input.note } }
    found: call tool.search { input { query: "refund" } }
}

output {
    text: agent.reader.text
    angry: agent.reader.angry
    found: dynamic.found
}
`,
}

/** What the sandbox says of the code files among them. */
const sampleCode: Readonly<Record<string, CheckedCode>> = {
  "rank.js": { exports: { rank: "function" } },
  "lib/score.ts": { exports: { default: "function" } },
  "broken.js": {
    problem: {
      kind: "invalid-code",
      message: "SyntaxError: unexpected token in expression: '}'",
      file: "broken.js",
      line: 3,
      column: 1,
    },
  },
  "values.js": { exports: { rank: "value", wait: "async", each: "generator" } },
}

/** A source that names the setting stands for one of a service that takes no code. */
export function sampleRules(source: string): CodeRules {
  return { allowed: !source.includes("WIRE_CODE=none"), checked: ({ entry }) => sampleCode[entry] }
}
