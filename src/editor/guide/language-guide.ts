import { functionNames, functionRow } from "../../check/function-table.ts"
import { stepFunctionNames, stepFunctions } from "../../check/step-functions.ts"
import { functionTexts, stepFunctionTexts } from "../function-texts.ts"
import { codes } from "../../source/codes.ts"
import { declarationWords } from "../../syntax/declaration-start.ts"
import { propertyTable, rowsOf, takesBlock } from "../../syntax/property-table.ts"
import { declarationTexts, propertyText } from "../explanations.ts"

/** The pages of the documentation, and the question that each answers. */
export const pages: Readonly<Record<string, string>> = {
  "architecture.md": "which way does a request go through the code?",
  "client.md": "how do I call the service from TypeScript?",
  "clients.md": "how do I talk to a workflow with the clients that I have: OpenAI, curl, others?",
  "cluster.md": "how do several machines share the work?",
  "code.md": "how do I write a function in JavaScript?",
  "compare.md": "when is Temporal, LangGraph, Mastra, BAML or plain code the better choice?",
  "compatibility.md": "what stays compatible, and what do files written for other versions need?",
  "cost-and-limits.md": "how do I bound tokens, money, calls and time?",
  "deploy.md": "how do I put it on a server, behind a proxy, into a container?",
  "diagnostics.md": "what does this error mean, and how do I fix it?",
  "editors.md": "how do I set up my editor?",
  "http.md": "which routes, fields, events and errors are there?",
  "language.md": "what can a `.wire` file say?",
  "modules.md": "how do workflows share models, schemas and tools?",
  "mcp.md": "how do models and steps use tools, resources and prompts?",
  "operations.md": "which logs, metrics and traces are there; how do I back up, upgrade, change keys?",
  "people.md": "how does a run ask people, and wait for them?",
  "performance.md": "how fast is it, and how was that measured?",
  "playground.md": "what can I do in the browser?",
  "console.md": "where do I see all runs of a service?",
  "providers.md": "how do I call OpenAI, Anthropic, Google, local models?",
  "security.md": "what does the service protect, and what not?",
  "settings.md": "which settings are there, with which defaults?",
  "simulation.md": "how are crashes, lost messages and wrong clocks tested?",
  "testing.md": "how do I test a workflow without calling a model?",
  "tools.md": "how do I call an HTTP API, and when is MCP better?",
  "triggers.md": "how do a time of day or a webhook start a run?",
  "trust.md": "how do I keep strangers' words from acting, and private data from leaving?",
  "tutorial.md": "how do I begin?",
  "files.md": "how do I send files, and where are they kept?",
  "releases.md": "how do I try a new version on a share of the runs?",
  "scores.md": "how do I judge runs after they have completed?",
  "waits.md": "how does a run wait for a time, or for an event?",
  "workflows.md": "how does a folder become an API with types?",
}

/** The whole language on one page, for a model that has to write workflows. Its tables are those of the code. */
export function languageGuide(): string {
  const parts: Readonly<Record<string, () => string>> = {
    pages: () => rows(Object.entries(pages).map(([page, text]) => `- [${page.slice(0, -3)}](docs/${page}): ${text}`)),
    declarations: () => rows(declarationWords.map((word) => `- \`${word}\`: ${declarationTexts[word].text}`)),
    functions: () =>
      rows([
        ...functionNames.map((name) => `- \`${functionRow(name).forms.join("`, `")}\`: ${functionTexts[name].text}`),
        ...stepFunctionNames.map((name) => `- \`${stepFunctions[name]}\`: ${stepFunctionTexts[name]}`),
      ]),
    properties: () => {
      const said = new Map<string, string>()
      const places = Object.keys(propertyTable) as (keyof typeof propertyTable)[]
      return places.map((place) => propertiesOf(place, said)).join("\n\n")
    },
    codes: () => namesOf(Object.keys(codes)),
  }
  return text.replaceAll(/^\{\{(\w+)\}\}$/gm, (_, name: string) => parts[name]?.() ?? "")
}

