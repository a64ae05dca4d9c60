import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Expression, Root, Step } from "../plan/expression.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import type { ShownMessage } from "../log/events.ts"
import type { RunState, Span } from "../log/run-state.ts"
import { siteKey } from "../log/run-state.ts"

/** The step that an expression stands in, and which item of its loop is meant. */
export interface Place {
  readonly node: AgentNode
  readonly iteration: number | undefined
}

/**
 * What expressions were in a run, as far as that follows from its input and its events: outputs, answers of people, what
 * tools, resources and prompts gave. Whatever else they take (secrets, conditions) is not known here: then the value is
 * undefined, and so is one whose event shows its size only.
 */
export class KnownValues {
  readonly #plan: Plan | null
  readonly #input: JsonObject
  readonly #state: RunState

  constructor(plan: Plan | null, input: JsonObject, state: RunState) {
    this.#plan = plan
    this.#input = input
    this.#state = state
  }

  of(expression: Expression, place?: Place): JsonValue | undefined {
    switch (expression.op) {
      case "literal":
        return expression.value
      case "text": {
        const parts = expression.parts.map((part) => (typeof part === "string" ? part : plain(this.of(part, place))))
        return parts.every((part) => part !== undefined) ? parts.join("") : undefined
      }
      case "array": {
        const items = expression.items.map((item) => this.of(item, place))
        return items.every((item) => item !== undefined) ? items : undefined
      }
      case "object": {
        const entries = expression.entries.map(({ key, value }) => [key, this.of(value, place)] as const)
        return entries.every((entry): entry is [string, JsonValue] => entry[1] !== undefined)
          ? Object.fromEntries(entries)
          : undefined
      }
      case "default":
        return orElse(this.of(expression.left, place), () => this.of(expression.right, place))
      case "call":
      case "read":
        return whole(this.#span(expression.site, place?.iteration)?.result)
      case "render":
        return this.messages(expression.site, place?.iteration)
          ?.map(({ text }) => text)
          .join("\n\n")
      case "reference":
        return this.#root(expression.root, place)
      case "chain":
        return expression.steps.reduce(follow, this.of(expression.base, place))
      default:
        return undefined
    }
  }

  /** The messages of a prompt that was rendered at this place. */
  messages(site: string, iteration: number | undefined): readonly ShownMessage[] | undefined {
    return messagesOf(this.#span(site, iteration))
  }

  #span(site: string, iteration: number | undefined): Span | undefined {
    const key = siteKey(site, iteration)
    return this.#state.spans.find((span) => span.site === key)
  }

  /** The items of an agent's loop. */
  items(agent: string): readonly JsonValue[] | null {
    const node = this.#plan?.nodes.find(({ id }) => id === `agent.${agent}`)
    const loop = node?.kind === "agent" ? node.loop : null
    const value = loop === null ? undefined : this.of(loop.items)
    return Array.isArray(value) ? value : null
  }

  #root(root: Root, place: Place | undefined): JsonValue | undefined {
    switch (root.kind) {
      case "input":
        return this.#input
      case "agent":
        return this.#output(root.name)
      case "ask":
        return this.#answer(root.name)
      case "wait":
        return this.#waited(root.name)
      case "dynamic": {
        const node = this.#plan?.nodes.find(({ id }) => id === `dynamic.${root.name}`)
        return node?.kind === "dynamic" ? this.of(node.value) : undefined
      }
      case "local": {
        const local = place?.node.locals.find(({ key }) => key === root.name)
        return local === undefined ? undefined : this.of(local.value, place)
      }
      case "variable":
        return place === undefined ? undefined : this.#variable(root.name, place)
      default:
        return undefined
    }
  }

  #variable(name: string, { node, iteration = 0 }: Place): JsonValue | undefined {
    // The output of the round before.
    if (node.repeat !== undefined) return iteration === 0 ? null : this.#outputs(node.name)[iteration - 1]
    const item = this.items(node.name)?.[iteration]
    const pattern = node.loop?.pattern
    if (pattern === undefined || item === undefined) return undefined
    if (pattern.kind === "item") return pattern.variable === name ? item : undefined
    const field = pattern.fields.find(({ variable }) => variable === name)?.field
    return field !== undefined && isJsonObject(item) ? item[field] : undefined
  }

  #output(agent: string): JsonValue | undefined {
    const own = this.#state.spans.filter(
      ({ name, kind }) => name === agent && (kind === "agent" || kind === "iteration"),
    )
    const [first] = own
    if (first?.iteration === undefined) return whole(first?.output)
    const node = this.#plan?.nodes.find(({ id }) => id === `agent.${agent}`)
    const outputs = this.#outputs(agent)
    return node?.kind === "agent" && node.repeat !== undefined ? outputs.at(-1) : outputs
  }

  /** The outputs of all items, or rounds. */
  #outputs(agent: string): JsonValue[] {
    const outputs: JsonValue[] = []
    for (const { name, kind, iteration, output } of this.#state.spans) {
      if (kind === "iteration" && name === agent && iteration !== undefined) outputs[iteration] = whole(output) ?? null
    }
    return outputs
  }

  #waited(name: string): JsonValue | undefined {
    const own = this.#state.spans.filter((span) => span.kind === "wait" && span.name === name)
    if (own[0]?.iteration === undefined) return own[0]?.output
    const values: (JsonValue | undefined)[] = []
    for (const { iteration = 0, output } of own) values[iteration] = output
    return values.every((value) => value !== undefined) ? values : undefined
  }

  #answer(name: string): JsonValue | undefined {
    const own = this.#state.questions.filter((question) => question.kind === "ask" && question.name === name)
    if (own[0]?.iteration === undefined) return own[0]?.answer
    const answers: (JsonValue | undefined)[] = []
    for (const { iteration = 0, answer } of own) answers[iteration] = answer
    return answers.every((answer) => answer !== undefined) ? answers : undefined
  }
}

/** The messages that a span carries, where they are not shown by their size only. */
export function messagesOf(span: Span | undefined): readonly ShownMessage[] | undefined {
  const messages = span?.messages
  return messages !== undefined && "truncated" in messages ? undefined : messages
}

/** A value that is not shown by its size only. */
function whole(value: JsonValue | undefined): JsonValue | undefined {
  const isCut = isJsonObject(value) && value["truncated"] === true && typeof value["bytes"] === "number"
  return isCut ? undefined : value
}

/** Null is replaced; what is not known stays so. */
function orElse(value: JsonValue | undefined, other: () => JsonValue | undefined): JsonValue | undefined {
  return value === null ? other() : value
}

/** How a value reads within a text. */
function plain(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value)
}

function follow(value: JsonValue | undefined, step: Step): JsonValue | undefined {
  // A step on null makes the rest of the chain null, or the run fails.
  if (value === undefined || value === null) return value
  if (step.step === "field") return isJsonObject(value) ? value[step.name] : undefined
  if (step.step === "index") return Array.isArray(value) ? value[step.index] : undefined
  if (step.step !== "pluck" || !Array.isArray(value)) return undefined
  const plucked = value.map((item) => (isJsonObject(item) ? (item[step.name] ?? null) : null))
  return step.nulls === "drop" ? plucked.filter((item) => item !== null) : plucked
}
