import type { Program, ResolvedRoot } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import { holdsFile } from "../types/holds-file.ts"
import { isMadeOf } from "../types/type-parts.ts"
import { isStepFunction } from "../check/step-functions.ts"
import { secondName } from "../syntax/property-of.ts"
import { skipOf } from "./declared.ts"
import { ofFunction } from "./function-labels.ts"
import { mayFail, stepMayFail } from "./may-fail.ts"
import { either, flat, list, plain, record, tuple, type Labelled } from "./label-tree.ts"
import { allLabels, isNone, join, marked, none, via, without, wordsFrom, type Marks } from "./marks.ts"
import { sourcesOf, type PrivateParts } from "./private-parts.ts"

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
  step(kind: "agent" | "ask" | "wait" | "dynamic", name: string): Labelled | undefined
  /** The outputs of all rounds of an agent that repeats. */
  rounds(agent: string): Labelled | undefined
  /** The result of a `call`, `read` or `render`, after its rules were looked at. */
  invoked(node: Syntax.InvokeNode, bound: readonly Bound[], place: Place): Labelled
  /** `address`: what its address, and what decides that it is fetched, is made from. */
  asset(span: Span, address: Marks, place: Place): void
  /** A reference to a part of the input, or of another step (`input.mail`, `agent.reader`). */
  read(from: string, place: Place, marks: Marks): void
  /** `trust` or `release` of a value with these labels. */
  exception(node: Syntax.ExceptionNode, place: Place, marks: Marks): void
}

/** An argument or binding, with the labels of its value. */
export interface Bound {
  readonly field: Syntax.ValueField
  /** It wins over a binding of the import; an argument does not. */
  readonly isBinding: boolean
  readonly value: Labelled
}

type Kind = Syntax.Expression["kind"]
type NodeOf<K extends Kind> = Syntax.Expression extends infer Node
  ? Node extends { readonly kind: infer Kinds }
    ? K extends Kinds
      ? Node
      : never
    : never
  : never

/**
 * What is known of a kind of expression. One without a row has the labels of everything in it, and of everything that decides it: a
 * row makes that more precise.
 */
const rows: { readonly [K in Kind]?: (flow: Flow, node: NodeOf<K>, place: Place) => Labelled } = {
  string: (flow, { interpolations }, place) => flat(flow.within(interpolations, place)),
  number: () => plain,
  word: () => plain,
  array: (flow, { items }, place) => tuple(items.map((item) => flow.of(item, place))),
  list: (flow, node, place) => flow.list(node, place),
  object: (flow, { body }, place) =>
    record(new Map(body.items.map(({ name, value }) => [name.text, flow.of(value, place)]))),
  group: (flow, { expression }, place) => flow.of(expression, place),
  chain: (flow, node, place) => flow.chain(node, place),
  default: (flow, node, place) => {
    const left = flow.of(node.left, place)
    return either([left, flow.of(node.right, after(place, left.own))]).with(left.own)
  },
  binary: (flow, node, place) => {
    const left = flow.of(node.left, place).whole
    const isShort = node.operator === "&&" || node.operator === "||"
    return flat(join(left, flow.of(node.right, isShort ? after(place, left) : place).whole))
  },
  not: (flow, { operand }, place) => flat(flow.of(operand, place).whole),
  negate: (flow, { operand }, place) => flat(flow.of(operand, place).whole),
  function: (flow, node, place) => {
    if (isStepFunction(node.name.text) && node.receiver === undefined) return flow.rounds(node, place)
    const given = node.items.map((item) => flow.of(item, place))
    return flow.failure(node, given) ?? flow.own(node.name.text, given, place) ?? ofFunction(node.name.text, given)
  },
  match: (flow, node, place) => {
    const value = flow.of(node.value, place)
    const decided = flow.decidedBy(value, node)
    const inner = { ...after(place, decided), matched: value.with(decided) }
    return either(node.body.items.map((branch) => flow.of(branch.value, inner))).with(decided)
  },
  call: (flow, node, place) => flow.invoked(node, place),
  read: (flow, node, place) => flow.invoked(node, place),
  render: (flow, node, place) => flow.invoked(node, place),
  repeat: (flow, node, place) => flow.invoked(node, place),
  asset: (flow, node, place) => flow.asset(node, place),
  exception: (flow, node, place) => flow.exception(node, place),
}

