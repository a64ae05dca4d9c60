import type { DiagnosticCode } from "../source/codes.ts"
import { diagnostic, type Diagnostic, type Related } from "../source/diagnostic.ts"
import type { WorkflowSymbol } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Remote, Requires } from "./declared.ts"
import type { Bound } from "./flow.ts"
import { join, placesOf, spanFrom, type Marks, type Way } from "./marks.ts"

/** A call, or an entry of `uses`. */
export interface Call {
  readonly remote: Remote
  readonly path: string
  readonly span: Span
  /** What decides whether it is called. */
  readonly decided: Marks
  readonly isApproved: boolean
  /** Its own arguments and bindings, and the bindings of the import that they leave. */
  readonly bound: readonly Bound[]
  /** What those who approve it are asked and shown besides its arguments. */
  readonly asked: Marks
  /** Its own block. */
  readonly block: Syntax.Block<Syntax.Property> | undefined
  /** It is made for each item of a list. */
  readonly isRepeated: boolean
}

/** Something that a model reads, and the property that gives it. */
export interface Reading {
  readonly path: string
  readonly span: Span
  readonly marks: Marks
}

export function marksOf(readings: readonly Reading[]): Marks {
  return join(...readings.map(({ marks }) => marks))
}

/** What strangers' words and private data must not reach. Each method reports what breaks one rule. */
export class Rules {
  readonly #found: Diagnostic[] = []
  readonly #reported = new Set<string>()
  readonly #here: (span: Span) => Span | undefined
  readonly #base: number
  readonly #hasWords: boolean
  readonly #file: string | undefined

  /**
   * `hasWords`: the file has words of trust; `here`: where a place is in the file that is looked at; `base`: the first offset of that file among those of all files; `file`: its
   * path where a caller looks at it.
   */
  constructor(here: (span: Span) => Span | undefined, base: number, hasWords: boolean, file?: string) {
    this.#hasWords = hasWords
    this.#here = here
    this.#base = base
    this.#file = file
  }

  get found(): readonly Diagnostic[] {
    return this.#found
  }

  // ------------------------------------------------------------------------------------------------ uses and calls

  /** An agent that reads untrusted values may not use what acts on trusted ones; `filled`: what the model may send. */
  use(agent: string, call: Call, reads: Marks, filled: Marks): void {
    const { remote, path, span } = call
    this.call(call)
    for (const way of leaks(remote, filled)) {
      const message = `${remote.id} is not cleared for private data, and ${agent} reads some`
      this.#report("private-leak", path, span, message, clearHint(remote.id), way, remote.id)
    }
    const kind = remote.symbol?.kind ?? "workflow"
    if (kind !== "tool" && kind !== "workflow") return
    const key = `undeclared-effect ${span.start} ${span.end}`
    const isUndeclared = remote.requires === undefined && reads.untrusted.length > 0 && this.#hasWords
    // An agent that repeats is looked at several times.
    if (isUndeclared && !this.#reported.has(key)) {
      this.#reported.add(key)
      const message = `${agent} reads what strangers wrote, and ${remote.id} does not say whether it acts on the world`
      const hint = "Add `requires: trusted`, the arguments that must be trusted, or `requires: none` to the tool."
      this.#found.push(diagnostic("undeclared-effect", path, span, message, hint))
    }
    if (!call.isApproved) this.#useOfStrangers(agent, call, reads)
  }

