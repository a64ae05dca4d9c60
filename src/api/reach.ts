import type { Reach } from "../trust/reach-shape.ts"
import {
  array,
  boolean,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
  type Schema,
} from "../base/typed-schema.ts"

const names = array(string())
const bound = object({
  most: { type: ["number", "string"], description: "A number, or `unbounded`." },
  by: optional(string({ description: "What bounds it." })),
  because: optional(string({ description: "Why nothing bounds it." })),
})

export const bounds = object({ model_calls: bound, tool_calls: bound, tokens: bound, cost: bound })

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
        cacheable: nullable(
          number({
            minimum: 0,
            maximum: 1,
            description:
              "The share of the literal text of its instruction and system text that stays the same from call to call.",
          }),
        ),
      }),
    ),
    decisions: array(object({ value: string(), type: string(), sources: names, leads_to: names })),
    ways: array(object({ from: string(), to: string(), untrusted: boolean(), private: boolean() })),
    most: bounds,
    exceptions: array(
      object({ place: string(), word: oneOf(["trust", "release"]), value: string(), because: string() }),
    ),
    code: optional(
      array(object({ file: string(), hash: string({ description: "SHA-256 of its text." }) }), {
        description: "Files of code. They reach nothing.",
      }),
    ),
  }),
) as unknown as Schema<Reach>
