import { comparePlaces } from "../base/compare-places.ts"
import type { JsonValue } from "../base/json-value.ts"
import { stepPath } from "../plan/call-scope.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { isTerminal, type LogEvent, type Usage, type WireError } from "../log/events.ts"
import { noUsage } from "../log/usage.ts"

/** What came of a test's run, as its expectations see it. */
export interface ObservedRun {
  /** Null where the run failed. */
  readonly output: JsonValue | null
  readonly error: WireError | null
  readonly usage: Usage
  readonly duration_ms: number
  /** Outputs by agent; of a looped agent the array of them. */
  readonly agents: ReadonlyMap<string, JsonValue>
  /** Outputs of all rounds, by the agent that repeats. */
  readonly rounds: ReadonlyMap<string, JsonValue>
  /** The same of what people were asked. */
  readonly answers: ReadonlyMap<string, JsonValue>
  /** Questions that nobody answers: the run waits for ever. */
  readonly waiting: readonly string[]
  /** By step: `agent.x`, `tool.t`. */
  readonly steps: ReadonlyMap<string, ObservedStep>
}

/** An answer that a test gave: the run asks no person, and its events do not show it. */
export interface GivenAnswer {
  readonly step: string
  readonly iteration: number | null
  readonly answer: JsonValue
}

export interface ObservedStep {
  ran: boolean
  skipped: boolean
  /** Tool calls, reads, renderings; of an agent its model calls. */
  calls: number
  /** The arguments of each call of a tool or a file, in the order of the items where one place makes several. */
  readonly arguments: CallArguments[]
  /** Rendered instructions by item of the loop; the only one of a plain agent is the first. */
  readonly asked: string[]
  /** Outputs of an agent that requirements sent back. */
  rejections: number
}

export interface CallArguments {
  readonly values: JsonValue
  /** What in the plan calls, and for which items. */
  readonly site: string
  readonly items: readonly number[]
}

