import type { Program, ResolvedRoot } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { valuesOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { ofFunction } from "./function-labels.ts"
import { either, flat, freed, joined, list, plain, record, tuple, type Labelled } from "./labelled.ts"
import { join, marked, none, type Marks } from "./marks.ts"

/** Where an expression stands. */
export interface Place {
  /** `agent.writer.instruction` */
  readonly path: string
  readonly span: Span
  /** The labels of what decides whether the expression is evaluated at all. */
  readonly decided: Marks
  /** What names stand for here alone: loop variables. */
  readonly variables: ReadonlyMap<string, Labelled>
  /** The agent's own dynamic values. */
  readonly locals: ReadonlyMap<string, Labelled>
  /** The value of the match around it, where a branch begins with its case. */
  readonly matched?: Labelled
  /** It is evaluated for each element of a list, or for each item of a step. */
  readonly isRepeated?: boolean
  /** After a round of a repetition: its output, and what decided that there was one. */
  readonly result?: Labelled
  readonly round?: Marks
}

/** What the flow of labels asks of whoever knows the steps and the rules. */
export interface Steps {
  input(): Labelled
  step(kind: "agent" | "ask" | "dynamic", name: string): Labelled
  /** The result of a `call`, `read` or `render`, after its rules were looked at. */
  invoked(node: Syntax.InvokeNode, bound: readonly Bound[], place: Place): Labelled
  asset(node: Syntax.AssetNode, source: Labelled, result: Labelled, place: Place): void
  /** A reference to a part of the input, or of another step (`input.mail`, `agent.reader`). */
  read(from: string, place: Place, marks: Marks): void
  /** `trust` or `release`; a needless one changes nothing. */
  exception(node: Syntax.ExceptionNode, place: Place, isNeedless: boolean): void
}

/** An argument or binding, with the labels of its value. */
export interface Bound {
  readonly field: Syntax.ValueField
  /** It wins over a binding of the import; an argument does not. */
  readonly isBinding: boolean
  readonly value: Labelled
}

/** The labels of expressions: those of all that a value was made from, and of what decided. */
export class Flow {
  readonly #program: Program
  readonly #steps: Steps

  constructor(program: Program, steps: Steps) {
    this.#program = program
    this.#steps = steps
  }

  of(node: Syntax.Expression, place: Place): Labelled {
    switch (node.kind) {
      case "string":
        return flat(this.#wholes(node.interpolations, place))
      case "array":
        return tuple(node.items.map((item) => this.of(item, place)))
      case "list":
        return this.#list(node, place)
      case "object":
        return record(new Map(node.body.items.map(({ name, value }) => [name.text, this.of(value, place)])))
      case "group":
        return this.of(node.expression, place)
      case "chain":
        return this.#chain(node, place)
      case "default": {
        const left = this.of(node.left, place)
        return joined(either([left, this.of(node.right, after(place, left.own))]), left.own)
      }
      case "binary": {
        const left = this.of(node.left, place).whole
        const isShort = node.operator === "&&" || node.operator === "||"
        return flat(join(left, this.of(node.right, isShort ? after(place, left) : place).whole))
      }
      case "not":
      case "negate":
        return flat(this.of(node.operand, place).whole)
      case "function":
        return ofFunction(
          node.name.text,
          node.items.map((item) => this.of(item, place)),
        )
      case "match":
        return this.#match(node, place)
      case "call":
      case "read":
      case "render":
      case "repeat":
        return this.#steps.invoked(node, this.bound(node, place), place)
      case "asset": {
        const source = this.of(node.value, place)
        const more = (node.block?.items ?? []).map(({ value }) => {
          return value.kind === "expression" ? this.of(value.expression, place).whole : none
        })
        // Whoever answers at its address wrote it.
        const stranger = marked("untrusted", { name: this.#text(node), span: node.keyword })
        const result = flat(join(source.whole, ...more, stranger))
        this.#steps.asset(node, source, result, place)
        return result
      }
      case "exception":
        return this.#exception(node, place)
      case "number":
      case "word":
      case "observed":
      case "missing-expression":
        return plain
    }
  }

  /** The arguments and bindings that a call, or a use, is written with. */
  bound({ block }: { readonly block: Syntax.Block<Syntax.Property> | undefined }, place: Place): Bound[] {
    return (["input", "bindings"] as const).flatMap((name) => {
      return valuesOf(block, name).map((field) => {
        return { field, isBinding: name === "bindings", value: this.of(field.value, place) }
      })
    })
  }

  #wholes(nodes: readonly Syntax.Expression[], place: Place): Marks {
    return join(...nodes.map((one) => this.of(one, place).whole))
  }

  #text({ start, end }: Span): string {
    const text = this.#program.tree.text.slice(start, end).replaceAll(/\s+/g, " ")
    return text.length <= 60 ? text : `${text.slice(0, 59)}…`
  }

  #chain(chain: Syntax.Chain, place: Place): Labelled {
    const root = this.#program.roots.get(chain)
    if (chain.base.kind !== "name") return steps(this.of(chain.base, place), chain.steps)
    if (root === undefined) return plain
    const isTwofold = root.kind === "agent" || root.kind === "ask" || root.kind === "dynamic" || root.kind === "local"
    const value = steps(this.#root(root, chain, place), isTwofold ? chain.steps.slice(1) : chain.steps)
    if (root.kind !== "local" && (isTwofold || root.kind === "input")) {
      const [first] = chain.steps
      this.#steps.read(first?.kind === "field" ? `${root.kind}.${first.name.text}` : root.kind, place, value.whole)
    }
    return value
  }

  #root(root: ResolvedRoot, chain: Syntax.Chain, place: Place): Labelled {
    switch (root.kind) {
      case "input":
        return this.#steps.input()
      case "agent":
      case "ask":
      case "dynamic":
        return this.#steps.step(root.kind, root.name)
      case "local":
        return place.locals.get(root.name) ?? plain
      case "variable":
      case "item":
        return place.variables.get(root.name) ?? plain
      case "matched":
        return chain.base.kind === "name" ? (place.matched ?? plain).caseOf(chain.base.text) : plain
      case "round":
        return flat(place.round ?? none)
      // The model that reads a requirement wrote the result, and the person who reads one gave the answer.
      case "result":
        return place.result ?? plain
      case "run":
      case "secrets":
        return plain
    }
  }

  /** The list's length, the condition and the key decide what is in it, and in which order. */
  #list({ loop, when, by, value }: Syntax.ListNode, place: Place): Labelled {
    const items = this.of(loop.items, place)
    const variables = withVariables(place.variables, loop, items)
    const inner = { ...after(place, items.own), variables, isRepeated: true }
    const condition = when === undefined ? none : this.of(when.condition, inner).whole
    const key = by === undefined ? none : this.of(by.key, inner).whole
    const element = this.of(value, after(inner, condition))
    const gathered = items.together ?? none
    // Which elements are left, and in which order, tells as much as all of them together.
    const chosen = when === undefined && by === undefined ? none : gathered
    return list(join(items.own, condition, key, chosen), element, gathered)
  }

  #match(node: Syntax.MatchNode, place: Place): Labelled {
    const value = this.of(node.value, place)
    const inner = { ...after(place, value.own), matched: value }
    const branches = node.body.items.map((branch) => this.of(branch.value, inner))
    return joined(either(branches), value.own)
  }

  #exception(node: Syntax.ExceptionNode, place: Place): Labelled {
    const label = node.word === "trust" ? "untrusted" : "private"
    const value = this.of(node.value, place)
    this.#steps.exception(node, place, value.whole[label].length === 0)
    return freed(value, label)
  }
}