/** Beyond these a call of a function has all labels of its arguments. */
const maxWithin = 40
const maxLooked = 100_000

/** The labels of expressions: those of all that a value was made from, and of what decided. */
export class Flow {
  readonly #program: Program
  readonly #steps: Steps
  /** The labels of whatever was evaluated and may have failed. */
  #touched: Marks = none
  #answered: Marks = none
  /** Whether the run goes on after a failure here. */
  #isCaught = false
  /** The labels that were touched before, in all that such a failure ends. */
  #before: Marks = none
  /** What strangers chose in files that were called. */
  #chosen: Marks = none
  /** What files that were called may have failed of, by the place of the call. */
  #called = new Map<number, Marks>()
  /** All that may fail in the lists around is known to decide. */
  #isInList = false
  /** All that may fail in the expressions around is known to decide about calls of files. */
  #isForeseen = false
  /** A failure ends all calls of the file. */
  readonly #endsCalls: boolean

  readonly #privates: PrivateParts | undefined
  /** The declared paths of the private values in the expression that is looked at. */
  #paths = new Set<string>()

  /** `isCaught`: whoever calls the file goes on after a failure in it. `privates` is told of each private value. */
  constructor(
    program: Program,
    steps: Steps,
    isCaught = false,
    kept: ReadonlyMap<string, Marks> = new Map(),
    privates?: PrivateParts,
  ) {
    this.#privates = privates
    this.codeMarks = new Map([...kept].filter(([id]) => !/^(?:tool\.|event )/.test(id)))
    this.#program = program
    this.#steps = steps
    this.#isCaught = isCaught
    this.#endsCalls = isCaught
  }