/** What the events of a run of `plan` say. An agent that never ran is null. */
export function observeRun(events: readonly LogEvent[], plan: Plan, given: readonly GivenAnswer[] = []): ObservedRun {
  const steps = new Map<string, ObservedStep>()
  const agents = new Map<string, JsonValue>(
    plan.nodes.flatMap((node) => (node.kind === "agent" ? [[node.name, null]] : [])),
  )
  const rounds = new Map<string, JsonValue[]>(
    plan.nodes.flatMap((node) => (node.kind === "agent" && node.repeat !== undefined ? [[node.name, []]] : [])),
  )
  const answers = new Map<string, JsonValue>(
    plan.nodes.flatMap((node) => (node.kind === "ask" ? [[node.name, null]] : [])),
  )
  const stepOf = (id: string): ObservedStep => {
    let found = steps.get(id)
    if (found === undefined)
      steps.set(id, (found = { ran: false, skipped: false, calls: 0, arguments: [], asked: [], rejections: 0 }))
    return found
  }
  const completed = new Set<string>()
  const setOutput = (agent: string, iteration: number | undefined, output: JsonValue): void => {
    const before = agents.get(agent)
    const ofRounds = rounds.get(agent)
    if (iteration !== undefined && output !== null) ofRounds?.splice(iteration, 1, output)
    if (iteration === undefined || ofRounds !== undefined) agents.set(agent, output)
    else if (Array.isArray(before)) before[iteration] = output
  }
  const open = new Map<string, string>()
  let output: JsonValue | null = null
  let error: WireError | null = null
  let usage: Usage = noUsage
  let duration_ms = 0
  for (const event of events) {
    const { scope } = event.data
    const before = scope === undefined ? "" : stepPath(scope)
    const step = (id: string): ObservedStep => stepOf(`${before}${id}`)
    const isOwn = before === ""
    switch (event.type) {
      case "agent_loop_started":
        if (!isOwn || rounds.has(event.data.agent)) break
        agents.set(
          event.data.agent,
          Array.from({ length: event.data.iterations }, () => null),
        )
        break
      case "agent_started": {
        const found = step(`agent.${event.data.agent}`)
        found.ran = true
        found.asked[event.data.iteration ?? 0] = event.data.instruction
        break
      }
      case "agent_retried":
        if (event.data.requirements !== undefined) step(`agent.${event.data.agent}`).rejections++
        break
      case "agent_completed": {
        const { agent, iteration, calls } = event.data
        step(`agent.${agent}`).calls += calls.length
        completed.add(`${before}agent.${agent}`)
        const kept = event.kept as { readonly output?: JsonValue } | undefined
        if (isOwn) setOutput(agent, iteration, kept?.output ?? event.data.output)
        break
      }
      case "agent_failed":
        step(`agent.${event.data.agent}`).calls += event.data.calls.length
        break
      case "step_skipped": {
        if (event.data.site !== undefined) break
        step(event.data.step).skipped = true
        // Rounds before the one that failed.
        if (event.data.iteration === undefined) completed.delete(`${before}${event.data.step}`)
        const name = event.data.step.replace(/^agent\./, "")
        if (isOwn) setOutput(name, event.data.iteration, null)
        break
      }
      case "question_asked":
        open.set(
          event.data.id,
          `${before}${event.data.kind === "ask" ? "ask" : event.data.workflow === undefined ? "tool" : "workflow"}.${event.data.name}`,
        )
        break
      case "workflow_call_started": {
        const found = stepOf(before.slice(0, -1))
        found.ran = true
        found.calls++
        found.arguments.push(argumentsOf(event.data, event.data.input))
        break
      }
      case "question_answered":
      case "question_expired":
      case "question_withdrawn":
        open.delete(event.data.id)
        break
      case "tool_call_started": {
        const found = step(`tool.${event.data.tool}`)
        found.ran = true
        found.calls++
        found.arguments.push(argumentsOf(event.data, event.data.arguments))
        break
      }
      case "resource_read":
      case "prompt_rendered": {
        const found = step(`${event.type === "resource_read" ? "resource" : "prompt"}.${event.data.name}`)
        found.ran = true
        found.calls++
        break
      }
      case "workflow_completed":
        output = event.data.output.result
        usage = event.data.usage
        duration_ms = event.data.duration_ms
        break
      case "workflow_failed":
        error = event.data.error
        duration_ms = event.data.duration_ms
        break
      default:
        break
    }
  }
  for (const { step: id, iteration, answer } of given) {
    stepOf(id).ran = true
    if (!id.startsWith("ask.")) continue
    const name = id.replace(/^ask\./, "")
    if (iteration === null) answers.set(name, answer)
    else {
      const before = answers.get(name)
      const all = Array.isArray(before) ? before : []
      while (all.length <= iteration) all.push(null)
      all[iteration] = answer
      answers.set(name, all)
    }
  }
  for (const [id, found] of steps) if (completed.has(id)) found.skipped = false
  const hasEnded = events.some(({ type }) => isTerminal(type))
  const waiting = hasEnded ? [] : [...new Set(open.values())]
  return { output, error, usage, duration_ms, agents, rounds, answers, waiting, steps }
}

interface CallPlace {
  readonly scope?: string
  readonly site?: string
  readonly iteration?: number
  readonly items?: readonly number[]
}

function argumentsOf({ scope, site, iteration, items }: CallPlace, values: JsonValue): CallArguments {
  const places = [...(iteration === undefined ? [] : [iteration]), ...(items ?? [])]
  return { values, site: site === undefined ? "" : `${scope ?? ""} ${site}`, items: places }
}

/** The arguments of all calls: those of one place in the order of its items, and not of time. */
export function inOrder(calls: readonly CallArguments[]): JsonValue[] {
  const bySite = Map.groupBy(calls, ({ site }) => site)
  for (const [site, ones] of bySite) if (site !== "") ones.sort((a, b) => comparePlaces(a.items, b.items))
  return calls.flatMap(({ site }) => bySite.get(site)?.shift()?.values ?? null)
}
