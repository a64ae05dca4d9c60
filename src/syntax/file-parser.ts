import { parseFromWord, parseName, skipToBrace, type Start } from "./head-parser.ts"
import { leavesBlock } from "./declaration-start.ts"
import { parseWordKey } from "./key-parser.ts"
import { parseString } from "./string-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { FileImportDeclaration, FileImportItem, StringNode, WorkflowDeclaration } from "./tree.ts"
import { parseExpression, parseProperties } from "./value-parser.ts"

// Declarations that name another file.

/** FileImport = "import" "{" (kind "." name ("as" name)? ","?)* "}" "from" string properties? */
export function parseFileImport(start: Start): FileImportDeclaration | undefined {
  const { reader, keyword, doc } = start
  const hint = 'Write `import { model.name } from "./file.wire"`.'
  if (!reader.is("{")) {
    reader.expected("`{` after `import`", hint)
    skipToBrace(reader)
  }
  const names = reader.block(parseItem, leavesBlock, "a declaration such as `model.name`")
  if (names === undefined) return undefined
  if (!parseFromWord(reader, '`from "./file.wire"` after the names', hint)) return undefined
  const file = parseFilePath(reader)
  if (file === undefined) return undefined
  start.hasBlock = true
  const body = parseProperties(reader, "file-import")
  return { kind: "file-import", keyword, doc, names, file, body, start: keyword.start, end: reader.previous.end }
}

/** Workflow = "workflow" name "from" string properties? */
export function parseWorkflow(start: Start): WorkflowDeclaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (name === undefined) return undefined
  const head = `workflow ${reader.show(name)}`
  if (reader.is("{")) {
    const hint = `A file is one workflow: its declarations stand side by side. Another file is called as \`${head} from "./file.wire"\`.`
    reader.expected(`\`from "./file.wire"\` after \`${head}\``, hint)
    return undefined
  }
  if (!parseFromWord(reader, `\`from "./file.wire"\` after \`${head}\``)) return undefined
  const file = parseFilePath(reader)
  if (file === undefined) return undefined
  start.hasBlock = true
  const body = parseProperties(reader, "workflow")
  return { kind: "workflow", keyword, doc, name, file, body, start: keyword.start, end: reader.previous.end }
}

function parseItem(reader: TokenReader): FileImportItem | undefined {
  const { start } = reader.token
  if (!reader.is("name")) {
    reader.unexpected("a declaration such as `model.name`")
    reader.skipBalanced()
    return undefined
  }
  const word = parseWordKey(reader)
  if (reader.accept(".") === undefined || !reader.is("name")) {
    reader.expected(`\`.\` and a name after \`${reader.show(word)}\``, "Each name has its kind: `model.name`.")
    return undefined
  }
  const source = parseWordKey(reader)
  let name = source
  if (reader.acceptWord("as") !== undefined) {
    if (!reader.is("name")) {
      reader.expected("a name after `as`")
      return undefined
    }
    name = parseWordKey(reader)
  }
  return { kind: "file-import-item", word, source, name, start, end: name.end }
}

/** The path of a file, known before anything runs. */
export function parseFilePath(reader: TokenReader): StringNode | undefined {
  if (!reader.is("string") && !reader.is("head")) {
    reader.expected("the path of a file in quotes", 'Such as `"./common.wire"`.')
    return undefined
  }
  const node = parseString(reader, parseExpression)
  if (node.interpolations.length > 0) reader.report(node, "Expected the path of a file without `{{ }}`")
  return node
}
