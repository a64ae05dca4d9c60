import type { ExampleChange } from "./example-change.ts"

/** An example of each kind of change that CONTRIBUTING.md has a row for. */
export const exampleChanges: readonly ExampleChange[] = [
  {
    kind: "an event",
    edits: [
      {
        file: "src/log/event-schemas.ts",
        before: "  agent_failed: event(",
        insert:
          '  agent_reread: event("An answer came from the cache.", { ...about, entry: string({ description: "Its key." }) }),\n',
      },
      {
        file: "src/run/agent/agent.ts",
        before: "      if (found !== null && isJsonObject(output)) return this.#completed(",
        insert:
          '      if (found !== null) running.log.add("agent_reread", { ...this.#caller.about, entry: facts.slice(0, 12) })\n',
      },
      {
        file: "src/log/reduce/steps.ts",
        before: "  agent_failed(state, ",
        insert: `  agent_reread(state, { data }) {
    const node = nodeOf(state, \`agent.\${data.agent}\`)
    if (node !== undefined) node.attempts = 0
  },
`,
      },
      {
        file: "src/log/replay/steps.ts",
        before: "  agent_failed(scope, ",
        insert: `  agent_reread(scope, { data }) {
    scope.agent(data).summary = null
  },
`,
      },
    ],
    made: ["docs/http.md"],
    tests: ["src/api/events.test.ts", "src/server/openapi.test.ts"],
  },
  {
    kind: "a setting",
    edits: [
      {
        file: "src/cli/compose/settings.ts",
        before: "    traceHosts: setting(",
        insert:
          '    notifyHold: setting("NOTIFY_HOLD", duration, "15s", "how long a notification is held by one process"),\n',
      },
      {
        file: "src/cli/compose/compose.ts",
        before: "origins: notifyOrigins, secrets: notifySecret }",
        insert: "holdMs: settings.notifyHold, ",
      },
      {
        file: "src/run/notifications/deliver-notices.ts",
        before: "  /** Every message is signed with each. */\n",
        insert: "  /** How long one process holds a notice. */\n  readonly holdMs?: number\n",
      },
    ],
    made: ["docs/settings.md"],
    tests: ["src/cli/compose/settings.test.ts"],
  },
  {
    kind: "a property of agents",
    edits: [
      {
        file: "src/syntax/property-table.ts",
        before: '    max_steps: whole,\n    on_failure: word("on_failure"),\n    concurrency,\n    system: text,',
        insert: "    min_steps: whole,\n",
      },
      {
        file: "src/editor/explanations.ts",
        before: '    max_steps: "Most model turns',
        insert: '    min_steps: "Fewest model turns before the agent may end; 1 if left out.",\n',
      },
      {
        file: "src/plan/plan-shape.ts",
        before: "  readonly max_steps: number\n",
        insert: "  readonly min_steps?: number\n",
      },
      {
        file: "src/plan/plan.ts",
        before: '      max_steps: numberIn(body, "max_steps") ?? defaultMaxSteps,\n',
        insert: '      min_steps: numberIn(body, "min_steps") ?? 1,\n',
      },
      {
        file: "src/run/agent/conversation.ts",
        before: "    for (let turn = 1; turn <= max_steps; turn++) {",
        insert: "    if ((node.min_steps ?? 1) > max_steps) throw new Error(`agent.${node.name} could never end`)\n",
      },
    ],
    made: ["docs/language.md", "docs/llms.txt", "editors/vim/syntax/wire.vim"],
    tests: ["test/docs-llms.test.ts"],
  },
  {
    kind: "a function",
    edits: [
      {
        file: "src/check/function-table.ts",
        before: '  ends_with: row("ends_with(s, t)", [text, text], aBoolean),',
        insert: '  same_start: row("same_start(s, t)", [text, text], aBoolean),\n',
      },
      {
        file: "src/editor/function-texts.ts",
        before: "  ends_with: { text:",
        insert:
          '  same_start: { text: "Whether both texts begin with the same character.", example: \'same_start("a", "ab")\' },\n',
      },
      {
        file: "src/run/values/functions/apply-function.ts",
        before: "  ends_with: texts.endsWith,",
        insert: "  same_start: (call) => call.text(0).slice(0, 1) === call.text(1).slice(0, 1),\n",
      },
      {
        file: "test/properties/noninterference/random-expression.ts",
        before: '  ends_with: maker(is("boolean"),',
        insert: '  same_start: maker(is("boolean"), ({ of }) => `same_start(${of(string)}, ${of(string)})`),\n',
      },
    ],
    made: [
      "docs/language.md",
      "docs/llms.txt",
      "editors/vim/syntax/wire.vim",
      "editors/vscode/syntaxes/wire.tmLanguage.json",
    ],
    tests: ["test/editors/grammar.test.ts"],
  },
  {
    kind: "an API of models",
    edits: [
      { file: "src/check/provider-kinds.ts", before: '"anthropic" | "google"\n', insert: '"relay" | ' },
      {
        file: "src/check/provider-kinds.ts",
        before: '  google: {\n    label: "Google',
        insert: `  relay: {
    label: "the relay's API",
    takesAudio: false,
    makes: [],
    ignores: ["top_k"],
    documentOptions: [],
    hostsTools: false,
  },
`,
      },
      {
        file: "src/check/provider-kinds.ts",
        before: '  google: {\n    version: "/v1beta",',
        insert: `  relay: {
    version: "/v1",
    demo: { id: "demoRelay", path: "/demo/v1/relay", title: "the relay's \`/relay\`" },
  },
`,
      },
      {
        file: "src/check/provider-kinds.ts",
        before: '  ["ollama", product(',
        insert: '  ["relay", { api: "relay", endpoint: null, about: "A relay, at its `endpoint`." }],\n',
      },
      {
        file: "src/adapters/model-apis/relay.ts",
        create: `import { wholeLadder } from "../model-turn/output-format.ts"
import { bearer } from "../model-turn/request-headers.ts"
import { apiUrl } from "./api-url.ts"
import { modelApi } from "./api.ts"
import { ResponsesFold } from "./fold-responses.ts"
import { otherApi, readResponses } from "./read-responses.ts"
import { formatText, itemsText, requestBody, toolsText, wireOptions } from "./responses-body.ts"
import { systemItem, toItems } from "./responses-history.ts"

/** A relay, which takes what \`/responses\` takes. */
export const relayApi = modelApi({
  name: "relay",
  ladder: wholeLadder,
  otherKind: "If it has no \`/relay\`, its provider is of another kind",
  unread: [],
  url: (endpoint) => apiUrl(endpoint, "/relay"),
  headers: ({ api_key }) => bearer(api_key),
  options: ({ inference }) => wireOptions(inference),
  maxTokens: (most) => ({ max_output_tokens: most }),
  writer:
    ({ request, quirks }) =>
    ({ added, instruction, options, format, tools, stream }, reasoning) =>
      requestBody({
        model: request.model,
        system: request.system,
        input: [
          instruction === null ? "" : itemsText([systemItem(instruction)]),
          itemsText(toItems(request.input, quirks.origin, reasoning)),
          itemsText(toItems(added, quirks.origin, reasoning)),
        ],
        options,
        format: format === null ? null : formatText(format.formatLevel, format.form),
        tools: toolsText(tools, [], false),
        stream,
      }),
  read: readResponses,
  fold: () => new ResponsesFold(),
  problem: otherApi,
})
`,
      },
      {
        file: "src/cli/compose/model-apis.ts",
        before: 'import type { ModelApi } from "../../adapters/model-turn/model-api.ts"',
        insert: 'import { relayApi } from "../../adapters/model-apis/relay.ts"\n',
      },
      { file: "src/cli/compose/model-apis.ts", before: "  google: googleApi,", insert: "  relay: relayApi,\n" },
      {
        file: "src/demo/apis/relay.ts",
        create: `import { streamEvents } from "../stream-events.ts"
import type { DemoApi } from "./demo-api.ts"

/** A relay speaks as \`/responses\` does. */
export const relayDemo: DemoApi = {
  toResponses: (body) => body,
  answer: (response) => ({ ...response }),
  stream: (response) => streamEvents(response),
  error: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
}
`,
      },
      {
        file: "src/demo/handle-demo.ts",
        before: 'import { Flakiness } from "./flakiness.ts"',
        insert: 'import { relayDemo } from "./apis/relay.ts"\n',
      },
      { file: "src/demo/handle-demo.ts", before: "  google: googleDemo,", insert: "  relay: relayDemo,\n" },
      {
        file: "docs/providers.md",
        before: "| `google` |",
        insert: "| `relay` | `POST {endpoint}/relay` | none | `Authorization: Bearer …` |\n",
      },
    ],
    made: ["docs/http.md"],
    tests: ["src/adapters/model-apis/settings.test.ts"],
  },
  {
    kind: "a diagnostic",
    edits: [
      {
        file: "src/source/codes.ts",
        before: '  "missing-output": warning(',
        insert: '  "unfinished-output": warning("A field of `output` is named `todo`.", "Give it its name."),\n',
      },
      {
        file: "src/source/codes.ts",
        before: '  "missing-output": true,',
        insert: '  "unfinished-output": true,\n',
      },
      {
        file: "src/check/rules/unfinished-output.ts",
        create: `import type { CheckContext } from "../check-context.ts"

export function checkUnfinishedOutput(checking: CheckContext): void {
  for (const { name } of checking.blocks.output.flatMap(({ body }) => body.items)) {
    if (name.text !== "todo") continue
    const message = "A field of \`output\` is named \`todo\`"
    checking.report("unfinished-output", "output.todo", name, message, "Give it its name.")
  }
}
`,
      },
      {
        file: "src/check/check.ts",
        before: "\n\nexport interface Checked {",
        insert: '\nimport { checkUnfinishedOutput } from "./rules/unfinished-output.ts"',
      },
      {
        file: "src/check/check.ts",
        before: "  reportInexactIntegers(checking)\n",
        insert: "  checkUnfinishedOutput(checking)\n",
      },
      {
        file: "test/cases/check/unfinished-output.wire",
        create: `output {
    todo: "1"
}
=== expected ===
warning unfinished-output 2:5-2:9 output.todo | A field of \`output\` is named \`todo\` | Give it its name.
`,
      },
      {
        file: "docs/diagnostics.md",
        before: "### missing-output\n",
        insert: `### unfinished-output

A field of \`output\` is named \`todo\`.

\`\`\`wire warning=unfinished-output
output {
    todo: "1"
}
\`\`\`

Give it its name.

\`\`\`wire
output {
    count: "1"
}
\`\`\`

`,
      },
    ],
    made: ["docs/llms.txt"],
    tests: ["test/diagnostic-codes.test.ts"],
  },
]
