import hello from "../../examples/hello.wire"
import helloInput from "../../examples/hello.input.json" with { type: "json" }
import { openWorkflow } from "../files/open-workflow.ts"
import type { NewContent } from "../files/files.ts"
import { notLoaded } from "../page/later.ts"
import { notify } from "../page/notices.ts"
import type * as Contents from "./contents.ts"

/** What a first visit shows. */
export const firstExample: NewContent = { name: "Hello", source: hello, input: helloInput }

/**
 * The gallery, in the order of learning: name, and what it shows in a sentence. Those of `examples/` where they fit; the chain and
 * the fan-out are on a slower model here, so that one can watch them, and the tools are those of the demo.
 */
export const examples: readonly (readonly [name: string, about: string])[] = [
  ["Hello", "One agent, one answer."],
  ["Chain", "Three agents, each working on what the one before it wrote."],
  ["Fan-out and join", "Three agents side by side, and one that joins their findings."],
  ["Loop", "One step for every file, several at a time, on a model that fails now and then."],
  ["Lists", "A tool called for each item of a list, and what it finds filtered and sorted, without a model."],
  ["Conditions", "Steps that run only when they are needed, and values chosen by what was found."],
  ["Variants and match", "An answer of one of several kinds, and values chosen by its kind."],
  ["Context and compaction", "Agents that go on from another's messages, whole or summarised first."],
  ["Fallback models", "A list of models: the next one goes on when one has failed for good."],
  ["Cost and limits", "What calls cost, and what the run and its agents may use at most."],
  ["Files", "Texts that are given and read; a picture, a spoken sentence, a report and a table that are made."],
  ["MCP tools", "Tools, resources and prompts of an MCP server, called by the workflow and by an agent."],
  ["People", "A person answers a question about what an agent wrote, and approves a tool call."],
  ["Cache", "With a cache key, the second run answers at once."],
]

export function loadExamples(): Promise<typeof Contents> {
  return import("./contents.ts")
}

export async function openExample(name: string): Promise<void> {
  if (name === firstExample.name) return openWorkflow(firstExample)
  try {
    const content = (await loadExamples()).contents[name]
    if (content !== undefined) openWorkflow({ name, ...content })
  } catch {
    notify(notLoaded, "wrong")
  }
}
