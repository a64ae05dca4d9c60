import type { WorkflowIssue } from "../api/workflows.ts"
import { mcpName } from "./workflow-name.ts"

/** Warns of names of workflows that are too much like others: the result has the issues of each name. */
export function nameClashes(names: readonly string[]): (name: string) => readonly WorkflowIssue[] {
  const byCase = Map.groupBy(names, (name) => name.toLowerCase())
  const byTool = Map.groupBy(names, mcpName)
  return (name) => {
    const alike = byCase.get(name.toLowerCase()) ?? []
    const clashing = byTool.get(mcpName(name)) ?? []
    const issues: WorkflowIssue[] = []
    if (alike.length > 1) {
      const message = `The names ${alike.toSorted().join(" and ")} differ in case only: not every file system can hold both`
      issues.push(warning("workflow-name-case", message))
    }
    if (clashing.length > 1) {
      const message = `${clashing.toSorted().join(" and ")} would both be the tool ${mcpName(name)}: /mcp offers neither`
      issues.push(warning("workflow-tool-name", message))
    }
    const route = /\/(?:versions|release)$/.exec(name)
    if (route !== null) {
      const message = `The name ends in ${route[0]}: it hides that route of ${name.slice(0, route.index)}`
      issues.push(warning("workflow-route", message, "Rename it."))
    }
    return issues
  }
}

function warning(code: WorkflowIssue["code"], message: string, hint = "Rename one of them."): WorkflowIssue {
  return { code, severity: "warning", path: "", message, hint }
}