/** The names that a loop gives to its elements, and to parts of them. */
export function withVariables(
  known: ReadonlyMap<string, Labelled>,
  { pattern }: Syntax.Loop,
  items: Labelled,
): ReadonlyMap<string, Labelled> {
  const element = joined(items.element(), items.own)
  const variables = new Map(known)
  if (pattern.kind === "item") return variables.set(pattern.name.text, element)
  for (const { field, variable } of pattern.body.items) {
    variables.set(variable.text, joined(element.field(field.text), element.own))
  }
  return variables
}

/** What stands behind a decision. */
function after(place: Place, decided: Marks): Place {
  return decided === none ? place : { ...place, decided: join(place.decided, decided) }
}

function steps(value: Labelled, rest: readonly Syntax.ChainStep[]): Labelled {
  let at = value
  for (const step of rest) {
    switch (step.kind) {
      case "field":
        at = joined(at.field(step.name.text), at.own)
        break
      case "index":
        at = joined(at.element(step.index?.value), at.own)
        break
      case "case":
        at = joined(at.caseOf(step.name.text), at.own)
        break
      case "pluck": {
        const element = at.element()
        const part = joined(element.field(step.name.text), element.own)
        // The rest of the chain is read in each element.
        const further = rest.slice(rest.indexOf(step) + 1)
        const read = steps(part, further)
        const gathered = at.together ?? none
        // Which elements are null decides how many are left: those of this pluck, and those that a later one finds nothing in.
        const dropped = further.some((later) => later.kind === "pluck" && later.stars === 2) ? read.own : none
        const own = step.stars === 2 ? join(at.own, part.own, gathered, dropped) : join(at.own, dropped)
        return list(own, read, gathered)
      }
    }
  }
  return at
}

/** A place that nothing decides about. */
export function placeAt(path: string, span: Span): Place {
  return { path, span, decided: none, variables: new Map(), locals: new Map() }
}
