import type {
  BatchDeclaration,
  BatchItem,
  Block,
  Declaration,
  FileImportItem,
  Loop,
  Property,
  RemotePath,
  TestDeclaration,
  TestItem,
  Tree,
} from "../tree.ts"
import { layOutBlock } from "./blocks.ts"
import type { Layout } from "./layout.ts"
import { LayoutBuilder } from "./layout-builder.ts"
import {
  layOutInputFields,
  layOutParameters,
  layOutSchemaBody,
  layOutTypeAfterColon,
  layOutTypeFields,
} from "./type-layout.ts"
import {
  layOutChain,
  layOutExpression,
  layOutIndex,
  layOutPattern,
  layOutProperties,
  layOutProperty,
  layOutValueFields,
  runsInto,
} from "./value-layout.ts"

/** How each token of a tree without syntax errors is printed. */
export function layOutTree(tree: Tree): Layout {
  const builder = new LayoutBuilder(tree)
  builder.layOutValue = layOutExpression
  for (const declaration of tree.declarations) {
    builder.declaration()
    builder.word()
    layOutDeclaration(builder, declaration)
    builder.dropComma()
  }
  return builder.layout()
}

function layOutDeclaration(builder: LayoutBuilder, declaration: Declaration): void {
  switch (declaration.kind) {
    case "file-import":
      layOutBlock(builder, {
        block: declaration.names,
        canBeFlat: true,
        joins: true,
        layOut: (item) => layOutFileImportItem(builder, item),
      })
      takeWord(builder)
      layOutExpression(builder, declaration.file)
      return layOutBody(builder, declaration.body)
    case "workflow":
      builder.name(declaration.name)
      takeWord(builder)
      layOutExpression(builder, declaration.file)
      return layOutBody(builder, declaration.body)
    case "input":
    case "secrets":
      beginBody(builder)
      if (declaration.kind === "secrets") return layOutTypeFields(builder, declaration.body, false)
      return layOutInputFields(builder, declaration.body, (property) => layOutProperty(builder, property))
    case "output":
    case "dynamic":
      beginBody(builder)
      return layOutValueFields(builder, declaration.body, false)
    case "limits":
    case "chat":
    case "release":
      return layOutBody(builder, declaration.body)
    case "schema":
      builder.name(declaration.name)
      beginBody(builder)
      return layOutSchemaBody(builder, declaration.body)
    case "provider":
    case "model": {
      builder.name(declaration.name)
      const origin = declaration.kind === "provider" ? declaration.providerKind : declaration.provider
      if (origin !== undefined) {
        takeWord(builder)
        builder.name(origin)
      }
      layOutBody(builder, declaration.body)
      return
    }
    case "mcp":
    case "api":
    case "schedule":
    case "webhook":
      builder.name(declaration.name)
      return layOutBody(builder, declaration.body)
    case "import":
      if (declaration.naming === "from") {
        builder.space()
        builder.name(declaration.name)
      }
      takeWord(builder)
      layOutRemotePath(builder, declaration.source)
      if (declaration.naming === "as") {
        takeWord(builder)
        builder.name(declaration.name)
      }
      return layOutBody(builder, declaration.body)
    case "batch":
      return layOutBatch(builder, declaration)
    case "function-declaration":
      builder.name(declaration.name)
      layOutParameters(builder, declaration.parameters)
      if (declaration.result !== undefined) {
        builder.take()
        layOutTypeAfterColon(builder, declaration.result, "field")
      }
      takeWord(builder)
      return layOutExpression(builder, declaration.file ?? declaration.value)
    case "agent":
    case "ask":
    case "wait":
      builder.name(declaration.name)
      if (declaration.loop !== undefined) layOutLoop(builder, declaration.loop)
      if (declaration.when !== undefined) {
        takeWord(builder)
        layOutExpression(builder, declaration.when.condition)
      }
      return layOutBody(builder, declaration.body)
    case "score":
      builder.name(declaration.name)
      if (declaration.when !== undefined) {
        takeWord(builder)
        layOutExpression(builder, declaration.when.condition)
      }
      return layOutBody(builder, declaration.body)
    case "tests":
      return layOutExpression(builder, declaration.file)
    case "test":
      return layOutTest(builder, declaration)
  }
}

