import { computed, signal } from "@preact/signals"
import type { Plan, PlanNode } from "../../src/plan/plan-shape.ts"
import type { LoopPlan } from "../../src/plan/expression.ts"
import { callingList } from "../../src/plan/expression-traits.ts"
import { workflowsOf } from "../../src/plan/workflows-of.ts"
import { planOf } from "../shown-run/changes.ts"
import { keep, readKept } from "../page/keep.ts"
import type { OpenedCall } from "../files/opened-calls.ts"
import { openedCalls, scopesOf } from "../files/opened-calls.ts"
import { select, selectInCall } from "../shown-run/selection.ts"
import type { NodeStatus } from "../shown-run/node-status.ts"
import { groupStatus, nodeStatus } from "../shown-run/node-status.ts"
import { graphOf, runClock, shownRun, watchShown } from "../shown-run/shown-run.ts"
import { lastGood, lastPlan } from "../language/source.ts"
import type { Placed, PlacedNode, Room } from "./graph-layout.ts"
import { placeGraph } from "./graph-layout.ts"
import type { GraphNode, Group } from "./graph-node.ts"
import { groupsOf, holdersOf, withClosed } from "./groups.ts"

/**
 * Whose graph is drawn: that of the run that is shown, as long as the text in the editor is the run's; else that of the
 * text, with the run's states on the nodes that both have.
 */
const isRuns = computed(() => {
  const run = shownRun.value
  return run !== null && graphOf.value === "run" && run.request.source !== lastGood.value.text
})

const graphNodes = computed((): readonly GraphNode[] => {
  const inner = levels.value.at(-1)
  if (inner !== undefined) return planNodes(inner.plan)
  if (isRuns.value && runNodes.value.length > 0) return runNodes.value
  return planNodes(lastPlan.value)
})

/** A called workflow on the way to the one that is drawn. */
interface Level {
  readonly call: OpenedCall
  readonly plan: Plan
  /** Its calls in the shown run, and the one that is looked at. */
  readonly scopes: readonly string[]
  readonly scope: string | undefined
}

/** The opened calls, as far as there still are such steps. */
export const levels = computed((): readonly Level[] => {
  if (openedCalls.value.length === 0) return []
  const run = watchShown()
  let plan: Plan | null = isRuns.value && run !== null ? planOf(run) : lastPlan.value
  const found: Level[] = []
  for (const call of openedCalls.value) {
    const node = plan?.nodes.find(({ id }) => id === call.node)
    const called: Plan | undefined = plan?.workflows?.[call.workflow]?.plan
    if (node === undefined || called === undefined || !workflowsOf(node).includes(call.workflow)) break
    const parent = found.length === 0 ? "" : found.at(-1)?.scope
    const hasStates = run !== null && graphOf.value !== "other" && parent !== undefined
    const scopes = hasStates ? scopesOf(run.state, parent, call) : []
    const scope = scopes.find((one) => one === call.scope) ?? scopes.at(-1)
    found.push({ call, plan: called, scopes, scope })
    plan = called
  }
  return found
})

/** Opens the graph of a workflow that a step of the drawn graph calls. */
export function openCall(node: string, workflow: string): void {
  const way = openedCalls.value.slice(0, levels.value.length)
  openedCalls.value = [...way, { node, workflow, scope: null }]
}

/** Selects the step that calls, with the step inside that was meant. */
export function selectInside(node: string): void {
  const [first] = levels.value
  const scope = levels.value.at(-1)?.scope
  const state = shownRun.value?.state
  if (first === undefined) return
  if (scope !== undefined && state !== undefined) selectInCall(state, scope, node)
  else select({ node: first.call.node })
}

/** A step of the workflow, or of one that it calls. */
export interface FoundStep {
  readonly node: string
  /** The calls that lead to it; empty for a step of the workflow itself. */
  readonly way: readonly OpenedCall[]
  /** `triage/agent.classify` */
  readonly label: string
}

