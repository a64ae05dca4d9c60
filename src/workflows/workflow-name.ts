/** Longer names do not fit a route. */
const longestName = 200

/** Why a workflow cannot have this name, as a sentence; null for a name that it may have. */
export function whyNotName(name: string): string | null {
  for (const segment of name.split("/")) {
    if (!/^[A-Za-z0-9_-]+$/.test(segment)) {
      return `"${segment}" has characters other than letters, digits, _ and -`
    }
    if (segment === "execute") return '"execute" is the end of the route that runs a workflow'
  }
  return name.length > longestName ? `It has more than ${longestName} characters` : null
}

const candidateEnd = ".next"

/** The workflow that a file is a candidate of, by the name of the file: `triage` of `triage.next`. Null for other files. */
export function candidateOf(name: string): string | null {
  return name.endsWith(candidateEnd) ? name.slice(0, -candidateEnd.length) : null
}

export function nameOfCandidate(workflow: string): string {
  return `${workflow}${candidateEnd}`
}

/** A segment that begins so hides everything below it. */
export function isHidden(segment: string): boolean {
  return segment.startsWith("_") || segment.startsWith(".")
}

/** Whether a workflow of this name is not served: others may import its file. */
export function isHiddenName(name: string): boolean {
  return name.split("/").some(isHidden)
}

/** The tool that `/mcp` offers a workflow as. */
export function mcpName(name: string): string {
  return name.replaceAll("/", "_")
}