  of(node: Syntax.Expression, place: Place): Labelled {
    const privates = this.#privates
    if (privates === undefined) return this.#of(node, place)
    const around = this.#paths
    const inner = new Set<string>()
    this.#paths = inner
    const value = this.#of(node, place)
    this.#paths = around
    if (value.whole.private.length === 0) return value
    const own = node.kind === "chain" ? declaredPath(node, this.#program) : undefined
    const paths = own !== undefined ? [own] : inner.size > 0 ? [...inner] : sourcesOf(value.whole)
    privates.note(node, paths)
    for (const path of paths) around.add(path)
    return value
  }

  #of(node: Syntax.Expression, place: Place): Labelled {
    if (this.#within > 0) this.#looked++
    const row = rows[node.kind] as ((flow: Flow, node: Syntax.Expression, place: Place) => Labelled) | undefined
    const value = row === undefined ? flat(join(place.decided, this.within(node, place))) : row(this, node, place)
    // What decides that it is evaluated decides whether it fails.
    const marks = join(value.whole, place.decided)
    if ("target" in node && isWorkflow(node.target)) this.answerOfFile(node, marks)
    else if (mayFail(this.#program, node)) this.touch(marks)
    return value
  }

  /** The labels of all expressions that a piece of the tree is written with. */
  within(node: unknown, place: Place): Marks {
    if (typeof node !== "object" || node === null) return none
    const inner = Object.values(node).map((part: unknown) => {
      const isKnown = isNode(part) && Object.hasOwn(rows, part.kind)
      return isKnown ? this.of(part as Syntax.Expression, place).whole : this.within(part, place)
    })
    return join(...inner)
  }

  get touched(): Marks {
    return join(this.#touched, this.#answered, ...this.#called.values())
  }

  get isCaught(): boolean {
    return this.#isCaught
  }

  touch(marks: Marks): void {
    this.#touched = join(this.#touched, marks)
  }

  /** Something outside gave an answer with these labels. An error of it has them, too, and no exception is made for that. */
  answer(marks: Marks): void {
    this.#answered = join(this.#answered, marks)
  }

  /** A file that is called at this place may fail of values with these labels. */
  answerOfFile({ start }: Span, marks: Marks): void {
    if (!isNone(marks)) this.#called.set(start, join(this.#called.get(start) ?? none, marks))
  }

  /**
   * The labels that are touched meanwhile; `isHidden`: of these, others get to know only those of answers. `reached`: what decides besides
   * whether any of it is done.
   */
  during(run: () => void, isHidden = false, reached = none): Marks {
    const [touched, answered, called, before] = [this.#touched, this.#answered, this.#called, this.#before]
    this.#before = join(this.failed, reached)
    this.#touched = this.#answered = none
    this.#called = new Map()
    run()
    const all = this.touched
    const meanwhile = this.#called
    this.#before = before
    this.#touched = isHidden ? touched : join(touched, this.#touched)
    this.#answered = join(answered, this.#answered)
    this.#called = called
    for (const [start, marks] of meanwhile) this.answerOfFile({ start, end: start }, marks)
    return all
  }

  /**
   * Parts of an expression are made side by side. Where the run goes on after a failure, what may fail in one part decides about the steps of
   * a file that is under way in another; where the whole file ends, about all calls in it.
   */
  sideBySide<T>(run: () => T): T {
    const ends = this.#endsCalls || this.#program.workflows.size > 0
    if (!this.#isCaught || this.#isForeseen || !ends) return run()
    this.#isForeseen = true
    let others = none
    const [touched, answered, before] = [this.#touched, this.#answered, this.#before]
    const called = new Map(this.#called)
    this.during(() => {
      run()
      // A file that stands alone is ended by its own failures inside of it.
      others = this.#called.size > 1 ? this.touched : join(this.#touched, this.#answered)
    })
    ;[this.#touched, this.#answered, this.#called] = [touched, answered, called]
    this.#before = join(before, others)
    const value = run()
    this.#before = before
    this.#isForeseen = false
    return value
  }

  /**
   * Parts of a step that are made in another order than they are looked at. Where the run goes on after a failure, what may fail in one
   * decides about all calls in the others.
   */
  inAnyOrder<T>(run: (part: <P>(make: () => P) => P) => T): T {
    if (!this.#isCaught) return run((make) => make())
    const [touched, answered, before] = [this.#touched, this.#answered, this.#before]
    const called = new Map(this.#called)
    const failing: Marks[] = []
    run((make) => {
      const made: { value?: ReturnType<typeof make> } = {}
      failing.push(this.during(() => (made.value = make())))
      return made.value as ReturnType<typeof make>
    })
    ;[this.#touched, this.#answered, this.#called] = [touched, answered, called]
    let at = 0
    const value = run((make) => {
      const current = at++
      this.#before = join(before, ...failing.filter((_, index) => index !== current))
      const part = make()
      this.#before = before
      return part
    })
    return value
  }

  /** A file gave a value with these labels. */
  choose(marks: Marks): void {
    this.#chosen = join(this.#chosen, wordsFrom(marks))
  }

  /** What strangers may write by choosing once for each item. */
  repeatedly(run: () => void): Marks {
    const before = this.#chosen
    this.#chosen = none
    run()
    const all = this.#chosen
    this.#chosen = join(before, all)
    return all
  }

  /** With `on_failure: skip`, the labels of whatever may make it fail while the run goes on. `run` gives those that are told first. */
  attempt(block: Syntax.Block<Syntax.Property> | undefined, id: string, run: () => Marks): Marks {
    const skip = skipOf(block)
    const isCaught = this.#isCaught
    let told = none
    const touched = this.during(() => {
      this.#isCaught ||= skip !== undefined
      told = run()
    })
    this.#isCaught = isCaught
    return skip === undefined ? none : via(join(told, touched), `${id}, which may fail`, skip.name)
  }

  /** Whatever may have failed by now, so that what comes next is not done, and the run goes on. */
  get failed(): Marks {
    return this.#isCaught ? join(this.#before, this.touched) : none
  }

  /** The arguments and bindings that a call, or a use, is written with. */
  bound({ block }: { readonly block: Syntax.Block<Syntax.Property> | undefined }, place: Place): Bound[] {
    return (block?.items ?? []).flatMap(({ name, value }) => {
      // The `next` of a repetition is seen in its rounds.
      if (value.kind !== "values" || name.text === "next") return []
      return value.block.items.map((field) => {
        return { field, isBinding: name.text === "bindings", value: this.given(field.value, place) }
      })
    })
  }

  /** A value that a call is given. One of which nobody knows the type may not fit: the call fails then. */
  given(node: Syntax.Expression, place: Place): Labelled {
    const value = this.of(node, place)
    if (isMadeOf(this.#program.expressionTypes.get(node), ["any"], this.#program.types)) {
      this.touch(join(value.whole, place.decided))
    }
    return value
  }

  invoked(node: Syntax.InvokeNode, around: Place): Labelled {
    const condition = node.when === undefined ? none : this.of(node.when.condition, around).whole
    const place = after(around, condition)
    let value = plain
    const failed = this.attempt(node.block, this.#text(node.target), () => {
      const bound = this.sideBySide(() => this.bound(node, place))
      const before = via(this.failed, `${place.path}, which may fail`, node.target)
      value = this.#steps.invoked(node, bound, after(place, before))
      return value.whole
    })
    return value.with(join(condition, failed))
  }

  /** The places of assets that were referred to since this was emptied. */
  readonly assets: { readonly span: Span; readonly path: string }[] = []

  /** Expressions of functions that were looked at, for all of their calls, and how many calls are within each other now. */
  #looked = 0
  #within = 0

  /** What code of a step was given, by the step, and how many calls of code were looked at. It begins with what an earlier pass found. */
  readonly codeMarks: Map<string, Marks>
  #codeCalls = 0

  /** A call of a function of one's own: its labels are those of its body with these arguments. */
  own(name: string, items: readonly Labelled[], place: Place): Labelled | undefined {
    const called = this.#program.functions.get(name)
    if (called === undefined) return undefined
    if (called.declaration.file !== undefined) return this.#ofCode(items, place)
    // A few functions that call each other stand for more expressions than anybody can look at.
    if (this.#within === maxWithin || this.#looked > maxLooked) {
      return this.#ofCode(items, place)
    }
    const variables = new Map([...called.variables.keys()].map((parameter, at) => [parameter, items[at] ?? plain]))
    this.#within++
    const value = this.of(called.declaration.value, {
      path: place.path,
      span: place.span,
      decided: place.decided,
      variables,
      locals: new Map(),
      ...(place.isRepeated === true && { isRepeated: true }),
    })
    this.#within--
    return value
  }

  /**
   * Code may keep what it was given for as long as a step is evaluated: a result has the labels of all arguments of all calls in the step,
   * in whatever order they come, and of what decided about them. It may fail of them, too.
   */
  #ofCode(items: readonly Labelled[], place: Place): Labelled {
    this.#codeCalls++
    const step = stepOfPath(place.path)
    const all = join(this.codeMarks.get(step) ?? none, place.decided, ...items.map(({ whole }) => whole))
    this.codeMarks.set(step, all)
    this.touch(all)
    return flat(all)
  }

  asset(node: Syntax.AssetNode, place: Place): Labelled {
    const address = this.of(node.value, place).whole
    if (this.#isOfFile(node.value)) {
      // The contents have the labels of the file, and nobody is asked for them.
      const all = join(address, this.within(node.block, place))
      this.answer(all)
      return flat(all)
    }
    this.#uses(node.value, address, place)
    // Whoever answers at its address wrote it.
    const stranger = marked("untrusted", { name: this.#text(node), span: node.keyword })
    const all = join(address, this.within(node.block, place), stranger)
    this.answer(all)
    return flat(all)
  }

  /** Why a step failed: everything that it read may be in the text, and a stranger may have written it. */
  failure(node: Syntax.FunctionNode, [step = plain]: readonly Labelled[]): Labelled | undefined {
    const known = this.#program.failures.get(node)
    if (known === undefined) return undefined
    const { whole } = step
    const text = join(whole, marked("untrusted", { name: this.#text(node), span: node.name }))
    let value = record(new Map([["message", flat(text)]])).with(whole)
    // A list in a list for each level of the step's items.
    for (let depth = 0; depth < known.depth; depth++) value = list(step.own, value, text)
    return value
  }

  #text({ start, end }: Span): string {
    const text = this.#program.tree.text.slice(start, end).replaceAll(/\s+/g, " ")
    return text.length <= 60 ? text : `${text.slice(0, 59)}…`
  }

  chain(chain: Syntax.Chain, place: Place): Labelled {
    if (chain.base.kind !== "name") return this.#follow(this.of(chain.base, place), chain.steps, place)
    const root = this.#program.roots.get(chain)
    // A word of the language.
    if (root === undefined) return plain
    const isTwofold = twofold.has(root.kind)
    const from = this.#root(root, chain.base, place) ?? this.#unknown(chain)
    if (root.kind === "dynamic" && this.#holdsAsset(root.name)) this.#uses(chain, none, place)
    const value = this.#follow(from, isTwofold ? chain.steps.slice(1) : chain.steps, place)
    if (root.kind === "history") this.#steps.read(`input.${root.name}`, place, value.whole)
    else if (root.kind !== "local" && (isTwofold || root.kind === "input")) {
      const [first] = chain.steps
      this.#steps.read(first?.kind === "field" ? `${root.kind}.${first.name.text}` : root.kind, place, value.whole)
    }
    return value
  }

  /** `rounds(agent.x)` */
  rounds(node: Syntax.FunctionNode, place: Place): Labelled {
    const [agent] = node.items
    const name = agent?.kind === "chain" ? secondName(agent) : ""
    const value = this.#steps.rounds(name) ?? flat(allLabels(this.#text(node), node))
    this.#steps.read(`agent.${name}`, place, value.whole)
    return value
  }

  /** The address of an asset is used. */
  #uses(span: Span, address: Marks, place: Place): void {
    this.assets.push({ span, path: place.path })
    this.#steps.asset(span, join(address, place.decided), place)
  }

  #isOfFile(value: Syntax.Expression): boolean {
    const type = this.#program.expressionTypes.get(value)
    return type !== undefined && type.kind !== "any" && holdsFile(type, this.#program.types)
  }

  #holdsAsset(dynamic: string): boolean {
    return isMadeOf(this.#program.dynamics.get(dynamic)?.type, ["asset"], this.#program.types)
  }

  #root(root: ResolvedRoot, base: Syntax.Name, place: Place): Labelled | undefined {
    switch (root.kind) {
      case "input":
        return this.#steps.input()
      case "history":
        return historyOf(this.#steps.input().field(root.name))
      case "agent":
      case "ask":
      case "wait":
      case "dynamic":
        return this.#steps.step(root.kind, root.name)
      case "local":
        return place.locals.get(root.name)
      case "variable":
      case "item":
        return place.variables.get(root.name)
      case "matched":
        return place.matched?.caseOf(base.text)
      case "round":
        return flat(place.round ?? none)
      // The model that reads a requirement wrote the result, and the person who reads one gave the answer.
      case "result":
        return place.result ?? plain
      case "run":
      case "secrets":
      case "model":
        return plain
    }
  }

  /** What nothing is known of has all labels. */
  #unknown(chain: Syntax.Chain): Labelled {
    return flat(allLabels(this.#text(chain), chain))
  }

  /** Which case a variant is, and whether it is null. An object that is used as a variant has the labels of its tag on the tag alone. */
  decidedBy(value: Labelled, node: Syntax.ChainStep | Syntax.MatchNode): Marks {
    const tag = this.#program.tags.get(node)
    return tag === undefined ? value.whole : join(value.own, value.field(tag).whole)
  }

  /** The list's length, the condition and the key decide what is in it, and in which order. */
  list({ loop, when, by, value }: Syntax.ListNode, place: Place): Labelled {
    const items = this.of(loop.items, place)
    const variables = withVariables(place.variables, loop, items)
    const inner = { ...after(place, items.own), variables, isRepeated: true }
    const before = this.#codeCalls
    const condition = when === undefined ? none : this.of(when.condition, inner).whole
    const key = by === undefined ? none : this.of(by.key, inner).whole
    const isChosenByCode = this.#codeCalls > before
    // The first calls may be the only ones: the order decides, too.
    const at = after(inner, join(condition, key))
    let element = plain
    const words = this.repeatedly(() => (element = this.#element(value, at)))
    const together = join(items.together, words)
    // Which elements are left, and in which order, tells as much as all of them together.
    const chosen = when === undefined && by === undefined ? none : items.together
    // What code is given for one element, it may tell in the next.
    const told = this.#codeCalls > before ? (this.codeMarks.get(stepOfPath(place.path)) ?? none) : none
    const own = join(items.own, condition, key, chosen, isChosenByCode ? told : none)
    return list(own, told === none ? element : element.with(told), join(together, told))
  }

  /** After a failure no more elements are begun: where the run goes on, what may fail in one decides about the calls of the others. */
  #element(value: Syntax.Expression, place: Place): Labelled {
    if (!this.#isCaught || this.#isInList) return this.of(value, place)
    this.#isInList = true
    const failed = this.during(() => this.of(value, place))
    const element = this.of(value, after(place, via(failed, `${place.path}, which may fail`, value)))
    this.#isInList = false
    return element
  }

  exception(node: Syntax.ExceptionNode, place: Place): Labelled {
    let value = plain
    const lifted = (marks: Marks): Marks =>
      node.word === "trust" ? without(without(marks, "untrusted"), "chosen") : without(marks, "private")
    // The author vouches for the value, and so for making it.
    this.touch(lifted(this.during(() => (value = this.of(node.value, place)), true)))
    this.#steps.exception(node, place, value.whole)
    return value.map(lifted)
  }

  #follow(value: Labelled, rest: readonly Syntax.ChainStep[], place: Place): Labelled {
    let at = value
    for (const [index, step] of rest.entries()) {
      if (stepMayFail(this.#program, step)) {
        const plucked = step.kind === "pluck" ? at.element().field(step.name.text).own : none
        this.touch(join(at.own, plucked, place.decided))
      }
      switch (step.kind) {
        case "field":
          at = at.field(step.name.text)
          break
        case "index":
          at = step.index === undefined ? at.any() : at.position(step.index.value)
          break
        case "case":
          at = at.caseOf(step.name.text).with(this.decidedBy(at, step))
          break
        case "pluck":
          return this.#pluck(at, step, rest.slice(index + 1), place)
      }
    }
    return at
  }

  /** The rest of the chain is read in each element. */
  #pluck(
    from: Labelled,
    { name: { text: name }, stars }: Syntax.ChainStep & { readonly kind: "pluck" },
    further: readonly Syntax.ChainStep[],
    place: Place,
  ): Labelled {
    const part = from.element().field(name)
    const read = this.#follow(part, further, place)
    const isDroppedLater = further.some((later) => later.kind === "pluck" && later.stars === 2)
    const change = (element: Labelled): Labelled => this.#follow(element.field(name), further, place)
    if (stars !== 2 && !isDroppedLater) return from.elements(from.own, change)
    // Which elements are null decides how many are left: those of this pluck, and those that a later one finds nothing in.
    const own = join(from.own, from.together, stars === 2 ? part.own : none, isDroppedLater ? read.own : none)
    return list(own, change(from.any()), from.together)
  }
}

/** Roots that the next step belongs to. */
const twofold: ReadonlySet<ResolvedRoot["kind"]> = new Set<ResolvedRoot["kind"]>([
  "agent",
  "ask",
  "wait",
  "dynamic",
  "local",
  "history",
])

/** The path of a value that the file declares, without positions; undefined for a name that stands for a part of one. */
function declaredPath(chain: Syntax.Chain, { roots }: Program): string | undefined {
  const { base, steps } = chain
  const root = roots.get(chain)
  if (base.kind !== "name" || root === undefined) return undefined
  if (root.kind !== "input" && !twofold.has(root.kind)) return undefined
  if (root.kind === "local" || root.kind === "history") return undefined
  const end = steps.findIndex((step) => step.kind !== "field")
  const fields = end < 0 ? steps : steps.slice(0, end)
  return [base.text, ...fields.flatMap((step) => (step.kind === "field" ? [step.name.text] : []))].join(".")
}

/** The messages of the input, with their text in `content`. */
function historyOf(messages: Labelled): Labelled {
  return messages.elements(messages.own, (one) => {
    const parts = new Map([
      ["role", one.field("role")],
      ["content", one.field("text")],
    ])
    return record(parts).with(one.own)
  })
}

/** `agent.a.instruction` is a part of the step `agent.a`; the output is one step. */
function stepOfPath(path: string): string {
  return path.startsWith("output") ? "output" : path.split(/[.[]/, 2).join(".")
}

function isNode(part: unknown): part is { readonly kind: string } {
  return typeof part === "object" && part !== null && "kind" in part && typeof part.kind === "string"
}

/** The names that a loop gives to its elements, and to parts of them. */
export function withVariables(
  known: ReadonlyMap<string, Labelled>,
  { pattern, index }: Syntax.Loop,
  items: Labelled,
): ReadonlyMap<string, Labelled> {
  const element = items.element()
  const variables = new Map(known)
  // A position says how many elements there are.
  if (index !== undefined) variables.set(index.text, flat(items.own))
  if (pattern.kind === "item") return variables.set(pattern.name.text, element)
  for (const { field, variable } of pattern.body.items) variables.set(variable.text, element.field(field.text))
  return variables
}

/** What stands behind a decision. */
function after(place: Place, decided: Marks): Place {
  return decided === none ? place : { ...place, decided: join(place.decided, decided) }
}

/** A place that nothing decides about. */
export function placeAt(path: string, span: Span): Place {
  return { path, span, decided: none, variables: new Map(), locals: new Map() }
}
