import type { ShownHandlers } from "../run-state.ts"
import { endNode, nodeOf } from "./nodes.ts"
import { closeSpan, openSpan, waitKey } from "./spans.ts"

/** Waits of steps for times and events. The node of such a step stays `waiting` until all of its waits are over. */
export const waitHandlers: ShownHandlers = {
  wait_started(state, { data }, at) {
    const { at: _at, scope: _scope, ...started } = data
    const { id, name, iteration } = started
    const node = nodeOf(state, `wait.${name}`)
    if (node !== undefined) {
      const waits = { state: "waiting" as const, finished_at: null, duration_ms: null }
      Object.assign(node, waits, { started_at: node.started_at ?? at, awaits: [...(node.awaits ?? []), started] })
    }
    openSpan(state, waitKey(id), {
      kind: "wait",
      name,
      parent: null,
      ...(iteration === undefined ? {} : { iteration }),
      start: at,
      end: null,
      state: "running",
      awaited: started,
    })
  },
  wait_ended(state, { data: { id, name, because, output } }, at) {
    const span = closeSpan(state, waitKey(id), at, because === "expired" ? "failed" : "completed")
    if (span !== undefined && output !== undefined) span.output = output
    const node = nodeOf(state, `wait.${name}`)
    if (node?.awaits === undefined) return
    const left = node.awaits.filter((one) => one.id !== id)
    if (left.length > 0) {
      node.awaits = left
      return
    }
    delete node.awaits
    endNode(node, "completed", at, null)
  },
}