/** `tool.search as find` */
function layOutFileImportItem(builder: LayoutBuilder, { source, name }: FileImportItem): void {
  builder.take()
  builder.take()
  builder.name(source)
  if (name === source) return
  takeWord(builder)
  builder.name(name)
}

/** A keyword inside a declaration's head, with the spaces around it: `from`, `as`, `for`, `in`, `when`. */
function takeWord(builder: LayoutBuilder): void {
  builder.space()
  builder.word()
}

function beginBody(builder: LayoutBuilder): void {
  if (builder.token.kind === ":") builder.drop()
  builder.backToItem()
  builder.space()
}

function layOutBody(builder: LayoutBuilder, body: Block<Property> | undefined): void {
  if (body === undefined) return
  beginBody(builder)
  layOutProperties(builder, body)
}

/** `mcp.server.tool.remote` */
function layOutRemotePath(builder: LayoutBuilder, path: RemotePath): void {
  while (builder.token.start < path.end) builder.take()
}

function layOutBatch(builder: LayoutBuilder, batch: BatchDeclaration): void {
  layOutRemotePath(builder, batch.source)
  beginBody(builder)
  layOutBlock<BatchItem | Property>(builder, {
    block: batch.body,
    canBeFlat: false,
    layOut: (item) => (item.kind === "property" ? layOutProperty(builder, item) : layOutBatchItem(builder, item)),
    needsComma: (item, next) => item.kind === "property" && runsInto(builder, next),
  })
}

/** `tool remote-name as name { … }` */
function layOutBatchItem(builder: LayoutBuilder, item: BatchItem): void {
  builder.word()
  builder.name(item.remote)
  if (item.naming === "as") {
    takeWord(builder)
    builder.name(item.name)
  }
  layOutBody(builder, item.body)
}

/** `for pattern in expression` */
function layOutLoop(builder: LayoutBuilder, { pattern, index, items }: Loop): void {
  takeWord(builder)
  layOutPattern(builder, pattern, index)
  takeWord(builder)
  layOutExpression(builder, items)
}

function layOutTest(builder: LayoutBuilder, { title, rows, body }: TestDeclaration): void {
  layOutExpression(builder, title)
  if (rows !== undefined) {
    takeWord(builder)
    builder.name(rows.variable)
    layOutIndex(builder, rows.index)
    takeWord(builder)
    layOutExpression(builder, rows.file)
  }
  beginBody(builder)
  layOutBlock<TestItem>(builder, { block: body, canBeFlat: false, layOut: (item) => layOutTestItem(builder, item) })
}

function layOutTestItem(builder: LayoutBuilder, item: TestItem): void {
  switch (item.kind) {
    case "property":
      return layOutProperty(builder, item)
    case "test-input":
      builder.take()
      beginBody(builder)
      return layOutValueFields(builder, item.body, false)
    case "given":
      builder.word()
      layOutChain(builder, item.step)
      switch (item.result.kind) {
        case "value":
          builder.word()
          return layOutExpression(builder, item.result.value)
        case "fails":
          takeWord(builder)
          builder.name(item.result.errorKind)
          if (item.result.message === undefined) return
          builder.space()
          return layOutExpression(builder, item.result.message)
        case "missing":
          throw new Error("Only a tree without syntax errors can be formatted")
      }
      break
    case "expect":
      builder.take()
      if (item.judge !== undefined) {
        takeWord(builder)
        layOutChain(builder, item.judge)
      }
      builder.space()
      layOutExpression(builder, item.condition)
  }
}
