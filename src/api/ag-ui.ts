import { startsRun } from "./execute.ts"
import { route } from "./route.ts"
import { anyObject, anything, array, maybe, object, string } from "../base/typed-schema.ts"

/** A `RunAgentInput`. Fields that are not described are taken as well. */
const runAgentInput = object({
  threadId: string(),
  runId: string(),
  messages: array(anyObject(), {
    description: "The last of the user is the message, those before it are the history.",
  }),
  forwardedProps: maybe(anything({ description: "`input`: the other input fields." })),
  resume: maybe(
    array(anyObject(), {
      description: "Answers to interrupts: `interruptId`, `status`, `payload`, and `metadata.digest` of approvals.",
    }),
  ),
})

export const agUi = route({
  id: "agUi",
  method: "POST",
  path: "/workflows/{name*}/ag-ui",
  group: "Workflows",
  summary: "Talk to a workflow with a `chat` block, by AG-UI",
  description:
    "Streams the events of AG-UI 1.0: steps, the reply, tool calls, and outputs as state. `state`, `tools` and `context` are ignored. Leaving cancels the run.",
  parameters: { name: "May have slashes: `tickets/triage`." },
  query: null,
  body: runAgentInput,
  answers: {
    200: {
      description: "The events, each a `data:` line.",
      headers: ["x-service-run-id"],
      content: { "text/event-stream": string() },
    },
  },
  errors: [...startsRun.errors, "not_found"],
})
