import { remembered } from "../base/remembered.ts"
import type { Program, WorkflowSymbol } from "../check/program.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import { expressionIn, propertyOf, secondName, valuesOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CallerContext } from "./caller-context.ts"
import { assumedInput, maxCallDepth, freshBudget } from "./caller-context.ts"
import { CallLabels } from "./call-labels.ts"
import { eventsOf, tellsTime } from "./clock.ts"
import { ClosedTypes } from "./closed-type.ts"
import type { Remote } from "./declared.ts"
import { hasStrict, wordsOf } from "./declared.ts"
import type { Bound, Flow, Place } from "./flow.ts"
import { either, flat, plain, record, type Labelled } from "./label-tree.ts"
import type { Marks } from "./marks.ts"
import { isNone, join, marked, none, sameSources, via, wordsFrom } from "./marks.ts"
import type { RemoteCalls } from "./remote-calls.ts"
import { wholesOf } from "./remote-calls.ts"
import type { Call, Reading, Rules } from "./rules.ts"
import { marksOf } from "./rules.ts"
import type { SharedEvents } from "./shared-events.ts"
import type { Watcher } from "./watcher.ts"
import { stepOf } from "./watcher.ts"

/** A file that a model may call. */
export interface UsedFile {
  readonly symbol: WorkflowSymbol
  readonly call: Call
}

/** What was seen in a file. */
export interface FileLabels {
  readonly output: Labelled
  /** All that may have made it fail: its input, and the results of all that it calls. */
  readonly touched: Marks
}

/** Looks at a file with what its caller knows. */
export type Follow = (
  program: Program,
  watcher: Watcher | undefined,
  caller: CallerContext,
  input?: Labelled,
) => FileLabels & { readonly found: readonly Diagnostic[] }

/** The file that calls. */
interface CallingFile {
  readonly program: Program
  readonly flow: Flow
  readonly rules: Rules
  readonly calls: RemoteCalls
  readonly caller: CallerContext
  readonly watcher: Watcher | undefined
  readonly follow: Follow
  /** What decides how long the run has waited by now. */
  readonly waited: () => Marks
  readonly events: SharedEvents
}

/** Files that are given nothing labelled, as most are. */
const knownAlone = new WeakMap<Program, FileLabels>()
const knownCaught = new WeakMap<Program, FileLabels>()

/** What crosses into called files and comes out of them: a file is looked at as if it were written in place. */
export class CalledFiles {
  readonly #here: CallingFile

  constructor(here: CallingFile) {
    this.#here = here
  }

  // --------------------------------------------------------------------------------------------------- calls of steps

  /** `call workflow.w`, `repeat workflow.w` */
  called(node: Syntax.InvokeNode, bound: readonly Bound[], place: Place): Labelled {
    const { program, flow, rules, calls, watcher } = this.#here
    const symbol = program.workflows.get(secondName(node.target))
    if (symbol === undefined || !isWorkflow(node.target)) return plain
    const span = { start: node.start, end: node.target.end }
    const call = calls.call(workflowRemote(symbol), node.block, bound, span, place)
    rules.call(call)
    calls.approval(call, wholesOf(bound), place)
    watcher?.call(call, wholesOf(bound))
    const given = new Map(bound.map(({ field, value }) => [field.name.text, value]))
    const until = expressionIn(node.block, "until")
    const result =
      node.kind !== "repeat" || until === undefined
        ? this.#once(symbol, given, call)
        : this.#rounds(symbol, node, until, given, call, place)
    const labelled = result.with(call.remote.gives)
    flow.choose(labelled.whole)
    watcher?.way(call.remote.id, place, labelled.whole)
    return labelled
  }

