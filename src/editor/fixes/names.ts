import type { Program } from "../../check/program.ts"
import type { Diagnostic } from "../../source/diagnostic.ts"
import { replaceWith, type Fix } from "./fix.ts"

/** `my-greeter` as a name: `my_greeter`, where it is declared and wherever it follows a dot. */
export function fixName(program: Program, { span, data }: Diagnostic<"syntax-error">): readonly Fix[] {
  const { text } = program.tree
  const name = text.slice(span.start, span.end)
  if (data?.kind !== "dashed-name" || !/^\w+(?:-\w+)+$/.test(name)) return []
  const instead = name.replaceAll("-", "_")
  const edits = [replaceWith(span, instead)]
  for (let at = text.indexOf(`.${name}`); at >= 0; at = text.indexOf(`.${name}`, at + 1)) {
    const start = at + 1
    const end = start + name.length
    if (!/[\w-]/.test(text[end] ?? "") && start !== span.start) edits.push(replaceWith({ start, end }, instead))
  }
  return [{ title: `Change to \`${instead}\``, edits, preferred: true }]
}
