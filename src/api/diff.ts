import type { WorkflowDiff } from "../diff/diff-shape.ts"
import { array, boolean, named, object, string, type Schema } from "../base/typed-schema.ts"
import { bounds } from "./reach.ts"

const names = array(string())
const growth = {
  grew: array(string(), { description: "What it can do now and could not do before." }),
  shrank: names,
}

/** What a change of a workflow means. */
export const diff = named(
  "WorkflowDiff",
  object({
    contract: array(
      object({
        path: string({ description: "Such as `input.region` or `output.team`." }),
        change: string(),
        breaking: boolean({
          description: "Whether callers that are right with the old version may fail with the new one.",
        }),
      }),
    ),
    steps: object({
      same: names,
      changed: array(object({ step: string(), properties: names })),
      after: array(string(), { description: "Steps that follow one that differs." }),
      new: names,
      gone: names,
    }),
    reach: object(growth),
    cost: object({ ...growth, before: bounds, after: bounds }),
    trust: object(growth),
    questions: array(
      object({
        question: string(),
        change: string(),
        fits: boolean({ description: "Whether open questions of the old version may be answered as they are." }),
      }),
    ),
  }),
) as unknown as Schema<WorkflowDiff>
