import type { CheckContext } from "../check-context.ts"

export function checkMissingOutput(checking: CheckContext): void {
  if (checking.blocks.output.length > 0) return
  const message = "The workflow has no `output` block, so its result is empty"
  checking.report("missing-output", "output", { start: 0, end: 0 }, message, "Add `output { name: agent.name.field }`.")
}
