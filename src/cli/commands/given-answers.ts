import { didYouMean } from "../../base/did-you-mean.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AskNode, Plan } from "../../plan/plan-shape.ts"
import type { CallExpression, Expression, WorkflowCallExpression } from "../../plan/expression.ts"
import { children, traits } from "../../plan/expression-traits.ts"
import { expressionsOf } from "../../plan/prepare.ts"
import type { AskedQuestion } from "../../log/events.ts"
import { validateValue } from "../../types/validate-value.ts"
import { withNulls } from "../../types/with-nulls.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { questionPath } from "../terminal/question-prompt.ts"
import { parseObject, put, readAssignment, readText, readValue, typeAt } from "./given-values.ts"

export interface AnswerFlags {
  readonly answer?: readonly string[]
  readonly answers?: string
  readonly approve?: readonly string[]
}

/** What the command line has for a question: the answer, or the fields that it lacks and those that it has. */
export type Given = { readonly answer: JsonValue } | { readonly missing: readonly string[]; readonly known: JsonObject }

/** Answers and approvals of the command line, checked against the questions of the workflow. */
export class GivenAnswers {
  readonly #plan: Plan
  /** By name: for all questions of the step, and for single items of its loop. */
  readonly #answers = new Map<string, { all: JsonObject; each: Map<number, JsonObject> }>()
  readonly #approvals = new Map<string, JsonObject>()
  /** What servers are answered that ask during a call, by tool. */
  readonly #elicitations = new Map<string, JsonObject>()

  constructor(plan: Plan, flags: AnswerFlags) {
    this.#plan = plan
    if (flags.answers !== undefined) this.#readFile(flags.answers)
    for (const assignment of flags.answer ?? []) this.#assign(assignment)
    for (const tool of flags.approve ?? []) {
      known("--approve", tool, approvedTools(plan), "tool", " whose calls need an approval")
      this.#approvals.set(tool, { approve: true, note: null })
    }
    for (const [name, { all, each }] of this.#answers) {
      for (const answer of [all, ...each.values()]) this.#check(name, answer)
    }
  }

  /** The given answer to a question. */
  to(question: Pick<AskedQuestion, "kind" | "name" | "iteration" | "scope" | "prefill">): Given {
    const { kind, iteration, prefill } = question
    const name = questionPath(question)
    if (kind === "approval") {
      const approval = this.#approvals.get(name)
      return approval === undefined ? { missing: ["approve"], known: {} } : { answer: approval }
    }
    if (kind === "elicitation") {
      const answer = this.#elicitations.get(name)
      return answer === undefined ? { missing: ["action"], known: {} } : { answer }
    }
    const { node, types } = this.#ask(name)
    const { output } = node
    const given = this.#answers.get(name)
    const one = iteration === undefined ? undefined : given?.each.get(iteration)
    if (given === undefined || (one === undefined && Object.keys(given.all).length === 0)) {
      return { missing: output.fields.map((field) => field.name), known: {} }
    }
    const answer = withNulls({ ...prefill, ...given.all, ...one }, output, types) as JsonObject
    const missing = output.fields.filter((field) => !Object.hasOwn(answer, field.name)).map((field) => field.name)
    return missing.length === 0 ? { answer } : { missing, known: { ...given.all, ...one } }
  }

  #ask(name: string): PlannedAsk {
    const found = asksOf(this.#plan).find((one) => one.path === name)
    if (found === undefined) throw new Error(`The plan has no question ${name}`)
    return found
  }

