import { didYouMean } from "../../base/did-you-mean.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AskNode, Plan } from "../../plan/plan-shape.ts"
import { prepare } from "../../plan/prepare.ts"
import type { AskedQuestion } from "../../log/events.ts"
import { nullable, resolve } from "../../types/relations.ts"
import type { RecordType, Type, TypeTable } from "../../types/types.ts"
import { validateValue } from "../../types/validate-value.ts"
import { parseObject, put, readAssignment, readText, readValue, typeAt, WrongValue } from "./run-values.ts"

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
  to({ kind, name, iteration }: Pick<AskedQuestion, "kind" | "name" | "iteration">): Given {
    if (kind === "approval") {
      const approval = this.#approvals.get(name)
      return approval === undefined ? { missing: ["approve"], known: {} } : { answer: approval }
    }
    const { output } = this.#ask(name)
    const given = this.#answers.get(name)
    const one = iteration === undefined ? undefined : given?.each.get(iteration)
    if (given === undefined || (one === undefined && Object.keys(given.all).length === 0)) {
      return { missing: output.fields.map((field) => field.name), known: {} }
    }
    const answer = completed({ ...given.all, ...one }, output, this.#plan.types) as JsonObject
    const missing = output.fields.filter((field) => !Object.hasOwn(answer, field.name)).map((field) => field.name)
    return missing.length === 0 ? { answer } : { missing, known: { ...given.all, ...one } }
  }

  #ask(name: string): AskNode {
    const node = asksOf(this.#plan).find((one) => one.name === name)
    if (node === undefined) throw new Error(`The plan has no question ${name}`)
    return node
  }

  #of(name: string): { all: JsonObject; each: Map<number, JsonObject> } {
    let given = this.#answers.get(name)
    if (given === undefined) this.#answers.set(name, (given = { all: {}, each: new Map() }))
    return given
  }

  /** `review.publish=true`; of a loop `page.right=true` for all items, `page[2].right=false` for one. */
  #assign(assignment: string): void {
    const { path, keys, text } = readAssignment("--answer", assignment)
    const [name = "", second] = keys
    const about = `--answer ${path}`
    known("--answer", String(name), askNames(this.#plan), "question")
    const { output, loop } = this.#ask(String(name))
    const isOne = typeof second === "number"
    if (isOne && loop === null) throw new WrongValue(`${about}: ${String(name)} is asked once, not for each item.`)
    const rest = keys.slice(isOne ? 2 : 1)
    const value = readValue(text, typeAt(output, rest, this.#plan.types), this.#plan.types)
    const given = this.#of(String(name))
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
    for (const [name, value] of Object.entries(parseObject(readText(path), path))) {
      const asks = askNames(this.#plan)
      if (!asks.includes(name) && tools.includes(name)) {
        if (!isJsonObject(value) || typeof value["approve"] !== "boolean") {
          throw new WrongValue(`${path}: ${name} must be { "approve": true } or { "approve": false }.`)
        }
        const { approve, note } = value
        this.#approvals.set(name, { approve, note: typeof note === "string" ? note : null })
        continue
      }
      known(path, name, [...asks, ...tools], "question")
      const given = this.#of(name)
      const isLoop = this.#ask(name).loop !== null
      if (isJsonObject(value)) Object.assign(given.all, value)
      else if (isLoop && Array.isArray(value) && value.every(isJsonObject)) {
        for (const [index, item] of value.entries()) given.each.set(index, item)
      } else throw new WrongValue(`${path}: ${name} must be an object${isLoop ? ", or an array of objects" : ""}.`)
    }
  }

  /** Given answers must fit; the others are asked for when they are needed. */
  #check(name: string, answer: JsonObject): void {
    const { output } = this.#ask(name)
    const { types } = this.#plan
    const whole = completed(answer, output, types) as JsonObject
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

function asksOf(plan: Plan): AskNode[] {
  return plan.nodes.filter((node) => node.kind === "ask")
}

function askNames(plan: Plan): string[] {
  return asksOf(plan).map(({ name }) => name)
}

function approvedTools(plan: Plan): string[] {
  const used = plan.nodes.flatMap((node) => (node.kind === "agent" ? node.uses : []))
  const called = prepare(plan).effects.flatMap((effect) => (effect.op === "call" ? [effect] : []))
  const tools = [
    ...used.flatMap(({ name, approval }) => (approval === null ? [] : [name])),
    ...called.flatMap(({ tool, approval }) => (approval === null ? [] : [tool])),
  ]
  return [...new Set(tools)]
}

/** The value with null for the fields that may be null and are left out. */
export function completed(value: JsonValue, type: Type, types: TypeTable): JsonValue {
  const known = resolve(type, types)
  if (known.kind !== "record" || !isJsonObject(value)) return value
  return { ...value, ...filled(value, known, types) }
}

function filled(value: JsonObject, { fields }: RecordType, types: TypeTable): JsonObject {
  const more: JsonObject = {}
  for (const { name, type } of fields) {
    if (Object.hasOwn(value, name)) more[name] = completed(value[name] ?? null, type, types)
    else if (nullable(type, types)) more[name] = null
  }
  return more
}
