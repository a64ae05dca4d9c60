import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse, parseAllDocuments, stringify } from "yaml"

// Helm is a program that npm does not have. This renders what the project's own chart uses of its templates, and throws for everything
// else: values, pipes, `if`, `else`, `range`, `eq`, `or`, `gt`, `int`, `quote`, `toYaml`, `nindent`.

type Value = unknown
type Tree = Readonly<Record<string, Value>>

/** The manifests that the chart makes of these values, over its own. */
export function renderChart(folder: string, given: Tree = {}): Tree[] {
  const values = merged(parse(readFileSync(join(folder, "values.yaml"), "utf8")) as Tree, given)
  const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8")) as { appVersion: string }
  const root = {
    Values: values,
    Release: { Name: "demo", Service: "Helm" },
    Chart: { AppVersion: chart.appVersion },
  }
  return readdirSync(join(folder, "templates")).flatMap((name) => {
    const text = new Template(readFileSync(join(folder, "templates", name), "utf8")).render(root)
    return parseAllDocuments(text).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${name}: ${String(document.errors[0])}\n${text}`)
      const made = document.toJS() as Tree | null
      return made === null ? [] : [made]
    })
  })
}

export function merged(own: Tree, given: Tree): Tree {
  const both = Object.entries(given).map(([key, value]): [string, Value] => {
    const before = own[key]
    return [key, isTree(before) && isTree(value) ? merged(before, value) : value]
  })
  return { ...own, ...Object.fromEntries(both) }
}

function isTree(value: Value): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

type Scope = { readonly dot: Value; readonly names: ReadonlyMap<string, Value> }

class Template {
  readonly #parts: readonly string[]
  #at = 0

  constructor(text: string) {
    // Texts are at even places, actions at odd ones.
    const trimmed = text.replaceAll(/\s*\{\{-/g, "{{").replaceAll(/-\}\}\s*/g, "}}")
    this.#parts = trimmed.split(/\{\{(.*?)\}\}/)
  }

  render(root: Value): string {
    const text = this.#block({ dot: root, names: new Map([["$", root]]) }, true)
    if (this.#at < this.#parts.length) throw new Error(`{{ ${this.#action()} }} ends nothing`)
    return text
  }

  #action(): string {
    return (this.#parts[this.#at] ?? "").trim()
  }

  /** Up to an `else` or `end` that belongs to what is around it. */
  #block(scope: Scope, shown: boolean): string {
    let text = ""
    for (; this.#at < this.#parts.length; this.#at++) {
      if (this.#at % 2 === 0) {
        if (shown) text += this.#parts[this.#at] ?? ""
        continue
      }
      const action = this.#action()
      if (action === "end" || action === "else") return text
      if (action.startsWith("if ")) text += this.#if(action.slice(3), scope, shown)
      else if (action.startsWith("range ")) text += this.#range(action.slice(6), scope, shown)
      else if (shown) text += String(evaluate(action, scope))
    }
    return text
  }

  #if(condition: string, scope: Scope, shown: boolean): string {
    const holds = shown && isTrue(evaluate(condition, scope))
    this.#at++
    let text = this.#block(scope, holds)
    if (this.#action() === "else") {
      this.#at++
      text += this.#block(scope, shown && !holds)
    }
    if (this.#action() !== "end") throw new Error(`{{ if ${condition} }} has no end`)
    return text
  }

  #range(written: string, scope: Scope, shown: boolean): string {
    const [, key, item, list = written] = /^\$(\w+), \$(\w+) := (.*)$/.exec(written) ?? []
    const value = shown ? evaluate(list, scope) : []
    const entries = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(value as Tree).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const from = this.#at + 1
    let text = ""
    for (const [name, dot] of entries as [Value, Value][]) {
      this.#at = from
      const names = new Map(scope.names)
      if (key !== undefined && item !== undefined) names.set(`$${key}`, name).set(`$${item}`, dot)
      text += this.#block({ dot: key === undefined ? dot : scope.dot, names }, true)
    }
    if (entries.length === 0) {
      this.#at = from
      this.#block(scope, false)
    }
    return text
  }
}

function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isTree(value) ? Object.keys(value).length > 0 : Boolean(value)
}

const functions: Readonly<Record<string, (...given: Value[]) => Value>> = {
  eq: (one, other) => one === other,
  or: (one, other) => (isTrue(one) ? one : other),
  gt: (one, other) => Number(one) > Number(other),
  int: (one) => Math.trunc(Number(one)),
  quote: (one) => JSON.stringify(String(one)),
  toYaml: (one) => stringify(one).trimEnd(),
  nindent: (width, text) => `\n${String(text).replaceAll(/^/gm, " ".repeat(Number(width)))}`,
}

/** `a | b` gives the value of `a` to `b` as its last argument. */
function evaluate(written: string, scope: Scope): Value {
  let piped: [Value] | [] = []
  for (const stage of written.split(" | ")) piped = [call(words(stage), scope, piped)]
  return piped[0]
}

function call([first = "", ...rest]: readonly string[], scope: Scope, piped: readonly Value[]): Value {
  if (!Object.hasOwn(functions, first)) {
    if (rest.length + piped.length > 0) throw new Error(`${first} is not a function that this renderer knows`)
    return operand(first, scope)
  }
  return functions[first]?.(...rest.map((one) => operand(one, scope)), ...piped)
}

function operand(written: string, scope: Scope): Value {
  if (written.startsWith("(")) return evaluate(written.slice(1, -1), scope)
  if (/^"[^"]*"$/.test(written)) return written.slice(1, -1)
  if (/^\d+$/.test(written)) return Number(written)
  const [, name, path = ""] = /^(\$\w*)?((?:\.\w+)+|\.)?$/.exec(written) ?? []
  if (name === undefined && path === "") throw new Error(`${written} is not a value that this renderer knows`)
  let value = name === undefined ? scope.dot : scope.names.get(name)
  for (const key of path.split(".").filter((part) => part !== "")) {
    if (!isTree(value) || !Object.hasOwn(value, key)) throw new Error(`${written} is not in the values`)
    value = value[key]
  }
  return value
}

/** Words, strings, and what stands in parentheses. */
function words(text: string): string[] {
  return text.match(/\([^()]*\)|"[^"]*"|\S+/g) ?? []
}
