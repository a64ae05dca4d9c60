import type { NodeChange } from "../plan/compare-plans.ts"
import type { PlannedNode } from "../plan/plan-shape.ts"
import { array, named, object, oneOf, optional, string, type Schema } from "./schema.ts"

export const node: Schema<PlannedNode & { readonly rerun?: NodeChange }> = named(
  "Node",
  object({
    id: string(),
    kind: oneOf(["dynamic", "agent", "ask", "output"]),
    name: string(),
    depends_on: array(string()),
    when: optional(string({ description: "The source text of the node's condition, where it has one." })),
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
