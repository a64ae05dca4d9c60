import { asWritten } from "../../check/known-list.ts"
import { eachPart } from "../../check/imported-declaration.ts"
import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { fieldNamed } from "../../types/field-named.ts"
import { isAssignable } from "../../types/relations.ts"
import { atEnd } from "./add.ts"
import { insertAt, type Fix } from "./fix.ts"

/** `at_most` and `next` of a repetition, and `at_most` of an agent that repeats. When it is good enough, only its author can say. */
export function addToRepeat(program: Program, { span, path }: Diagnostic): readonly Fix[] {
  const name = path.slice(path.lastIndexOf(".") + 1)
  if (name !== "at_most" && name !== "next") return []
  const own = name === "at_most" ? repeatOfAgent(program, span.start) : undefined
  if (own !== undefined) {
    const title = "Add `at_most: 3`"
    return [{ title, edits: [atEnd(program.tree.text, own, ["at_most: 3"])], preferred: true }]
  }
  const node = repeatAt(program, span.start)
  const code = node === undefined ? undefined : name === "at_most" ? "at_most: 3" : nextOf(program, node)
  if (node === undefined || code === undefined) return []
  const edit =
    node.block === undefined
      ? insertAt((node.when ?? node.target).end, ` { ${code} }`)
      : atEnd(program.tree.text, node.block, [code])
  return [{ title: `Add \`${code}\``, edits: [edit], preferred: true }]
}

/** The input fields that the result has under the same name, and that fit. */
function nextOf(program: Program, { target }: Syntax.InvokeNode): string | undefined {
  const [step] = target.steps
  const symbol = step?.kind === "field" ? program.workflows.get(step.name.text) : undefined
  const fields = (symbol?.input.fields ?? []).flatMap(({ name, type }) => {
    const given = symbol && fieldNamed(symbol.output, name)
    if (given === undefined || !isAssignable(given.type, type, program.types)) return []
    return [`${asWritten(name)}: result.${asWritten(name)}`]
  })
  return fields.length === 0 ? undefined : `next { ${fields.join(", ")} }`
}

/** The block of the property `repeat` whose name stands there. */
function repeatOfAgent({ agents }: Program, start: number): Syntax.Block<Syntax.Property> | undefined {
  for (const { declaration } of agents.values()) {
    const property = propertyOf(declaration.body, "repeat")
    if (property?.name.start === start && property.value.kind === "properties") return property.value.block
  }
  return undefined
}

function repeatAt(program: Program, start: number): Syntax.InvokeNode | undefined {
  let found: Syntax.InvokeNode | undefined
  eachPart(program.tree.declarations, (part) => {
    if (part["kind"] !== "repeat") return
    const node = part as unknown as Syntax.InvokeNode
    if (node.keyword.start === start || node.target.start === start) found = node
  })
  return found
}
