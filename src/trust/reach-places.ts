import { remembered } from "../base/remembered.ts"
import { textAt } from "../check/file-space.ts"
import type { Program } from "../check/program.ts"
import { type Span, firstFrom } from "../source/span.ts"
import type * as Syntax from "../syntax/tree.ts"

// Where a workflow refers to what.

/** The references to the input or to secrets, in the order of the text. */
export function chainsOf(program: Program, kind: "input" | "secrets"): Syntax.Chain[] {
  const chains: Syntax.Chain[] = []
  for (const [chain, root] of program.roots) {
    if (root.kind === kind) chains.push(chain)
    else if (root.kind === "history" && kind === "input") chains.push(asInput(chain, root.name))
  }
  return chains.sort((a, b) => a.start - b.start)
}

/** `chat.history` as a reference to the field that it is made of. */
function asInput(chain: Syntax.Chain, field: string): Syntax.Chain {
  const steps = chain.steps.map((step, at) =>
    at === 0 && step.kind === "field" ? { ...step, name: { ...step.name, text: field } } : step,
  )
  return { ...chain, steps }
}

export function fieldOf(root: "input" | "secrets"): (chain: Syntax.Chain) => string {
  return ({ steps: [first] }) => (first?.kind === "field" ? `${root}.${first.name.text}` : root)
}

/** Where each step is written. */
export function spansOfSteps({ tree }: Program): Map<string, Span[]> {
  const spans = new Map<string, Span[]>()
  for (const declaration of tree.declarations) {
    if (declaration.kind === "agent" || declaration.kind === "ask" || declaration.kind === "wait") {
      spans.set(`${declaration.kind}.${declaration.name.text}`, [declaration])
    } else if (declaration.kind === "dynamic") {
      for (const field of declaration.body.items) spans.set(`dynamic.${field.name.text}`, [field])
    } else if (declaration.kind === "output") spans.set("output", [...(spans.get("output") ?? []), declaration])
  }
  return spans
}

/** The steps that refer to each agent (`agent.a`), to each field of one (`agent.a.ok`), and to each dynamic value, whatever the field. */
export function readersOf(program: Program): Map<string, Set<string>> {
  const steps = [...spansOfSteps(program)]
    .flatMap(([id, spans]) => spans.map(({ start, end }) => ({ id, start, end })))
    .sort((a, b) => a.start - b.start)
  const readers = new Map<string, Set<string>>()
  for (const [chain, root] of program.roots) {
    if (root.kind !== "agent" && root.kind !== "dynamic") continue
    const step = steps[firstFrom(steps, chain.start + 1) - 1]
    if (step === undefined || step.end < chain.end) continue
    const ofAgent = root.kind === "agent" ? chain.steps.slice(1) : []
    const field = ofAgent.find((one) => one.kind === "field" || one.kind === "pluck")
    const read = `${root.kind}.${root.name}`
    remembered(readers, field === undefined ? read : `${read}.${field.name.text}`, () => new Set()).add(step.id)
  }
  return readers
}

/** The references that stand in a piece of the text. */
export function within(chains: readonly Syntax.Chain[], { start, end }: Span): readonly Syntax.Chain[] {
  return chains.slice(firstFrom(chains, start), firstFrom(chains, end))
}

/** A piece of the source on one line, which may be one of a file that it imports from. */
export function shortText({ tree, files }: Program, span: Span): string {
  const text = textAt(tree, files.space, span).replaceAll(/\s+/g, " ")
  return text.length <= 120 ? text : `${text.slice(0, 119)}…`
}

export function sorted(items: Iterable<string>): string[] {
  return [...items].sort()
}