  #once(symbol: WorkflowSymbol, given: ReadonlyMap<string, Labelled>, call: Call): Labelled {
    const { output, report } = this.#file(symbol, (name) => given.get(name) ?? plain, call)
    report()
    return output
  }

  /** What a round gives may be what the next one is given: rounds are looked at until one changes nothing. */
  #rounds(
    symbol: WorkflowSymbol,
    node: Syntax.InvokeNode,
    until: Syntax.Expression,
    first: ReadonlyMap<string, Labelled>,
    call: Call,
    place: Place,
  ): Labelled {
    const { flow, rules, calls } = this.#here
    let given = first
    let ended: Marks = none
    let stopped: Marks = none
    let result: Labelled = plain
    for (let round = 0; ; round++) {
      const fields = given
      const decided = join(call.decided, ended, stopped)
      const called = this.#file(symbol, (name) => fields.get(name) ?? plain, { ...call, decided, isRepeated: true })
      // The way that needs fewest rounds is the one to tell.
      result = either([result, called.output]).with(call.remote.gives)
      const after: Place = { ...place, decided: join(call.decided, ended), result, round: ended }
      const nowEnded = join(ended, flow.of(until, after).whole)
      const next = new Map(fields)
      const changing = valuesOf(node.block, "next")
      const isOpen = !isClosed(symbol, changing)
      const parts = Math.max(minParts, Math.floor(maxParts / changing.length))
      for (const { name, value } of changing) {
        const made = flow.given(value, { ...after, decided: join(call.decided, nowEnded) }).with(nowEnded)
        // A text grows by a choice in each round; whether there is another round is one of them.
        const one = isOpen ? made.map((marks) => join(marks, wordsFrom(marks))) : made
        next.set(name.text, either([fields.get(name.text) ?? plain, one]).widened(maxDepth, { parts }))
      }
      if (round >= maxRounds) {
        // All labels of all parts everywhere is the most that it can come to.
        const all = join(result.whole, nowEnded, ...[...next.values()].map(({ whole }) => whole))
        const widened = flat(via(all, `${call.remote.id} after ${maxRounds} rounds`, call.span))
        for (const { name } of changing) next.set(name.text, widened)
      }
      // After a round that failed there is no other one.
      const nowStopped = via(flow.failed, `${call.remote.id}, which may fail`, call.span)
      const isStable =
        sameSources(ended, nowEnded) &&
        sameSources(stopped, nowStopped) &&
        [...next].every(([name, value]) => value.equals(fields.get(name) ?? plain))
      given = next
      ended = nowEnded
      stopped = nowStopped
      if (!isStable) continue
      called.report()
      if (changing.length === 0) break
      // The later rounds are calls, too: with these arguments, and decided by the ends of those before them.
      const later = changing.map((field) => ({ field, isBinding: false, value: next.get(field.name.text) ?? plain }))
      const again = { ...call, decided: join(call.decided, ended, stopped), bound: [...call.bound, ...later] }
      rules.call(again)
      calls.approval(again, wholesOf(again.bound), place)
      break
    }
    const fields = { result: result.with(ended), rounds: flat(ended), done: flat(ended) }
    return record(new Map(Object.entries(fields)))
  }

  // -------------------------------------------------------------------------------------------------- calls of models

  /** The files among what a model may use. */
  used(id: string, body: Syntax.Block<Syntax.Property>, place: Place): UsedFile[] {
    const { program, flow, calls } = this.#here
    const uses = propertyOf(body, "uses")
    if (uses?.value.kind !== "uses") return []
    return uses.value.entries.flatMap((entry) => {
      const symbol = isWorkflow(entry.reference) ? program.workflows.get(secondName(entry.reference)) : undefined
      if (symbol === undefined) return []
      const at = { ...place, path: `${id}.uses.${symbol.name.text}` }
      const bound = flow.bound(entry, at)
      return [{ symbol, call: calls.call(workflowRemote(symbol), entry.block, bound, entry.reference, at) }]
    })
  }

  /** What a model reads of the files that it calls. It fills their input, decides that they are called, and may call them again. */
  readings(files: readonly UsedFile[], before: Marks, place: Place): Reading[] {
    if (files.length === 0) return []
    let reads = before
    let readings: readonly Reading[] = files.map(({ call: { path, span } }) => ({ path, span, marks: none }))
    for (;;) {
      const seen = reads
      const calls = files.map((file, index) => this.#reading(file, seen, readings[index]?.marks ?? none, place))
      readings = calls.map(({ reading }) => reading)
      reads = join(seen, marksOf(readings))
      if (!sameSources(seen, reads)) continue
      for (const { report } of calls) report()
      return [...readings]
    }
  }

  #reading(
    { symbol, call }: UsedFile,
    seen: Marks,
    known: Marks,
    place: Place,
  ): { reading: Reading; report: () => void } {
    const bound = new Map(call.bound.map(({ field, value }) => [field.name.text, value]))
    const filled = flat(seen)
    const decided = join(place.decided, seen)
    // The model is told of a failure, and goes on.
    const given = (name: string): Labelled => bound.get(name) ?? filled
    const { output, touched, report } = this.#file(symbol, given, { ...call, decided, isRepeated: true }, true)
    // The model is told why a call failed, in words from inside of it.
    const all = join(output.whole, touched, call.remote.gives)
    this.#here.flow.answer(call.remote.gives)
    // The way that needs fewest calls is the one to tell.
    const marks = join(known, via(all, call.path, call.span))
    this.#here.watcher?.way(call.remote.id, { ...place, path: call.path }, marks)
    return { reading: { path: call.path, span: call.span, marks }, report }
  }

  // ------------------------------------------------------------------------------------------------------------ files

  /** The labels of a file's output. `report` tells what goes wrong inside because of them. */
  #file(
    symbol: WorkflowSymbol,
    given: (field: string) => Labelled,
    { path, span, decided, isRepeated }: Call,
    isCaught = this.#here.flow.isCaught,
  ): FileLabels & { readonly report: () => void } {
    const { rules, caller, follow } = this.#here
    const { budget, depth } = caller
    const labels = new CallLabels(symbol, span, caller.base)
    const watcher = this.#here.watcher?.file(symbol, stepOf(path))
    const all = join(decided, ...symbol.input.fields.map(({ name }) => given(name).whole))
    // Whatever one item of a list was given may decide how late another one begins.
    const waited = tellsTime(symbol.program) ? join(all, this.#here.waited()) : none
    const { events } = this.#here
    const shared = new Map([...eventsOf(symbol.program)].map((event) => [event, labels.entering(events.of(event))]))
    const isAlone = isNone(join(all, waited, ...shared.values())) && watcher === undefined
    const isDeep = depth >= maxCallDepth
    if (isDeep || (!isAlone && budget.left-- <= 0)) {
      if (watcher?.privates !== undefined) watcher.privates.isUnknown = true
      // Whoever watches is shown the most that may happen in it. Deeper calls are not made.
      if (!isDeep && watcher !== undefined && !budget.assumed.has(symbol.program)) {
        budget.assumed.add(symbol.program)
        follow(symbol.program, watcher, { ...caller, isCaught }, assumedInput(symbol.program))
      }
      const { output, touched } = this.#alone(symbol)
      const own = labels.leaving(join(output.whole, touched))
      const most = via(join(all, own), `${symbol.file}, which is not followed`, span)
      this.#here.flow.answerOfFile(span, most)
      for (const event of shared.keys()) events.ask(event, `${path} ${span.start}`, most, true)
      return {
        output: flat(most),
        touched: most,
        report: () =>
          isDeep || rules.unfollowed(symbol.file, path, span, all, hasStrict(symbol.program) ? "strict" : "trusted"),
      }
    }
    const inside = isAlone
      ? this.#alone(symbol, isCaught)
      : follow(symbol.program, watcher, {
          given: (name) => labels.enter(given(name)),
          decided: labels.entering(decided),
          waited: labels.entering(waited),
          events: shared,
          budget,
          depth: depth + 1,
          isCaught,
          base: symbol.base,
        })
    const found = "found" in inside ? (inside.found as readonly Diagnostic[]) : []
    const touched = labels.leaving(inside.touched)
    this.#here.flow.answerOfFile(span, touched)
    for (const event of shared.keys()) events.ask(event, `${path} ${span.start}`, join(all, touched), isRepeated)
    return {
      output: labels.leave(inside.output),
      touched,
      report: () => rules.inside(symbol, path, span, found),
    }
  }

  /** A file that is given nothing labelled, as most are. What goes wrong in it is reported there, but for what its failures decide. */
  #alone({ program, base }: WorkflowSymbol, isCaught = false): FileLabels {
    const known = isCaught ? knownCaught : knownAlone
    return remembered(known, program, () => {
      const caller = {
        given: () => plain,
        decided: none,
        waited: none,
        events: new Map(),
        budget: freshBudget(),
        depth: 0,
        isCaught,
        base,
      }
      const { output, touched, found } = this.#here.follow(program, undefined, caller)
      return isCaught ? { output, touched, found } : { output, touched }
    })
  }
}

