import type { NodeChange } from "./compare-plans.ts"
import type { PlannedGraph, PlannedNode, PlannedWorkflow } from "./plan-shape.ts"
import { anyObject, array, integer, named, object, oneOf, optional, string, type Schema } from "../base/typed-schema.ts"

const calledWorkflow: Schema<PlannedWorkflow> = named(
  "CalledWorkflow",
  object(
    {
      name: string(),
      file: string(),
      plan: anyObject({
        description: "Its plan, of the same form: `nodes` and `edges`.",
      }) as Schema<unknown> as Schema<PlannedGraph>,
    },
    { description: "A file that the node calls." },
  ),
)

export const node: Schema<PlannedNode & { readonly rerun?: NodeChange }> = named(
  "Node",
  object({
    id: string(),
    kind: oneOf(["dynamic", "agent", "ask", "wait", "output"]),
    name: string(),
    depends_on: array(string()),
    when: optional(string({ description: "The source text of the node's condition, where it has one." })),
    at_most: optional(integer({ description: "Of an agent that repeats: the most rounds." })),
    event: optional(string({ description: "Of a wait: the name of the event that it waits for." })),
    workflow: optional(calledWorkflow),
    workflows: optional(
      array(calledWorkflow, { description: "All files that the node calls, where there are several." }),
    ),
    rerun: optional(
      object(
        {
          status: oneOf(["same", "changed", "after"], {
            description: "`after`: it depends on one that changed, and runs unless that gives the same as before.",
          }),
          why: string({ description: "A sentence; empty where nothing changed." }),
        },
        { description: "With `rerun_of`: whether it changed since that run." },
      ),
    ),
  }),
)

export const planView = object({
  nodes: array(node),
  edges: array(object({ from: string(), to: string() }), { description: "`to` waits for `from`." }),
})