  #useOfStrangers(agent: string, { remote, path, span, bound }: Call, reads: Marks): void {
    const { id, requires } = remote
    for (const { way, isChosen } of strangersIn(reads, requires)) {
      const message = `${id} acts on trusted words only, and ${agent} reads what strangers ${isChosen ? "chose" : "wrote"}`
      const advice = `Let an agent without tools read ${nameOf(way)} and answer with an enum or booleans`
      const hint = `${isChosen ? "Leave it out" : advice}, ${this.#approve(id)}`
      this.#report("untrusted-action", path, span, message, hint, way, id)
    }
    if (typeof requires !== "object") return
    const left = unboundOf(requires, bound)
    if (left.length === 0) return
    const names = left.map((name) => `\`${name}\``).join(", ")
    const message = `${id} takes trusted words only for ${names}, and ${agent}, which may fill it, reads what strangers wrote`
    for (const way of reads.untrusted) {
      const hint = `Bind ${names} in the entry of \`uses\`, ${this.#approve(id)}`
      this.#report("untrusted-action", path, span, message, hint, way, id)
    }
  }

  /** The values of a call, and what decides whether it is made. */
  call(call: Call): void {
    for (const one of call.bound) this.#argument(call, one)
    this.#decision(call)
  }

  #argument({ remote, path, span, isApproved }: Call, { field, value }: Bound): void {
    const { requires, id } = remote
    const name = field.name.text
    const demanded = typeof requires === "object" && requires.includes(name) ? "trusted" : requires
    for (const { way, isChosen } of isApproved ? [] : strangersIn(value.whole, demanded)) {
      const message = `${id} acts on trusted words only, and strangers may have ${isChosen ? "chosen" : "written"} \`${name}\``
      const hint = `Use a value that strangers cannot ${isChosen ? "choose" : "write"}, ${this.#approve(id)}`
      this.#report("untrusted-action", path, span, message, hint, way, id)
    }
    for (const way of leaks(remote, value.whole)) {
      const message = `${id} is not cleared for private data, and \`${name}\` holds some`
      this.#report("private-leak", path, span, message, clearHint(id), way, id)
    }
  }

  /** Whether something is called tells as much as what it is called with. */
  #decision({ remote, path, span, decided, isApproved }: Call): void {
    const { requires, id } = remote
    for (const { way, isChosen } of isApproved ? [] : strangersIn(decided, requires)) {
      const message = `${id} acts on trusted words only, and strangers' ${isChosen ? "choices" : "words"} decide whether it is called`
      const hint = `Decide by a value that strangers cannot ${isChosen ? "choose" : "write"}, ${this.#approve(id)}`
      this.#report("untrusted-action", path, span, message, hint, way, id)
    }
    for (const way of leaks(remote, decided)) {
      const message = `${id} is not cleared for private data, which decides here whether it is called`
      this.#report("private-leak", path, span, message, clearHint(id), way, id)
    }
  }

  /** A group that is not cleared sees the arguments of what it approves. */
  approver({ path, span, remote, decided }: Call, shown: Marks): void {
    const group = `The group that approves ${remote.id} is not cleared for private data`
    const report = (ways: readonly Way[], message: string): void => {
      const hint = "Add `cleared: private` to the `approval`."
      for (const way of ways) this.#report("private-leak", path, span, message, hint, way, "an approval")
    }
    report(shown.private, `${group}, and would see some`)
    report(decided.private, `${group}, which decides here whether it is asked`)
  }

  /** A server may show what it got to the group that its questions go to. */
  elicited({ path, span, remote }: Call, sent: Marks): void {
    for (const way of sent.private) {
      const message = `The group that ${remote.server} asks is not cleared for private data, and could see some`
      const hint = "Add `cleared: private` to the `elicitation`."
      this.#report("private-leak", path, span, message, hint, way, "an elicitation")
    }
  }

  // ------------------------------------------------------------------------------------------ models and questions

  /** A model that is not cleared reads something. */
  model(agent: string, model: string, readings: readonly Reading[]): void {
    for (const { path, span, marks } of readings) {
      for (const way of marks.private) {
        const message = `model.${model} is not cleared for private data, and ${agent} shows it some`
        this.#report("private-leak", path, span, message, clearHint(`model.${model}`), way, `model.${model}`)
      }
    }
  }

  /** Something decides whether a model is called that is not cleared. */
  modelDecision(model: string, span: Span, decided: Marks): void {
    for (const way of decided.private) {
      const message = `model.${model} is not cleared for private data, which decides here whether it is called`
      // What decides about a call of the file is a place of its caller.
      const path = way.isPlaced === true ? `model.${model}` : way.place
      this.#report("private-leak", path, span, message, clearHint(`model.${model}`), way, `model.${model}`)
    }
  }

  /** A model that reads something, or is called because of it, has hosted tools that are not cleared. */
  hosted(agent: string, { path: id, span }: Reading, readings: readonly Reading[], decided: Marks): void {
    const hint = `Add \`cleared: private\` to each entry of ${id}, leave the data out, or write \`release … because "reason"\`.`
    const about = `${id} is not cleared for private data`
    for (const { path, span: at, marks } of readings) {
      for (const way of marks.private) {
        this.#report("private-leak", path, at, `${about}, and ${agent} reads some`, hint, way, id)
      }
    }
    for (const way of decided.private) {
      this.#report("private-leak", id, span, `${about}, which decides here whether they are used`, hint, way, id)
    }
  }

  /** A group that is not cleared is asked. */
  asked(ask: string, path: string | undefined, span: Span, marks: Marks): void {
    for (const way of marks.private) {
      const sees = path === undefined ? "which decides here whether they are asked" : "and would see some"
      const message = `Those whom ${ask} asks are not cleared for private data, ${sees}`
      const at = path ?? (way.isPlaced === true ? ask : way.place)
      this.#report("private-leak", at, span, message, `Add \`cleared: private\` to ${ask}.`, way, ask)
    }
  }

  // ------------------------------------------------------------------------------------------------------ addresses

  /** A value that must be neither untrusted nor private: where calls go, who is asked. */
  plain(path: string, span: Span, what: string, marks: Marks): void {
    for (const way of marks.untrusted) {
      const message = `Strangers may not choose ${what}`
      const hint = `Use a value that strangers cannot write. ${trustHint}`
      this.#report("untrusted-action", path, span, message, hint, way, path)
    }
    for (const way of marks.private) {
      const message = `Private data may not stand in ${what}`
      this.#report("private-leak", path, span, message, releaseHint, way, path)
    }
  }

  /** Which event a wait takes. */
  eventKey(path: string, span: Span, marks: Marks): void {
    for (const way of marks.untrusted) {
      const hint = `Use a value that strangers cannot write. ${trustHint}`
      this.#report("untrusted-action", path, span, "Strangers may not choose whose event is taken", hint, way, path)
    }
  }

  /** Which model does a step. */
  choice(path: string, span: Span, marks: Marks): void {
    for (const way of marks.untrusted) {
      const hint = `Decide by a value that strangers cannot write. ${trustHint}`
      this.#report("untrusted-action", path, span, "Strangers may not choose the model", hint, way, path)
    }
  }

  /** The sender of a webhook is not the caller of its run. */
  replied(webhook: string, span: Span, output: Marks): void {
    const path = `webhook.${webhook}.reply_within_seconds`
    const message = `The sender of webhook.${webhook} gets the output, and private data is in it`
    for (const way of output.private) this.#report("private-leak", path, span, message, releaseHint, way, path)
  }

  asset(path: string, span: Span, address: Marks): void {
    const message =
      "The address of an asset goes to whoever answers there, and private data is in it or decides whether it is used"
    for (const way of address.private) this.#report("private-leak", path, span, message, releaseHint, way, "an asset")
  }

  // --------------------------------------------------------------------------------------------------- called files

  /** What goes wrong inside of a called file: it is right by itself, so that it is because of the caller. */
  inside({ file, base }: WorkflowSymbol, path: string, span: Span, found: readonly Diagnostic[]): void {
    for (const one of found) {
      const { code, severity, message, hint } = one
      const key = `${code} ${span.start} ${span.end} ${file} ${message} ${hint ?? ""}`
      if (severity !== "error" || this.#reported.has(key)) continue
      this.#reported.add(key)
      const own = { code, severity, path, span: { start: span.start, end: span.end } }
      const related = [...(one.related ?? []), { message: one.path, span: spanFrom(one.span, base) }]
      const more = { ...(hint !== undefined && { hint }), ...wayOf(code, related), related }
      this.#found.push({ ...own, message: `In ${file}: ${message}`, ...more })
    }
  }

  /** So many files are called within each other that the labels of this call are not followed. */
  unfollowed(file: string, path: string, span: Span, marks: Marks, demanded: Requires): void {
    const message = `Too many files are called to follow this through ${file}`
    for (const { way } of strangersIn(marks, demanded))
      this.#report("untrusted-action", path, span, message, "Call fewer files.", way, file)
    for (const way of marks.private) this.#report("private-leak", path, span, message, "Call fewer files.", way, file)
  }

  // ----------------------------------------------------------------------------------------------------- exceptions

  needless(node: Syntax.ExceptionNode, path: string): void {
    const what = node.word === "trust" ? "strangers did not write it" : "it is not private"
    const message = `\`${node.word}\` changes nothing here: ${what}`
    this.#found.push(diagnostic("needless-exception", path, node, message, "Write the value alone."))
  }

  // -------------------------------------------------------------------------------------------------------- reports

  /** An approval of the call of a file covers nothing inside of it. */
  #approve(id: string): string {
    const where = this.#file === undefined ? "" : ` of ${id} in ${this.#file}`
    return `or require approval${where}. ${trustHint}`
  }

  /** One for each source at each place. */
  #report(
    code: DiagnosticCode & ("untrusted-action" | "private-leak"),
    path: string,
    span: Span,
    message: string,
    advice: string,
    way: Way,
    sink: string,
  ): void {
    const key = `${code} ${span.start} ${span.end} ${sink} ${way.source.level ?? 0} ${way.source.name}`
    if (this.#reported.has(key)) return
    this.#reported.add(key)
    const places = placesOf(way)
    const names = places.map(({ place }) => place)
    if (names.at(-1) !== sink) names.push(sink)
    const found = diagnostic(code, path, span, message, advice, undefined, names.join(" → "))
    const related = places.flatMap((one) => this.#related(one, span))
    this.#found.push({ ...found, ...wayOf(code, related), related })
  }

  /** The place, then those inside of it. What comes from an imported declaration is shown at the import. */
  #related({ place, span: at, isPlaced, inside = [] }: Way, otherwise: Span): Related[] {
    const { start, end } = isPlaced === true ? at : spanFrom(this.#here(at) ?? otherwise, this.#base)
    return [{ message: place, span: { start, end } }, ...inside.flatMap((one) => this.#related(one, otherwise))]
  }
}

/** The data of a finding whose way has these places. */
function wayOf(code: DiagnosticCode, related: readonly Related[]): Pick<Diagnostic, "data"> {
  return code === "untrusted-action" ? { data: { kind: "way", places: related.map(({ message }) => message) } } : {}
}

/** The arguments of these that nothing binds. */
export function unboundOf(names: readonly string[], bound: readonly Bound[]): string[] {
  const set = new Set(bound.map(({ field }) => field.name.text))
  return names.filter((name) => !set.has(name))
}

/** The private data that something may not have. What a server gave may go back to it. */
function leaks({ isCleared, server }: Remote, marks: Marks): readonly Way[] {
  return isCleared ? [] : marks.private.filter(({ source }) => source.server !== server)
}

/** What strangers may not have written, and where it must not be chosen by them either, what they chose. */
function strangersIn(marks: Marks, demanded: Requires): readonly { readonly way: Way; readonly isChosen: boolean }[] {
  if (demanded !== "trusted" && demanded !== "strict") return []
  const chosen = demanded === "strict" ? marks.chosen : []
  return [
    ...marks.untrusted.map((way) => ({ way, isChosen: false })),
    ...chosen.map((way) => ({ way, isChosen: true })),
  ]
}

const trustHint = 'If it can be trusted all the same, write `trust … because "reason"`.'
const releaseHint = 'Leave it out, or write `release … because "reason"`.'

function clearHint(id: string): string {
  return `Add \`cleared: private\` to ${id}, leave the data out, or write \`release … because "reason"\`.`
}

/** The source in words: `the mail` for `input.mail`. */
function nameOf({ source }: Way): string {
  const [, last] = /^input\.(?:.*\.)?(\w+)$/.exec(source.name) ?? []
  return last === undefined ? "it" : `the ${last.replaceAll("_", " ")}`
}
