import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { NodeState, RunState, Span } from "../log/run-state.ts"
import { quoteText } from "../source/quote-text.ts"

/** A run that becomes a test. */
export interface RunToTest {
  readonly title: string
  readonly input: JsonObject
  readonly state: RunState
}

/** What a test of this run is called. */
export function titleOfTest(run_id: string, status: RunState["status"]): string {
  return `run ${run_id.slice(0, 8)} ${status === "completed" ? "gives the same" : "does not fail"}`
}

/**
 * A `test` that plays a run again: with its input, and with what each step, tool and person gave. A run that failed fails again, until the
 * workflow is changed; one that completed expects the same output.
 */
export function testOfRun({ title, input, state }: RunToTest): string {
  const lines = [
    ...(Object.keys(input).length === 0 ? [] : [inputLines(input), ""]),
    ...state.nodes.flatMap((node) => givenOf(state, node)),
    ...effectsOf(state),
  ]
  const end =
    state.status === "completed"
      ? Object.entries(isJsonObject(state.output) ? state.output : {}).map(
          ([name, value]) => `expect output${member(name)} == ${literal(value)}`,
        )
      : [
          `// The run failed: ${(state.error?.message ?? "it was cancelled").replaceAll(/\s+/g, " ")}`,
          "// This test fails as long as the workflow does.",
          "expect duration_ms >= 0",
        ]
  const body = [...lines, ...(lines.length === 0 ? [] : [""]), ...end].join("\n")
  return `test ${quoteText(title)} {\n${indent(body)}\n}\n`
}

/** What a step gave, or why it failed. What is not known of it is said in a comment. */
function givenOf(state: RunState, node: NodeState): string[] {
  if (node.kind === "ask") {
    const answers = state.questions.filter(({ kind, name }) => kind === "ask" && name === node.name)
    const [first, ...others] = answers
    if (first?.answer === undefined) return []
    if (others.length > 0) return [`// ask.${node.name} has several answers: give them here.`]
    return [`given ask.${node.name}: ${literal(first.answer)}`]
  }
  if (node.kind !== "agent") return []
  const failed = state.spans.find((span) => isStep(span, node.name) && span.state === "failed" && span.error)
  if (failed?.error !== undefined) {
    return [`given agent.${node.name} fails ${failed.error.kind} ${quoteText(failed.error.message)}`]
  }
  if (node.state !== "completed") return []
  const steps = state.spans.filter((span) => isStep(span, node.name) && span.state === "completed")
  const outputs = steps.toSorted((a, b) => (a.iteration ?? 0) - (b.iteration ?? 0)).map(({ output }) => output ?? null)
  if (outputs.some(isCut))
    return [`// The output of agent.${node.name} is too large for the events of a run: give it here.`]
  if (node.loop === null) return outputs.map((output) => `given agent.${node.name}: ${literal(output)}`)
  if (outputs.length !== node.loop.total)
    return [`// Some items of agent.${node.name} were skipped: give the others here.`]
  return [`given agent.${node.name}: ${literal(outputs)}`]
}

function isStep({ kind, name }: Span, agent: string): boolean {
  return (kind === "agent" || kind === "iteration") && name === agent
}

/** What tools and resources gave to the expressions of the workflow; those that models called are part of their steps. */
function effectsOf({ spans }: RunState): string[] {
  const given = new Map<string, Set<string>>()
  for (const { kind, name, site, result, state, error } of spans) {
    if (site === undefined || (kind !== "tool_call" && kind !== "resource")) continue
    const step = `${kind === "tool_call" ? "tool" : "resource"}.${name}`
    const line =
      state === "failed" && error !== undefined
        ? `given ${step} fails ${error.kind} ${quoteText(error.message)}`
        : result === undefined || isCut(result)
          ? `// The result of ${step} is not in the events of the run: give it here.`
          : `given ${step}: ${literal(result)}`
    given.set(step, (given.get(step) ?? new Set()).add(line))
  }
  return [...given].map(([step, lines]) => {
    const [first = ""] = lines
    return lines.size === 1 ? first : `// ${step} gave ${lines.size} different results: give one of them here.`
  })
}

/** Events show values over 256 KiB by their size. */
function isCut(value: JsonValue): boolean {
  return isJsonObject(value) && value["truncated"] === true && typeof value["bytes"] === "number"
}

function inputLines(input: JsonObject): string {
  const fields = Object.entries(input).map(([name, value]) => `${key(name)}: ${literal(value)}`)
  return `input {\n${indent(fields.join("\n"))}\n}`
}

/** A value as a workflow writes it. */
function literal(value: JsonValue): string {
  if (typeof value === "string") return quoteText(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, one]) => `${key(name)}: ${literal(one)}`)
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
}

const plainName = /^[A-Za-z_]\w*$/

function key(name: string): string {
  return plainName.test(name) ? name : quoteText(name)
}

function member(name: string): string {
  return plainName.test(name) ? `.${name}` : `[${quoteText(name)}]`
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ")
}
