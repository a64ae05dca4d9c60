import { cutText } from "../base/cut-text.ts"
import { offsetAt, type CheckedCode, type CodeFiles, type CodeProblem } from "../source/code-files.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { meantWord } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { knownNames } from "./known-list.ts"
import type { FunctionCode } from "./program.ts"

/** Checks the code file of a function, as far as it was loaded. */
export function checkCode(
  checking: CheckContext,
  { name, result }: Syntax.FunctionDeclaration,
  file: Syntax.StringNode,
): FunctionCode | undefined {
  // The parser has reported it.
  if (file.interpolations.length > 0) return undefined
  const path = `function.${name.text}`
  const origin = checking.importedDeclarations.get(path)
  const from = origin?.file ?? checking.files.file
  const found = checking.files.code(from, file.texts[0] ?? "")
  switch (found.kind) {
    case "refused": {
      const message = `\`${name.text}\` is code, which this service does not take from here`
      checking.report("code-not-allowed", path, file, message, notAllowedHint)
      return undefined
    }
    case "unknown": {
      const hint = found.near === undefined ? codePathHint : meantWord(found.near)
      checking.report("unknown-file", path, file, `There is no code file ${checking.quote(file)}`, hint)
      return undefined
    }
    case "found": {
      const exported = origin?.name ?? name.text
      // Without a result the declaration is wrong already.
      if (found.checked !== undefined && result !== undefined)
        checkLoaded(checking, found.files, found.checked, { exported, file, path })
      return { files: found.files, name: exported }
    }
  }
}

export const notAllowedHint = "Named workflows may have code; `WIRE_CODE=all` allows it in source that callers send."

const codePathHint = "Paths of code begin with `./` or `../`, end in `.js` or `.ts`, and stay within the root."

/** The function, and where its file is named. */
interface NamedCode {
  readonly exported: string
  readonly file: Syntax.StringNode
  readonly path: string
}

function checkLoaded(checking: CheckContext, files: CodeFiles, checked: CheckedCode, named: NamedCode): void {
  const { exported, file, path } = named
  if ("problem" in checked) return reportProblem(checking, files, checked.problem, named)
  const { exports } = checked
  const kind = Object.hasOwn(exports, exported) ? exports[exported] : exports["default"]
  const shown = `${files.entry} exports`
  if (kind === undefined) {
    const near = checking.suggest(exported, Object.keys(exports))
    const names = Object.keys(exports)
    const hint =
      names.length === 0
        ? `Write \`export function ${exported}\` there.`
        : near === undefined
          ? knownNames(names)
          : `Did you mean \`${near}\`? The function has the name of its export.`
    return checking.report("unknown-export", path, file, `${shown} no \`${exported}\`, and no default`, hint)
  }
  if (kind === "value") {
    const hint = `Write \`export function ${exported}\` there.`
    return checking.report("unknown-export", path, file, `${shown} \`${exported}\`, which is not a function`, hint)
  }
  if (kind === "function") return
  const what = kind === "async" ? "is asynchronous" : "is a generator"
  const hint = "It computes and never waits: return the value itself."
  checking.report("invalid-code", path, file, `\`${exported}\` of ${files.entry} ${what}`, hint)
}

function reportProblem(checking: CheckContext, { texts }: CodeFiles, problem: CodeProblem, named: NamedCode): void {
  const { kind, message, line, column } = problem
  const text = texts[problem.file] ?? ""
  const start = line === null ? 0 : offsetAt(text, line, column ?? 1)
  const elsewhere: Diagnostic["elsewhere"] = { file: problem.file, text, span: { start, end: start } }
  const hint =
    kind === "unknown-file"
      ? "Code files import others of the root by relative paths; bundle packages into one file."
      : message.includes("relative paths") || message.includes("import()")
        ? "Bundle what it needs into one file, such as with `esbuild --bundle --format=esm`."
        : undefined
  const place = line === null ? problem.file : `${problem.file}:${line}${column === null ? "" : `:${column}`}`
  const said = `${place}: ${cutText(message, 500)}`
  checking.report(kind, named.path, named.file, said, hint, undefined, elsewhere)
}
