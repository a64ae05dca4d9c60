import type { PrivateParts } from "./private-parts.ts"
import type { WorkflowSymbol } from "../check/program.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Place } from "./flow.ts"
import type { Marks } from "./marks.ts"
import type { Call } from "./rules.ts"

/** Somebody who wants to know what the pass sees. */
export interface Watcher {
  /** Collects which values are private. Absent for who does not want to know. */
  readonly privates?: PrivateParts
  /** `models`: also those that compact what it continues. */
  agent(id: string, reads: Marks, uses: readonly Call[], models: readonly string[]): void
  /** A `call`, `read` or `render` of the workflow itself, with the labels of its arguments. */
  call(call: Call, sent: Marks): void
  exception(node: Syntax.ExceptionNode, place: Place): void
  /** A step calls a file: the result sees what the pass sees in it. */
  file(symbol: WorkflowSymbol, step: string): Watcher
  /** A step reads a part of the input, another step, or what something gave that it called or uses. */
  way(from: string, place: Place, marks: Marks): void
}

/** The step that a place belongs to: `agent.a` of `agent.a.instruction`. */
export function stepOf(path: string): string {
  return path.startsWith("output") ? "output" : path.split(".").slice(0, 2).join(".")
}