/** More steps are not searched: calls within calls can have very many. */
const maxSteps = 5_000

/** The steps of the workflow and of all that it calls, at every place where they are called. */
export const everyStep = computed((): readonly FoundStep[] => {
  const run = watchShown()
  const found: FoundStep[] = []
  const open: [Plan, readonly OpenedCall[]][] = [[(isRuns.value && run && planOf(run)) || lastPlan.value, []]]
  for (const [plan, way] of open) {
    const before = way.map(({ workflow }) => `${workflow}/`).join("")
    for (const node of plan.nodes) {
      if (found.length >= maxSteps) return found
      found.push({ node: node.id, way, label: before + node.id })
      for (const workflow of workflowsOf(node)) {
        const called = plan.workflows?.[workflow]?.plan
        if (called !== undefined) open.push([called, [...way, { node: node.id, workflow, scope: null }]])
      }
    }
  }
  return found
})

/** Draws the graph that has the step, and selects it. */
export function goToStep({ node, way }: FoundStep): void {
  openedCalls.value = way
  if (way.length === 0) select({ node })
  else selectInside(node)
}

const runNodes = computed((): readonly GraphNode[] => {
  const run = watchShown()
  const calls = new Map(planNodes((run && planOf(run)) ?? lastPlan.value).map((node) => [node.id, node.calls]))
  return (run?.state.nodes ?? []).map(({ id, kind, name, depends_on, model, when, event }) => ({
    id,
    kind,
    name,
    depends_on,
    ...(model !== null && { model }),
    ...(event !== undefined && { event }),
    ...(when !== undefined && { when: oneLine(when) }),
    ...withCalls(calls.get(id)),
  }))
})

/** How much room the pane has, in steps, so that dragging a divider does not move the nodes all the time. */
const graphRoom = signal<Room>({ width: 0, height: 0 })

export function setGraphRoom(width: number, height: number): void {
  const [wide, high] = [Math.floor(width / 50) * 50, Math.floor(height / 50) * 50]
  const { value } = graphRoom
  if (value.width !== wide || value.height !== high) graphRoom.value = { width: wide, height: high }
}

let last: readonly GraphNode[] = []

/** Every step, also those inside closed groups. The same list as before when nothing has changed, so that typing elsewhere moves nothing. */
export const allSteps = computed((): readonly GraphNode[] => {
  const nodes = graphNodes.value
  if (JSON.stringify(nodes) !== JSON.stringify(last)) last = nodes
  return last
})

export const placedGraph = computed((): Placed =>
  placeGraph(withClosed(allSteps.value, holders.value), graphRoom.value),
)

/** Room for the buttons below the nodes, and above them. */
const around = 110

/** Pixels that a small graph needs, so that the answer of a run can have the rest; null for a larger one, which is looked at. */
export const graphHeightAfterRun = computed((): number | null => {
  const { nodes, height } = placedGraph.value
  return nodes.length <= 8 && height <= 200 ? height + around : null
})

// ------------------------------------------------------------------------------------------------------- groups

const kept = readKept("session", "groups")
/** Ids of the groups that are shown as one node; kept across runs and a reload. */
const closed = signal<ReadonlySet<string>>(new Set(Array.isArray(kept) ? (kept as string[]) : []))
export const groups = computed((): readonly Group[] => groupsOf(allSteps.value))
/** The closed group that is drawn in place of a hidden step. */
export const holders = computed(() => holdersOf(groups.value, closed.value))
/** The groups that are open and in view. */
export const openGroups = computed(() =>
  groups.value.filter(({ id, steps: [first = ""] }) => !closed.value.has(id) && !holders.value.has(first)),
)

export function setGroup(id: string, isOpen: boolean): void {
  const next = new Set(closed.value)
  if (isOpen) next.delete(id)
  else next.add(id)
  keepClosed(next)
}

