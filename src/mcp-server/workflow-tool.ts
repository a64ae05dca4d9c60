import { cutText } from "../base/cut-text.ts"
import type { JsonObject } from "../base/json-value.ts"
import { openingComment } from "../source/opening-comment.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Plan } from "../plan/plan-shape.ts"

/** A workflow as a tool that others call. */
export interface WorkflowTool {
  readonly name: string
  readonly source: string
  readonly plan: Plan
  /** The operator's, never the caller's. */
  readonly secrets: JsonObject
}

export interface ToolListing {
  readonly name: string
  readonly description?: string
  readonly inputSchema: JsonObject & { readonly type: "object" }
  /** Absent where the result may be a run that waits for people. */
  readonly outputSchema?: JsonObject & { readonly type: "object" }
}

/** The input block is the tool's input, the output block its output, the comment at the top its description. */
export function listing({ name, source, plan }: WorkflowTool): ToolListing {
  return {
    name,
    description: cutText(openingComment(source) ?? "", 2000) || `Runs the workflow ${name}.`,
    inputSchema: { ...toJsonSchema(plan.input, plan.types, "answer"), type: "object" },
    outputSchema: { ...toJsonSchema(plan.output, plan.types), type: "object" },
  }
}

/** A name that a tool may have, from that of a file. */
export function toolName(file: string): string {
  const base = file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1)
  const plain = base.replace(/\.wire$/i, "").replaceAll(/[^A-Za-z0-9_-]+/g, "_")
  return plain === "" ? "workflow" : plain.slice(0, 64)
}
