import type { RunState, Span } from "../../src/log/run-state.ts"
import type { Selection } from "./selection.ts"
import { selectedRow } from "./selection.ts"

/** The id of the model or tool call that is selected; of a step that is selected, its last model call. */
export function selectedCall(state: RunState, chosen: Selection | null): string | undefined {
  const row = chosen === null ? undefined : selectedRow(state, chosen)
  if (row === undefined) return undefined
  const { spans } = (row.scope === undefined ? undefined : state.inside?.[row.scope]) ?? state
  const span = spans[row.at]
  if (span === undefined) return undefined
  return idOf(span) ?? spans.findLast((one) => one.parent === row.at && one.call !== undefined)?.call?.call_id
}

function idOf({ kind, call, call_id }: Span): string | undefined {
  return call?.call_id ?? (kind === "tool_call" ? call_id : undefined)
}