/** Labels go on to another part with each round, until none has a new one. */
export const maxRounds = 8
const maxDepth = 5
/** Parts of all `next` values together that are followed one by one, and how many of each value at least. */
const maxParts = 200
const minParts = 10

/** Whether these fields together take one of few values, as choices do. */
function isClosed({ input, program }: WorkflowSymbol, changing: readonly Syntax.ValueField[]): boolean {
  const names = new Set(changing.map(({ name }) => name.text))
  const fields = input.fields.filter(({ name }) => names.has(name))
  return new ClosedTypes(program.types).isClosed({ kind: "record", fields })
}

/** What the declaration of a file says. Its private input is looked at inside. */
function workflowRemote({ name, declaration: { body } }: WorkflowSymbol): Remote {
  const id = `workflow.${name.text}`
  const said = wordsOf(body, "gives") ?? []
  const labels = (["untrusted", "private"] as const).filter((label) => said.includes(label))
  return {
    id,
    symbol: undefined,
    server: id,
    isCleared: true,
    requires: wordsOf(body, "requires")?.includes("trusted") === true ? "trusted" : "none",
    gives: join(...labels.map((label) => marked(label, { name: id, span: name }))),
    isApproved: false,
    approvals: [],
    asksOthers: false,
    bindings: [],
  }
}