  #of(name: string): { all: JsonObject; each: Map<number, JsonObject> } {
    let given = this.#answers.get(name)
    if (given === undefined) this.#answers.set(name, (given = { all: {}, each: new Map() }))
    return given
  }

  /** `review.publish=true`, `triage.review.publish=true` in a called workflow; of a loop `page.right=true` for all items, `page[2].right=false` for one. */
  #assign(assignment: string): void {
    const { path, keys, text } = readAssignment("--answer", assignment)
    const names = askNames(this.#plan)
    const nameOf = (length: number): string => keys.slice(0, length).join(".")
    const length = Math.max(1, keys.findIndex((_, index) => names.includes(nameOf(index + 1))) + 1)
    const name = nameOf(length)
    const second = keys[length]
    const about = `--answer ${path}`
    known("--answer", name, names, "question")
    const { node, types } = this.#ask(name)
    const { output, loop } = node
    const isOne = typeof second === "number"
    if (isOne && loop === null) throw new WrongValue(`${about}: ${name} is asked once, not for each item.`)
    const rest = keys.slice(isOne ? length + 1 : length)
    const value = readValue(text, typeAt(output, rest, types), types)
    const given = this.#of(name)
    const target = isOne ? (given.each.get(second) ?? {}) : given.all
    if (rest.length > 0) put(target, rest, value, about)
    else if (isJsonObject(value)) Object.assign(target, value)
    else
      throw new WrongValue(
        `${about}: write a field of it, ${path}.${output.fields[0]?.name ?? "field"}=value, or an object as JSON.`,
      )
    if (isOne) given.each.set(second, target)
  }

  /** `{ "review": { … }, "page": [{ … }, { … }], "pay": { "approve": true } }` */
  #readFile(path: string): void {
    const tools = approvedTools(this.#plan)
    const askingTools = toolsThatAsk(this.#plan)
    for (const [name, value] of Object.entries(parseObject(readText(path), path))) {
      const asks = askNames(this.#plan)
      if (!asks.includes(name) && askingTools.includes(name) && isJsonObject(value) && "action" in value) {
        this.#elicitations.set(name, value)
        continue
      }
      if (!asks.includes(name) && tools.includes(name)) {
        if (!isJsonObject(value) || typeof value["approve"] !== "boolean") {
          throw new WrongValue(`${path}: ${name} must be { "approve": true } or { "approve": false }.`)
        }
        const { approve, note } = value
        this.#approvals.set(name, { approve, note: typeof note === "string" ? note : null })
        continue
      }
      known(path, name, [...asks, ...tools, ...askingTools], "question")
      if (!asks.includes(name)) {
        throw new WrongValue(
          `${path}: ${name} must be { "action": "accept", "content": { … } }, or "decline", or "cancel".`,
        )
      }
      const given = this.#of(name)
      const isLoop = this.#ask(name).node.loop !== null
      if (isJsonObject(value)) Object.assign(given.all, value)
      else if (isLoop && Array.isArray(value) && value.every(isJsonObject)) {
        for (const [index, item] of value.entries()) given.each.set(index, item)
      } else throw new WrongValue(`${path}: ${name} must be an object${isLoop ? ", or an array of objects" : ""}.`)
    }
  }

  /** Given answers must fit; the others are asked for when they are needed. */
  #check(name: string, answer: JsonObject): void {
    const { node, types } = this.#ask(name)
    const { output } = node
    const whole = withNulls(answer, output, types) as JsonObject
    const fields = output.fields.filter((field) => Object.hasOwn(answer, field.name))
    const rest = Object.keys(answer).filter((key) => !output.fields.some((field) => field.name === key))
    const [unknown] = rest
    if (unknown !== undefined) {
      const meant = didYouMean(
        unknown,
        output.fields.map((field) => field.name),
      )
      throw new WrongValue(`${name} has no field ${unknown}${meant === undefined ? "." : `; did you mean ${meant}?`}`)
    }
    for (const field of fields) {
      const [misfit] = validateValue(whole[field.name], field.type, types, `${name}.${field.name}`)
      if (misfit !== undefined) throw new WrongValue(`${misfit.message}.`)
    }
  }
}

function known(where: string, name: string, names: readonly string[], what: string, which = ""): void {
  if (names.includes(name)) return
  const meant = didYouMean(name, names)
  throw new WrongValue(
    `${where}: the workflow has no ${what} ${name}${which}${meant === undefined ? "." : `; did you mean ${meant}?`}`,
  )
}

/** A question of the workflow or, with the path of calls before its name, of one that it calls: `triage.review`. */
interface PlannedAsk {
  readonly path: string
  readonly node: AskNode
  readonly types: Plan["types"]
}

/** Looks in the plan and, with the path of calls before the names, in those of the workflows that it calls. */
function inAll<T>(plan: Plan, find: (plan: Plan, before: string) => readonly T[], before = ""): T[] {
  const inside = Object.entries(plan.workflows ?? {}).flatMap(([name, called]) =>
    inAll(called.plan, find, `${before}${name}.`),
  )
  return [...find(plan, before), ...inside]
}

function asksOf(whole: Plan): PlannedAsk[] {
  return inAll(whole, ({ nodes, types }, before) =>
    nodes.flatMap((node) => (node.kind === "ask" ? [{ path: `${before}${node.name}`, node, types }] : [])),
  )
}

function askNames(plan: Plan): string[] {
  return asksOf(plan).map(({ path }) => path)
}

/** Tools whose servers may ask during a call. */
function toolsThatAsk(whole: Plan): string[] {
  return inAll(whole, ({ tools, servers }, before) =>
    Object.entries(tools).flatMap(([name, { server, http }]) =>
      http === undefined && servers[server]?.elicitation !== undefined ? [`${before}${name}`] : [],
    ),
  )
}

/** Tools and workflows whose calls need an approval. */
function approvedTools(whole: Plan): string[] {
  const names = inAll(whole, ({ nodes }, before) => {
    const used = nodes.flatMap((node) => (node.kind === "agent" ? [...node.uses, ...(node.workflows ?? [])] : []))
    const called = nodes.flatMap((node) => expressionsOf(node).flatMap(callsIn))
    return [...used, ...called].flatMap((one) => {
      if (one.approval === null) return []
      return [`${before}${"workflow" in one ? one.workflow : "tool" in one ? one.tool : one.name}`]
    })
  })
  return [...new Set(names)]
}

function callsIn(expression: Expression): (CallExpression | WorkflowCallExpression)[] {
  const own = expression.op === "call" || expression.op === "call-workflow" ? [expression] : []
  return traits(expression).pure ? [] : [...own, ...children(expression).flatMap(callsIn)]
}