/** `said`: long lines, with the place that has each: it is named where the same is said again. */
function propertiesOf(place: keyof typeof propertyTable, said: Map<string, string>): string {
  const lines: string[] = []
  const elsewhere = new Map<string, string[]>()
  for (const [name, { form }] of rowsOf(place)) {
    const text = propertyText(place, name) ?? ""
    const written = takesBlock(form) ? `${name} { }` : name
    const line = `- \`${written}\`: ${text}`
    const before = said.get(line)
    if (before === undefined) lines.push(line)
    else elsewhere.set(before, [...(elsewhere.get(before) ?? []), written])
    if (before === undefined && text.length > 60) said.set(line, place)
  }
  for (const [before, names] of elsewhere) lines.push(`- ${namesOf(names)}: as in \`${before}\`.`)
  return rows([`\`${place}\`:`, "", ...lines])
}

function namesOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ")
}

function rows(lines: readonly string[]): string {
  return lines.join("\n")
}

const text = `# Wireworks

Wireworks is a self-hosted HTTP service that runs AI workflows. A workflow is one \`.wire\` file: typed input, steps by models (\`agent\`), by people (\`ask\`), by waiting (\`wait\`: a time, an event) and by computation (\`dynamic\`), typed output. It is checked as a whole before
the first model call. This page is the whole language, for a model that has to write \`.wire\` files.

How to work: write the file, run \`wire check FILE\` (every message has a code, a place and a hint that, followed, works), \`wire fmt FILE\`, \`wire test\`. \`wire mcp docs\` is an MCP server with the tools
\`check\`, \`format\`, \`explain\`, \`search_docs\`, \`examples\` and \`reach\`.

## Pages

{{pages}}

## A whole workflow

\`\`\`wire
// Sorts support tickets and answers the urgent ones.

input {
    tickets: [{ id: integer, text: string, open: boolean }]
    tone: maybe string
}

secrets {
    api_key: string
}

provider llm from openai {
    endpoint: "https://api.openai.com/v1"
    api_key: secrets.api_key
}

model fast from llm {
    id: "gpt-4.1-mini"

    inference {
        temperature: 0.2
    }
}

schema finding {
    severity: enum { low, high }

    /// One sentence.
    summary: string
}

agent triage for ticket in input.tickets when ticket.open {
    model: model.fast
    instruction: "Sort this ticket: {{ ticket.text }}"
    on_failure: skip

    output {
        finding: schema.finding
    }
}

dynamic {
    urgent: [
        one.finding.summary
        for one in agent.triage
        when one != null && one.finding.severity == "high"
    ]
}

agent answer when length(dynamic.urgent) > 0 {
    model: model.fast
    instruction: """
        Answer these in a tone that is {{ input.tone ?? "friendly" }}:
        {{ dynamic.urgent }}
    """

    output {
        text: string
    }

    require length(result.text) <= 500 else "At most 500 characters."
}

output {
    severities: agent.triage.**.finding.severity
    answer: agent.answer?.text ?? "Nothing is urgent."
}
\`\`\`

- Order does not matter: steps run as soon as what they refer to is there, side by side. There is no \`depends_on\`, no \`return\`, no \`if\`: use \`when\`, \`match\` and \`??\`.
- Every agent has \`model\`, \`instruction\` and \`output { }\`. The model must answer with exactly these fields; the service repairs answers that do not fit.
- \`agent.x.field\` is a field of the output. Of an agent with \`for\` it is an array: \`agent.x.*.field\`. Of an agent with \`when\` or \`on_failure: skip\` it may be null: \`agent.x?.field\`.
- \`endpoint: "demo"\` with \`id: "demo"\` is a built-in model for trying out: no key, no network.
- \`{{ expression }}\` puts a value into a string. Lists and objects become JSON. There are no filters, loops or conditions inside of strings: compute in \`dynamic\`.
- Fields are separated by line breaks or commas. Strings have double quotes; long ones \`"""\`. Comments are \`//\`; \`///\` before a field becomes its description, which the model sees.

## Declarations

{{declarations}}

## Types

\`string\`, \`boolean\`, \`number\` (or \`float\`), \`integer\`, \`object\` (any object), \`file\`, \`null\`, \`"literal"\`, \`enum { a, b }\`, \`[T]\` (array), \`[T; 3]\`, \`(T, U)\` (tuple), \`{ a: T, b: U }\`, \`maybe T\` (T or null), \`T | U\`,
\`variant tag { case { … } }\`, \`schema.name\`. No field is optional: write \`maybe T\`. There is no \`any\`, \`list<T>\`, \`Optional\`, \`date\`.

\`\`\`wire
schema shape {
    /// Which form it has.
    form: variant kind {
        circle {
            radius: number
        }

        box {
            sides: (number, number)
        }
    }

    tags: [string]
    size: enum { small, "very large" }
    note: maybe string
    weight: integer | "unknown"
}

input {
    shape: schema.shape
}

output {
    radius: input.shape.form#circle.radius ?? 0

    text: match input.shape.form {
        circle: "a circle"
        box: "a box of {{ input.shape.form#box.sides[0] }}"
    }

    kind: input.shape.form.kind
    note: input.shape.note ?? "none"
}
\`\`\`

## Expressions

| form | |
|---|---|
| \`input.a.b\`, \`agent.x.f\`, \`ask.q.f\`, \`wait.w.f\`, \`dynamic.d\`, \`secrets.s\`, \`run.id\`, \`run.started_at\`, \`run.date\` | a value |
| \`a?.b\`, \`a ?? b\` | through null; a default |
| \`a[0]\` | an element; may be null |
| \`a.*.b\`, \`a.**.b\`, \`a.***.b\` | \`b\` of each element; without nulls; nulls fail the run |
| \`v#case.f\` | a field of a case of a variant; null for another case |
| \`match v { case: e … _ e }\` | a value by case, enum member, boolean or literal |
| \`[e for x in list when c by k descending]\` | a list from a list |
| \`==\` \`!=\` \`<\` \`<=\` \`>\` \`>=\` \`contains\` \`in\` \`&&\` \`\\|\\|\` \`!\` \`+\` \`-\` \`*\` \`/\` \`%\` | operators; \`+\` is for numbers only, texts are joined by \`"{{ a }}{{ b }}"\` |
| \`call tool.t { input { } }\`, \`read resource.r\`, \`render prompt.p\`, \`asset e { type: "image" }\` | tools, resources, prompts, pictures; \`call tool.t when c { … }\` is null unless c |
| \`{ a: 1 }\`, \`[1, 2]\`, \`"text"\`, \`true\`, \`null\` | literals |

Functions:

{{functions}}

## Agents: loops, conditions, tools, history

\`\`\`wire
input {
    question: string
    pages: [{ url: string, text: string }]
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
    price {
        input: 0.40
        output: 1.60
    }
}

model large from demo {
    id: "demo"
    price {
        input: 2
        output: 8
    }
}

mcp library {
    endpoint: "https://mcp.example.com/library"

    headers {
        "X-Team": "support"
    }
}

tool find_books from mcp.library.tool.find_books {
    input {
        query: string
    }

    output {
        titles: [string]
    }

    max_calls: 5
}

resource rules from mcp.library.resource.rules

from mcp.library {
    tool reserve {
        approval: required
    }

    prompt greeting
}

limits {
    cost: 0.50
    model_calls: 50
}

dynamic {
    books: call tool.find_books { input { query: input.question } }
    rules: read resource.rules
}

agent read for { url, text: page } in input.pages {
    model: [model.small, model.large]
    instruction: "{{ dynamic.label }}: {{ page }}"
    concurrency: 3
    dynamic {
        label: "Summarise {{ url }}"
    }

    output {
        summary: string
    }
}

agent research {
    model: model.large {
        inference {
            temperature: 0
        }
    }
    system: "You are a librarian. Rules: {{ dynamic.rules }}"
    instruction: "{{ render prompt.greeting }} Answer {{ input.question }} with {{ agent.read.*.summary }} and {{ dynamic.books.titles }}."
    uses: [tool.reserve { max_calls: 2 }]
    max_steps: 8
    file agent.read {
        name: "notes.json"
    }

    output {
        answer: string
    }
}

agent review {
    model: model.small
    context: compact agent.research
    instruction: "Is that right?"

    output {
        right: boolean
    }
}

output {
    answer: agent.research.answer
    right: agent.review.right
}
\`\`\`

## People, HTTP tools, trust, chats

\`\`\`wire
input {
    question: untrusted string
    history: [{ role: enum { user, assistant }, text: string }]
}

secrets {
    crm_token: string
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

api crm {
    endpoint: "https://crm.example.com/v2"

    headers {
        Authorization: "Bearer {{ secrets.crm_token }}"
    }
}

tool add_note from api.crm."POST /contacts/{id}/notes" {
    input {
        id: string
        text: string
    }

    requires: trusted
}

agent draft {
    model: model.small
    instruction: "Answer {{ input.question }} after {{ input.history }}"

    output {
        text: string
    }
}

ask review {
    question: "Send this?"
    show: agent.draft.text
    to: "editors"
    expires_seconds: 86_400
    on_expiry: { send: false }

    output {
        send: boolean
    }
}

dynamic {
    noted: match ask.review.send {
        true: call tool.add_note { input { id: "42", text: "sent" } }
        false: null
    }
}

chat {
    message: input.question
    history: input.history
    reply: output.reply
}

output {
    reply: match ask.review.send {
        true: agent.draft.text
        false: "Nobody approved an answer."
    }

    noted: dynamic.noted
}
\`\`\`

Trust: types of inputs and tools may say \`untrusted T\` and \`private T\`; tools \`requires: trusted\` (\`strict\` for money and deletion: closed values that strangers chose do not satisfy it) and \`gives: untrusted\`; backends and tools \`cleared: private\`. An exception is an expression with a reason:
\`trust value because "…"\`, \`release value because "…"\`. See docs/trust.md.

A test stands beside its workflow, as \`NAME.test.wire\`; it calls nobody:

\`\`\`text
test "an outage is escalated" {
    input { text: "The site is down" }
    given agent.triage: { severity: "high", summary: "Outage" }
    expect output.escalated == true
    expect asked agent.triage contains "The site is down"
}
\`\`\`

## Mistakes that models make

| not | but |
|---|---|
| \`agent a { prompt: … }\`, \`tools: [...]\` | \`instruction: …\`, \`uses: [tool.t]\` |
| \`output: { text: string }\` on an agent with values | types in an agent's \`output { text: string }\`, values in the workflow's \`output { text: agent.a.text }\` |
| \`{{ agent.a }}\` to get the text | \`{{ agent.a.text }}\`: an output is an object |
| \`input.name\` in a nested \`agent\` loop variable | the variable alone: \`for file in input.files\` then \`file.path\` |
| \`agent.each.summary\` of a looped agent | \`agent.each.*.summary\` |
| \`input.note\` of type \`maybe string\` in a text | \`{{ input.note ?? "none" }}\` |
| \`a \\|\\| "default"\`, \`a ? b : c\`, \`if … else\` | \`a ?? "default"\`, \`match c { true: b false: d }\`, \`when\` |
| \`"Hello " + name\` | \`"Hello {{ name }}"\` |
| \`severity == high\` | \`severity == "high"\` |
| \`items.length\`, \`items.map(…)\` | \`length(items)\`, \`[item.name for item in items]\` |
| \`list[string]\`, \`string[]\`, \`string?\`, \`Optional[T]\`, \`any\` | \`[string]\`, \`maybe string\`, \`object\` |
| \`api_key: "sk-…"\`, \`env.API_KEY\` | \`secrets { api_key: string }\` and \`api_key: secrets.api_key\` |
| \`model: "gpt-4.1"\` on an agent | declare \`provider\` and \`model\`, then \`model: model.fast\` |
| \`provider openai { … }\` | \`provider name from openai { … }\` |
| secrets in instructions, tools' \`input\` or conditions | \`bindings { token: secrets.token }\`, \`headers\`, \`api_key\` |
| \`# comment\`, \`/* */\`, \`'text'\`, trailing \`;\` | \`// comment\`, \`"text"\`, line breaks |
| \`depends_on\`, \`next\`, \`steps:\` | refer to the value; the order follows |
| \`agent.x.text\` where the agent has \`when\` | \`agent.x?.text ?? "…"\` |

## Properties

{{properties}}

## Diagnostic codes

{{codes}}
`
