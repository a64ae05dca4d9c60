import { remembered } from "../base/remembered.ts"
import { type Span, firstFrom } from "../source/span.ts"
import { isWorkflow } from "../syntax/import-kinds.ts"
import type { Properties } from "../syntax/property-of.ts"
import { propertyOf, valuesOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { isForeign } from "./file-space.ts"
import { eachPart } from "./imported-declaration.ts"
import type { ImportSymbol, Program, WorkflowSymbol } from "./program.ts"

// No model decides where a key goes. In one file the checker refuses everything but `input` and `secrets` at such places; the input of
// a called file comes from its caller, so that the caller must not compute what it sets there.

/** Fields of the input that decide where a file's calls go, each with the place there; an empty name is all of the input. */
export type DestinationInputs = ReadonlyMap<string, string>

const known = new WeakMap<Program, DestinationInputs>()

function destinationInputsOf(program: Program): DestinationInputs {
  return remembered(known, program, () => findDestinationInputs(program))
}

/** The place in the called file that a field of its input steers; undefined where it steers nothing. */
function steeredPlace({ program }: WorkflowSymbol, field: string): string | undefined {
  const destinationInputs = destinationInputsOf(program)
  return destinationInputs.get(field) ?? destinationInputs.get("")
}

/** Reports fields that steer the called file and are computed: only literals and `input`, written there, may stand for them. */
export function checkSteered(
  checking: CheckContext,
  symbol: WorkflowSymbol,
  fields: readonly Syntax.ValueField[],
  path: string,
): void {
  for (const { name, value } of fields) {
    const place = steeredPlace(symbol, name.text)
    if (place === undefined || isOfRequest(checking, value)) continue
    const message = `\`${name.text}\` decides ${place} of ${symbol.file}: it takes literals and \`input\` alone, so that no model decides where a key goes`
    const hint = "Write the value out here, or take it from this file's `input`."
    checking.report("secret-exposed", `${path}.${name.text}`, value, message, hint)
  }
}

/** Reports fields that steer the called file and that a model could set. */
export function checkSteeredUse(
  checking: CheckContext,
  symbol: WorkflowSymbol,
  bound: ReadonlySet<string>,
  span: Span,
  path: string,
): void {
  for (const { name } of symbol.input.fields) {
    const place = steeredPlace(symbol, name)
    if (place === undefined || bound.has(name)) continue
    const message = `\`${name}\` decides ${place} of ${symbol.file}, so that no model may set it`
    checking.report(
      "secret-exposed",
      `${path}.bindings.${name}`,
      span,
      message,
      `Bind it: \`bindings { ${name}: … }\`.`,
    )
  }
}

/** Whether a value is made of literals and `input` alone. */
function isOfRequest(checking: CheckContext, value: Syntax.Expression): boolean {
  let isKnown = true
  eachPart(value, (part) => {
    const { kind } = part
    if (kind === "call" || kind === "read" || kind === "render" || kind === "repeat" || kind === "asset")
      isKnown = false
    if (kind !== "chain") return
    const chain = part as unknown as Syntax.Chain
    const root = checking.roots.get(chain)
    // A reference that leads nowhere is reported as such.
    if (chain.base.kind === "name" && root !== undefined && root.kind !== "input") isKnown = false
  })
  return isKnown
}

interface Steered {
  readonly place: string
  readonly span: Span
}

function findDestinationInputs(program: Program): DestinationInputs {
  const chains = [...program.roots].flatMap(([chain, { kind }]) =>
    kind === "input" && !isForeign(chain) ? [chain] : [],
  )
  chains.sort((a, b) => a.start - b.start)
  const found = new Map<string, string>()
  if (chains.length === 0) return found
  for (const { place, span } of steeredPlaces(program)) {
    for (const { steps } of chains.slice(firstFrom(chains, span.start), firstFrom(chains, span.end))) {
      const [first] = steps
      const field = first?.kind === "field" ? first.name.text : ""
      if (!found.has(field)) found.set(field, place)
    }
  }
  return found
}

/** The parts of a file that decide where its calls go, and who approves them. */
function* steeredPlaces(program: Program): Generator<Steered> {
  for (const [name, { body }] of program.providers) {
    for (const one of ["endpoint", "headers"]) yield* propertyAt(body, `provider.${name}`, one)
  }
  for (const [name, { body }] of program.models) yield* propertyAt(body, `model.${name}`, "id")
  for (const { kind, name, body } of [...program.servers.values(), ...program.apis.values()]) {
    for (const one of ["endpoint", "headers", "auth", "elicitation"])
      yield* propertyAt(body, `${kind}.${name.text}`, one)
  }
  for (const table of [program.tools, program.resources, program.prompts]) {
    for (const symbol of table.values()) yield* importPlaces(symbol)
  }
  const parts: Steered[] = []
  eachPart(program.tree.declarations, (part) => {
    if (part["kind"] === "property") {
      const property = part as unknown as Syntax.Property
      if (property.name.text === "approval" && property.value.kind === "properties") {
        const to = propertyOf(property.value.block, "to")
        if (to !== undefined) parts.push({ place: "who approves its calls", span: to })
      }
    } else if (part["kind"] === "call" || part["kind"] === "repeat") {
      const { target, block } = part as unknown as Syntax.InvokeNode
      parts.push(...passedOn(program, target, [...valuesOf(block, "input"), ...valuesOf(block, "next")]))
    } else if (part["kind"] === "use-entry") {
      const { reference, block } = part as unknown as Syntax.UseEntry
      parts.push(...passedOn(program, reference, valuesOf(block, "bindings")))
    }
  })
  yield* parts
}

function* importPlaces({ kind, name, node, batch }: ImportSymbol): Generator<Steered> {
  for (const body of [node.body, batch?.body]) yield* propertyAt(body, `${kind}.${name.text}`, "bindings")
}

function* propertyAt(body: Properties | undefined, owner: string, name: string): Generator<Steered> {
  const property = propertyOf(body, name)
  if (property !== undefined && !isForeign(property)) yield { place: `${owner}.${name}`, span: property }
}

/** The values that a file's input is set to, at all places. */
export function givenTo(program: Program, workflow: string): Syntax.ValueField[] {
  const fields: Syntax.ValueField[] = []
  const isCalled = ({ steps: [step] }: Syntax.Chain): boolean => step?.kind === "field" && step.name.text === workflow
  eachPart(program.tree.declarations, (part) => {
    if (part["kind"] === "call" || part["kind"] === "repeat") {
      const { target, block } = part as unknown as Syntax.InvokeNode
      if (isWorkflow(target) && isCalled(target)) fields.push(...valuesOf(block, "input"), ...valuesOf(block, "next"))
    } else if (part["kind"] === "use-entry") {
      const { reference, block } = part as unknown as Syntax.UseEntry
      if (isWorkflow(reference) && isCalled(reference)) fields.push(...valuesOf(block, "bindings"))
    }
  })
  return fields
}

/** Values that steer a file which this one calls. */
function passedOn(program: Program, target: Syntax.Chain, fields: readonly Syntax.ValueField[]): Steered[] {
  const [step] = target.steps
  if (!isWorkflow(target) || step?.kind !== "field") return []
  const symbol = program.workflows.get(step.name.text)
  return fields.flatMap((field) => {
    const place = symbol && steeredPlace(symbol, field.name.text)
    return place === undefined ? [] : [{ place: `${place} of ${symbol?.file ?? ""}`, span: field.value }]
  })
}
