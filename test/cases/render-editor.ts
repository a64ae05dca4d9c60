import assert from "node:assert/strict"
import { compile } from "../../src/compile.ts"
import { codeActions } from "../../src/editor/code-actions.ts"
import { complete } from "../../src/editor/complete.ts"
import type { Completion } from "../../src/editor/completion.ts"
import { definition } from "../../src/editor/definition.ts"
import type { Edit } from "../../src/editor/edit.ts"
import { applyEdits } from "../../src/editor/edit.ts"
import { folding } from "../../src/editor/folding.ts"
import { hover } from "../../src/editor/hover.ts"
import { references } from "../../src/editor/references.ts"
import { prepareRename, rename } from "../../src/editor/rename.ts"
import { semanticTokens } from "../../src/editor/semantic-tokens.ts"
import { signatureHelp } from "../../src/editor/signature-help.ts"
import type { DocumentSymbol } from "../../src/editor/symbols.ts"
import { symbols } from "../../src/editor/symbols.ts"
import type { Program } from "../../src/check/program.ts"
import type { Diagnostic } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"
import type { Span } from "../../src/source/span.ts"
import { renderRange } from "./render-diagnostics.ts"

const cursor = "‸"

/**
 * The first line says what is asked: `// complete`, `// hover`, `// signature`, `// definition`, `// references`, `// rename new_name`,
 * `// symbols`, `// folding`, `// tokens`, `// actions`. A `‸` marks the cursor, and is not part of the source; of several, each is asked about.
 */
export function render(source: string): string {
  const [, question = "", argument = ""] = /^\/\/ (\w+) ?(.*)/.exec(source) ?? []
  const [first = "", ...rest] = source.split(cursor)
  const text = [first, ...rest].join("")
  const offsets: number[] = []
  let at = 0
  for (const part of [first, ...rest].slice(0, -1)) offsets.push((at += part.length))
  const { program, diagnostics } = compile(text)
  const asked = new Asked(program, diagnostics)
  const whole = ["symbols", "folding", "tokens", "actions"].includes(question)
  assert.ok(whole || offsets.length > 0, `the case has a ${cursor}`)
  if (whole) return asked.answer(question, argument, 0)
  return offsets.map((offset) => asked.answer(question, argument, offset)).join("\n\n")
}

class Asked {
  readonly #program: Program
  readonly #diagnostics: readonly Diagnostic[]
  readonly #lines: LineMap

  constructor(program: Program, diagnostics: readonly Diagnostic[]) {
    this.#program = program
    this.#diagnostics = diagnostics
    this.#lines = new LineMap(program.tree.text)
  }

  answer(question: string, argument: string, offset: number): string {
    const program = this.#program
    switch (question) {
      case "complete": {
        const found = complete(program, offset)
        if (found === undefined) return "nothing"
        return [`instead of ${this.#place(found.span)}`, ...found.items.map((item) => this.#completion(item))].join(
          "\n",
        )
      }
      case "hover": {
        const found = hover(program, offset)
        if (found === undefined) return "nothing"
        const { span, code, doc, text } = found
        return [this.#place(span), code, doc && `"""${doc}"""`, text].filter((part) => part !== undefined).join("\n")
      }
      case "signature": {
        const found = signatureHelp(program, offset)
        if (found === undefined) return "nothing"
        const forms = found.forms.map(({ label, parameters, at }, index) => {
          const { start, end } = (at === undefined ? undefined : parameters[at]) ?? { start: 0, end: 0 }
          const marked = end === 0 ? label : `${label.slice(0, start)}<${label.slice(start, end)}>${label.slice(end)}`
          return `${index === found.active ? "* " : "  "}${marked}`
        })
        return [this.#place(found.span), ...forms, found.text].join("\n")
      }
      case "definition": {
        const found = definition(program, offset)
        if (found === undefined) return "nothing"
        const targets = found.targets.map(({ name, span }) => `${this.#place(name)} in ${this.#range(span)}`)
        return [`of ${this.#place(found.span)}`, ...targets].join("\n")
      }
      case "references": {
        const found = references(program, offset)
        if (found.length === 0) return "nothing"
        return found.map((one) => `${this.#place(one)}${one.declares ? " declares" : ""}`).join("\n")
      }
      case "rename": {
        const prepared = prepareRename(program, offset)
        if ("problem" in prepared) return `cannot: ${prepared.problem}`
        const renamed = rename(program, offset, argument)
        const head = `${this.#place(prepared.span)} is ${prepared.name}`
        return "problem" in renamed
          ? `${head}\nrefused: ${renamed.problem}`
          : `${head}\n${this.#changed(renamed.edits)}`
      }
      case "symbols":
        return symbols(program)
          .flatMap((symbol) => this.#symbol(symbol, ""))
          .join("\n")
      case "actions":
        return codeActions(program, this.#diagnostics, { start: 0, end: program.tree.text.length })
          .map(({ diagnostic, title, preferred, edits }) => {
            const head = `${this.#range(diagnostic.span)} ${diagnostic.code}: ${title}${preferred ? " (preferred)" : ""}`
            return [
              head,
              ...edits.map(({ span, text }) => `  ${this.#place(span)} becomes ${JSON.stringify(text)}`),
            ].join("\n")
          })
          .join("\n")
      case "folding":
        return folding(program)
          .map((fold) => `${fold.kind} ${this.#range(fold)}`)
          .join("\n")
      case "tokens":
        return semanticTokens(program)
          .map((token) => [`${this.#place(token)} ${token.type}`, ...token.modifiers].join(" "))
          .join("\n")
      default:
        throw new Error(`What does "${question}" ask?`)
    }
  }

  #symbol({ name, kind, detail, span, selection, children }: DocumentSymbol, indent: string): string[] {
    const head = [`${indent}${kind} ${name}`, ...(detail === undefined ? [] : [detail])].join(" | ")
    const own = `${head} | ${this.#range(span)} named at ${this.#range(selection)}`
    return [own, ...children.flatMap((child) => this.#symbol(child, `${indent}  `))]
  }

  #completion({ label, kind, detail, doc, insert, snippet, edits, filter }: Completion): string {
    const parts = [`${kind} ${label}`]
    if (detail !== undefined) parts.push(detail)
    if (doc !== undefined) parts.push(`"""${doc}"""`)
    if (insert !== label) parts.push(`inserts ${JSON.stringify(insert)}`)
    if (snippet !== undefined) parts.push(`snippet ${JSON.stringify(snippet)}`)
    if (filter !== undefined) parts.push(`filter ${filter}`)
    for (const { span, text } of edits ?? []) parts.push(`${this.#place(span)} becomes ${JSON.stringify(text)}`)
    return parts.join(" | ")
  }

  /** The lines that differ, as they are afterwards. */
  #changed(edits: readonly Edit[]): string {
    const before = this.#program.tree.text.split("\n")
    const after = applyEdits(this.#program.tree.text, edits).split("\n")
    if (before.length !== after.length) return after.join("\n")
    return after.flatMap((line, index) => (line === before[index] ? [] : [`${index + 1}: ${line}`])).join("\n")
  }

  #range(span: Span): string {
    return renderRange(this.#lines.range(span))
  }

  #place(span: Span): string {
    return `${this.#range(span)} ${JSON.stringify(this.#program.tree.text.slice(span.start, span.end))}`
  }
}
