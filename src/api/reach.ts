import type { Reach } from "../trust/reach-shape.ts"
import { array, boolean, named, object, oneOf, optional, string, type Schema } from "../base/typed-schema.ts"

const names = array(string())
const bound = object({
  most: { type: ["number", "string"], description: "A number, or `unbounded`." },
  by: optional(string({ description: "What bounds it." })),
  because: optional(string({ description: "Why nothing bounds it." })),
})

/** The most that a workflow can do. */
export const reach = named(
  "Reach",
  object({
    hosts: array(object({ host: string(), backend: string(), inputs: names, secrets: names, private: boolean() })),
    tools: array(
      object({
        tool: string(),
        requires: {
          type: ["string", "array"],
          items: string(),
          description: "`trusted`, `strict`, `none`, `undeclared`, or arguments.",
        },
        callers: names,
        guards: names,
        per_caller: optional(
          array(object({ caller: string(), guards: names }), {
            description: "What guards each caller, where they differ.",
          }),
        ),
      }),
    ),
    agents: array(
      object({
        agent: string(),
        pattern: oneOf(["quarantined", "privileged", "guarded", "open", "plain"]),
        reads: names,
      }),
    ),
    decisions: array(object({ value: string(), type: string(), sources: names, leads_to: names })),
    ways: array(object({ from: string(), to: string(), untrusted: boolean(), private: boolean() })),
    most: object({ model_calls: bound, tool_calls: bound, tokens: bound, cost: bound }),
    exceptions: array(
      object({ place: string(), word: oneOf(["trust", "release"]), value: string(), because: string() }),
    ),
  }),
) as unknown as Schema<Reach>
