import { remembered } from "../base/remembered.ts"
import type { ImportSymbol, Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { approvalBlock, approves, asksOthers, remoteOf, type Remote } from "./declared.ts"
import { placeAt, type Bound, type Flow, type Place } from "./flow.ts"
import { plain, type Labelled } from "./label-tree.ts"
import { join, none, via, type Marks } from "./marks.ts"
import type { Call, Rules } from "./rules.ts"
import type { TypedLabels } from "./typed-labels.ts"

/** What goes to tools, resources, prompts and the backends behind them, and what comes back. */
export class RemoteCalls {
  readonly #program: Program
  readonly #flow: Flow
  readonly #rules: Rules
  readonly #typed: TypedLabels
  readonly #remotes = new Map<string, Remote>()
  /** The calls of each tool whose import says how many there may be, by their place: what decides about them. */
  readonly #counted = new Map<string, Map<number, Marks>>()
  readonly #usedUp: ReadonlyMap<string, Marks>

  /** `usedUp`: what decides how many calls of a tool are left, as an earlier pass found. */
  constructor(
    program: Program,
    flow: Flow,
    rules: Rules,
    typed: TypedLabels,
    usedUp: ReadonlyMap<string, Marks> = new Map(),
  ) {
    this.#usedUp = usedUp
    this.#program = program
    this.#flow = flow
    this.#rules = rules
    this.#typed = typed
  }

  /** Reads the imports, and looks at the addresses of backends. */
  start(): void {
    const { tools, resources, prompts } = this.#program
    for (const table of [tools, resources, prompts]) {
      for (const symbol of table.values()) this.#import(symbol)
    }
    this.#backends()
  }

  /** Whether what strangers chose makes a difference here. */
  get hasStrict(): boolean {
    return [...this.#remotes.values()].some(({ requires }) => requires === "strict")
  }

  /** A call, or an entry of `uses`, with what the import says besides. */
  call(
    remote: Remote,
    block: Syntax.Block<Syntax.Property> | undefined,
    bound: readonly Bound[],
    span: Span,
    place: Place,
  ): Call {
    const { path, isRepeated = false } = place
    const own = new Set(bound.flatMap(({ field, isBinding }) => (isBinding ? [field.name.text] : [])))
    const inherited = this.#bindingsOf(remote, place).filter(({ field }) => !own.has(field.name.text))
    const isApproved = remote.isApproved || approves(block)
    const words = this.#words(remote, approvalBlock(block), place)
    const asked = join(...words)
    // Where one of these fails, the call is not made.
    const failed = words.length === 0 ? none : via(this.#flow.failed, `${path}.approval`, span)
    const decided = join(place.decided, failed, this.left(remote))
    this.count({ remote, span }, decided)
    return { remote, path, span, decided, isApproved, bound: [...bound, ...inherited], asked, block, isRepeated }
  }

  /** The labels of what people are asked and shown before a call: of all of its approvals, as any may be the one that counts. */
  #words(remote: Remote, own: Syntax.Block<Syntax.Property> | undefined, place: Place): Marks[] {
    const wordsOf = (block: Syntax.Block<Syntax.Property>, placeOf: typeof placeAt, id: string): Marks[] =>
      ["question", "show", "to"].flatMap((name) => {
        const expression = expressionIn(block, name)
        if (expression === undefined) return []
        const at = placeOf(`${id}.approval.${name}`, expression)
        const marks = this.#flow.of(expression, at).whole
        // The group is not shown who it is; that it is asked may fail all the same.
        return [name === "to" ? none : via(marks, at.path, expression)]
      })
    const imported = remote.approvals.flatMap((block) => wordsOf(block, placeAt, remote.id))
    const here = own === undefined ? [] : wordsOf(own, (path) => ({ ...place, path }), place.path)
    return [...imported, ...here]
  }

  /** A result has the labels of what the tool gives, of markers in its type, and of all that it was called with. */
  resultOf({ remote, bound }: Call): Labelled {
    const { id, symbol, server, gives } = remote
    const types = propertyOf(symbol?.node.body, "output")?.value
    const typed = types?.kind === "types" ? this.#typed.ofFields(id, types.block.items, server) : plain
    const result = typed.with(join(gives, wholesOf(bound), this.left(remote)))
    // A part that does not fit its type makes the call fail.
    this.#flow.answer(result.whole)
    return result
  }

  /** What decides whether a call of it is left. */
  left({ id }: Remote): Marks {
    return this.#usedUp.get(id) ?? none
  }

  /** Calls of a tool share the `max_calls` of its import. */
  count({ remote: { id, symbol }, span }: Pick<Call, "remote" | "span">, decided: Marks): void {
    if (symbol === undefined || !isCounted(symbol)) return
    const places = remembered(this.#counted, id, () => new Map<number, Marks>())
    places.set(span.start, join(places.get(span.start) ?? none, decided))
  }

  /** What decides how many calls of each tool are left for the others. */
  get usedUp(): ReadonlyMap<string, Marks> {
    const shared = [...this.#counted].filter(([, places]) => places.size > 1)
    return new Map(
      shared.map(([id, places]) => {
        const span = this.#remotes.get(id)?.symbol?.name ?? { start: 0, end: 0 }
        return [id, via(join(...places.values()), `${id}.max_calls`, span)]
      }),
    )
  }

  /** What the import itself binds, each time: whatever fails there makes this call fail. */
  #bindingsOf(remote: Remote, place: Place): readonly Bound[] {
    return remote.bindings.map((field) => {
      const at = { ...placeAt(`${remote.id}.bindings.${field.name.text}`, field.name), decided: place.decided }
      return { field, isBinding: true, value: this.#flow.of(field.value, at) }
    })
  }

  /** A group that approves sees the arguments. The import names it, or the use where the import does not. */
  approval(call: Call, sent: Marks, place: Place): void {
    const own = approvalBlock(call.block)
    const to = expressionIn(own, "to")
    if (to !== undefined) this.plain(`${place.path}.approval.to`, to, "who approves", place)
    const asked = [...call.remote.approvals, ...(own === undefined ? [] : [own])]
    const group = asked.find((one) => expressionIn(one, "to") !== undefined)
    if (asksOthers(group)) this.#rules.approver(call, join(sent, call.asked))
    if (call.remote.asksOthers) this.#rules.elicited(call, join(sent, call.decided))
  }

  named({ base, steps: [first] }: Syntax.Chain): Remote | undefined {
    if (base.kind !== "name" || first?.kind !== "field") return undefined
    return this.#remotes.get(`${base.text}.${first.name.text}`)
  }

  #import(symbol: ImportSymbol): void {
    const remote = remoteOf(this.#program, symbol)
    this.#remotes.set(remote.id, remote)
    for (const approval of remote.approvals) {
      const to = expressionIn(approval, "to")
      if (to !== undefined) this.plain(`${remote.id}.approval.to`, to, "who approves")
    }
  }

  #backends(): void {
    const { providers, models, servers, apis } = this.#program
    for (const [name, { body }] of providers) this.#address(`provider.${name}`, body)
    for (const [name, { body }] of models) this.#address(`model.${name}`, body)
    for (const { kind, name, body } of [...servers.values(), ...apis.values()]) {
      this.#address(`${kind}.${name.text}`, body)
    }
  }

  /** Nobody but the author and the caller says where calls go, and nothing private stands in an address. */
  #address(id: string, { items }: Syntax.Block<Syntax.Property>, inside?: string): void {
    for (const { name, value } of items) {
      const path = `${id}.${name.text}`
      const what = inside ?? `the \`${name.text}\` of ${id}`
      if (value.kind === "expression" && !written.has(name.text)) this.plain(path, value.expression, what)
      if (value.kind === "properties")
        this.#address(path, value.block, name.text === "elicitation" ? `whom ${id} asks` : what)
      if (value.kind !== "values") continue
      for (const field of value.block.items) {
        this.plain(`${path}.${field.name.text}`, field.value, name.text === "headers" ? `a header of ${id}` : what)
      }
    }
  }

  /** A value that must be neither untrusted nor private. */
  plain(path: string, value: Syntax.Expression, what: string, place = placeAt(path, value)): void {
    this.#rules.plain(path, value, what, this.#flow.of(value, place).whole)
  }
}

/** Properties that are no part of an address. A model reads its system text. */
const written: ReadonlySet<string> = new Set(["system", "hosted_tools"])

export function wholesOf(bound: readonly Bound[]): Marks {
  return join(...bound.map(({ value }) => value.whole))
}

/** Whether the import says how many calls there may be. */
function isCounted({ node, batch }: ImportSymbol): boolean {
  return [node.body, batch?.body].some((block) => propertyOf(block, "max_calls") !== undefined)
}

export function sharesCalls({ tools }: Program): boolean {
  return [...tools.values()].some(isCounted)
}
