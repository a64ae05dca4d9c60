import { computed, signal } from "@preact/signals"
import type { Plan, PlanNode } from "../../src/plan/plan-shape.ts"
import { graphOf, shownRun, watchShown } from "../state/runs.ts"
import { compilation, lastGood } from "../state/source.ts"
import type { GraphNode, Placed, Room } from "./graph-layout.ts"
import { placeGraph } from "./graph-layout.ts"

/**
 * Whose graph is drawn: that of the run that is shown, as long as the text in the editor is the run's; else that of the
 * text, with the run's states on the nodes that both have.
 */
const graphNodes = computed((): readonly GraphNode[] => {
  const run = shownRun.value
  const isRuns = run !== null && graphOf.value === "run" && run.request.source !== lastGood.value.text
  if (isRuns && runNodes.value.length > 0) return runNodes.value
  return planNodes(lastGood.value.plan)
})

const runNodes = computed((): readonly GraphNode[] => {
  const nodes = watchShown()?.state.nodes ?? []
  return nodes.map(({ id, kind, name, depends_on, model, when }) => ({
    id,
    kind,
    name,
    depends_on,
    ...(model !== null && { model }),
    ...(when !== undefined && { when: oneLine(when) }),
  }))
})

/** The text has errors: the graph is that of an earlier one. */
export const isOutdated = computed(() => compilation.value.text !== lastGood.value.text)

/** How much room the pane has, in steps, so that dragging a divider does not move the nodes all the time. */
export const graphRoom = signal<Room>({ width: 0, height: 0 })

export function setGraphRoom(width: number, height: number): void {
  const [wide, high] = [Math.floor(width / 50) * 50, Math.floor(height / 50) * 50]
  const { value } = graphRoom
  if (value.width !== wide || value.height !== high) graphRoom.value = { width: wide, height: high }
}

export const placedGraph = computed((): Placed => placeGraph(sameNodes(graphNodes.value), graphRoom.value))

let last: readonly GraphNode[] = []

/** The same list as before when nothing about it has changed, so that typing elsewhere moves nothing. */
function sameNodes(nodes: readonly GraphNode[]): readonly GraphNode[] {
  if (JSON.stringify(nodes) !== JSON.stringify(last)) last = nodes
  return last
}

function planNodes(plan: Plan): GraphNode[] {
  return plan.nodes.map((node) => ({
    id: node.id,
    kind: node.kind,
    name: node.name,
    depends_on: node.depends_on,
    ...detailsOf(node),
  }))
}

function detailsOf(node: PlanNode): Pick<GraphNode, "loop" | "model" | "when"> {
  if (node.kind !== "agent" && node.kind !== "ask") return {}
  const { loop } = node
  const condition = node.when === null ? {} : { when: oneLine(node.when.text) }
  const details =
    node.kind === "agent" ? { model: node.models.map(({ name }) => name).join(", "), ...condition } : condition
  if (loop === null) return details
  const variables =
    loop.pattern.kind === "item"
      ? loop.pattern.variable
      : `{ ${loop.pattern.fields.map(({ variable }) => variable).join(", ")} }`
  const items = "text" in loop.items ? loop.items.text : "items"
  return { ...details, loop: `${variables} in ${items}` }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ")
}