/** Closes every group, or opens all of them. */
export function setGroups(isOpen: boolean): void {
  const next = new Set(closed.value)
  for (const { id } of groups.value) {
    if (isOpen) next.delete(id)
    else next.add(id)
  }
  keepClosed(next)
}

/** Opens every group that hides the step. */
export function uncover(step: string): void {
  for (const { id, steps } of groups.value) if (closed.value.has(id) && steps.includes(step)) setGroup(id, true)
}

function keepClosed(next: ReadonlySet<string>): void {
  closed.value = next
  keep("session", "groups", [...next])
}

/** The node that shows a step: its own, or that of the group that hides it. */
export function drawnNode({ nodes }: Placed, step: string | undefined): PlacedNode | undefined {
  return nodes.find(({ id, group }) => id === step || (step !== undefined && group?.steps.includes(step) === true))
}

/** The state of each node that is drawn; of none where the graph is not the shown run's. */
export function statusesOf({ nodes }: Placed): ReadonlyMap<string, NodeStatus> {
  const run = watchShown()
  const statuses = new Map<string, NodeStatus>()
  if (run === null || graphOf.value === "other") return statuses
  const inner = levels.value.at(-1)
  const state = inner === undefined ? run.state : run.state.inside?.[inner.scope ?? ""]
  if (state === undefined) return statuses
  const known = { ...run.known, finished_at: state.finished_at ?? run.known.finished_at }
  const states = new Map(state.nodes.map((node) => [node.id, node]))
  // Times move while something runs, ten times a second and not with every frame.
  const now = run.state.finished_at !== null ? 0 : known.isCut === true ? runClock.value : tenths(runClock.value)
  for (const { id, group } of nodes) {
    const own = states.get(id)
    const inside = group?.steps.flatMap((step) => states.get(step) ?? []) ?? []
    if (own !== undefined) statuses.set(id, nodeStatus(own, known, now))
    else if (inside.length > 0) statuses.set(id, groupStatus(inside, known, now))
  }
  return statuses
}

function tenths(ms: number): number {
  return Math.floor(ms / 100) * 100
}

// -------------------------------------------------------------------------------------------------------- nodes

function planNodes(plan: Plan): GraphNode[] {
  return plan.nodes.map((node) => ({
    id: node.id,
    kind: node.kind,
    name: node.name,
    depends_on: node.depends_on,
    ...detailsOf(node),
    ...callsOf(node, plan),
  }))
}

function withCalls(calls: readonly string[] | undefined): Pick<GraphNode, "calls"> {
  return calls === undefined ? {} : { calls }
}

function callsOf(node: PlanNode, { workflows = {} }: Plan): Pick<GraphNode, "calls"> {
  const calls = workflowsOf(node).filter((name) => workflows[name] !== undefined)
  return withCalls(calls.length === 0 ? undefined : calls)
}

function detailsOf(node: PlanNode): Pick<GraphNode, "loop" | "rounds" | "model" | "event" | "when"> {
  if (node.kind === "dynamic") {
    // A list that calls is a loop: each item is a call of its own.
    const list = callingList(node.value)
    return list === null ? {} : { loop: loopText(list.loop) }
  }
  if (node.kind === "output") return {}
  const { loop } = node
  const condition = node.when === null ? {} : { when: oneLine(node.when.text) }
  const details =
    node.kind === "agent"
      ? { model: node.models.map(({ name }) => name).join(", "), ...condition }
      : node.kind === "wait" && node.awaits.kind === "event"
        ? { event: node.awaits.event, ...condition }
        : condition
  if (node.kind === "agent" && node.repeat !== undefined) return { ...details, rounds: node.repeat.at_most }
  return loop === null ? details : { ...details, loop: loopText(loop) }
}

/** `path in input.files` */
function loopText({ pattern, items }: LoopPlan): string {
  const variables =
    pattern.kind === "item" ? pattern.variable : `{ ${pattern.fields.map(({ variable }) => variable).join(", ")} }`
  return `${variables} in ${"text" in items ? oneLine(items.text) : "items"}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ")
}
