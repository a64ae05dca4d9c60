import { asWritten } from "../../check/known-list.ts"
import { eachPart } from "../../check/imported-declaration.ts"
import type { Program, WorkflowSymbol } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { fieldNamed } from "../../types/field-named.ts"
import { isAssignable } from "../../types/relations.ts"
import { showType } from "../../types/show-type.ts"
import type { Edit } from "../edit.ts"
import { atEnd } from "./add.ts"
import { declareField } from "./declare-field.ts"
import { insertAt, replaceWith, type Fix } from "./fix.ts"

/** Takes a value that decides where a called file sends a key from this file's `input`, which is declared where it is not there. */
export function takeFromInput(program: Program, diagnostic: Diagnostic): readonly Fix[] {
  const steered = steeredAt(program, diagnostic)
  const wanted = steered && fieldNamed(steered.symbol.input, steered.field)
  if (wanted === undefined || steered === undefined) return []
  const type = showType(wanted.type)
  // A type of the other file has no name here.
  if (type.includes("#")) return []
  const own = program.input?.type.fields ?? []
  const fits = own.find(({ name, type: has }) => name === wanted.name && isAssignable(has, wanted.type, program.types))
  const name = fits?.name ?? freeName(wanted.name, new Set(own.map((field) => field.name)))
  const reference = `input.${asWritten(name)}`
  const edits = [
    steered.edit(reference),
    ...(fits === undefined ? [declareField(program, "input", asWritten(name), type)] : []),
  ]
  return [{ title: `${steered.verb} \`${reference}\``, edits, preferred: true }]
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted
  for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`
  return name
}

interface Steered {
  readonly symbol: WorkflowSymbol
  /** A field of the called file's input. */
  readonly field: string
  readonly verb: string
  edit(reference: string): Edit
}

/** The field of a call, or the missing one of an entry of `uses`, that a message is about. */
function steeredAt(program: Program, { span, path }: Diagnostic): Steered | undefined {
  let found: Steered | undefined
  const ofBlock = (target: Syntax.Chain, block: Syntax.Block<Syntax.Property> | undefined): void => {
    const symbol = calledBy(program, target)
    if (symbol === undefined) return
    for (const name of ["input", "next", "bindings"]) {
      const value = propertyOf(block, name)?.value
      const fields = value?.kind === "values" ? value.block.items : []
      const field = fields.find((one) => one.value.start === span.start && one.value.end === span.end)
      if (field === undefined) continue
      found = { symbol, field: field.name.text, verb: "Write", edit: (text) => replaceWith(field.value, text) }
    }
  }
  eachPart(program.tree.declarations, (part) => {
    if (part["kind"] === "call" || part["kind"] === "repeat") {
      const { target, block } = part as unknown as Syntax.InvokeNode
      ofBlock(target, block)
    } else if (part["kind"] === "use-entry") {
      const entry = part as unknown as Syntax.UseEntry
      ofBlock(entry.reference, entry.block)
      if (entry.reference.start === span.start) found = unbound(program, entry, path)
    }
  })
  return found
}

function calledBy(program: Program, { base, steps: [step] }: Syntax.Chain): WorkflowSymbol | undefined {
  const isWorkflow = base.kind === "name" && base.text === "workflow"
  return isWorkflow && step?.kind === "field" ? program.workflows.get(step.name.text) : undefined
}

/** A field that a model could set, as long as the entry does not bind it. */
function unbound(program: Program, { reference, block }: Syntax.UseEntry, path: string): Steered | undefined {
  const symbol = calledBy(program, reference)
  const field = symbol?.input.fields.find(({ name }) => path.endsWith(`.bindings.${name}`))?.name
  if (symbol === undefined || field === undefined) return undefined
  const { text } = program.tree
  const edit = (value: string): Edit => {
    const binding = `${asWritten(field)}: ${value}`
    const bindings = propertyOf(block, "bindings")?.value
    if (bindings?.kind === "values") return atEnd(text, bindings.block, [binding])
    if (block === undefined) return insertAt(reference.end, ` { bindings { ${binding} } }`)
    return atEnd(text, block, [`bindings { ${binding} }`])
  }
  return { symbol, field, verb: `Bind \`${field}\` to`, edit }
}
