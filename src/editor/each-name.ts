import { dynamicPlace, modelPlace, runPlace, withoutSecrets } from "../check/allowance.ts"
import type { ImportNode, Program, StepSymbol } from "../check/program.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { PropertyBlock } from "./name-use.ts"
import type { Visit } from "./name-walk.ts"
import { NameWalk } from "./name-walk.ts"
import { constant, inRequest, settingIn } from "./property-setting.ts"

/** Visits every name of the source with its role, one declaration after the other. */
export function eachName(program: Program, visit: Visit): void {
  for (const declaration of program.tree.declarations) eachNameIn(program, declaration, visit)
}

/** The same for one declaration. */
export function eachNameIn(program: Program, declaration: Syntax.Declaration, visit: Visit): void {
  new DeclarationWalk(program, declaration, visit).run()
}

/** In a test. */
const inTest = settingIn(runPlace)

/** Visits the names in the heads of declarations, and hands their blocks to the walk below it. */
class DeclarationWalk extends NameWalk {
  run(): void {
    const declaration = this.declaration
    this.keyword(declaration.keyword)
    switch (declaration.kind) {
      case "input":
      case "secrets":
        this.typeFields(declaration.body.items, false)
        break
      case "schema":
        this.declared("schema", declaration.name, declaration)
        for (const item of declaration.body.items) {
          if (item.kind === "variant") this.type(item, false)
          else this.typeField(item, false)
        }
        break
      case "provider":
        this.declared("provider", declaration.name, declaration)
        this.words(declaration.name.end, declaration.body.start, ["from"])
        this.name(declaration.providerKind, { kind: "provider-kind" })
        this.properties("provider", declaration.body.items, inRequest)
        break
      case "model":
        this.declared("model", declaration.name, declaration)
        this.words(declaration.name.end, declaration.body.start, ["from"])
        this.name(declaration.provider, { kind: "provider-name" })
        this.properties("model", declaration.body.items, settingIn(modelPlace))
        break
      case "mcp":
        this.declared("mcp", declaration.name, declaration)
        this.properties("mcp", declaration.body.items, inRequest)
        break
      case "import":
        this.#import(declaration)
        break
      case "batch":
        this.#batch(declaration)
        break
      case "dynamic":
        for (const field of declaration.body.items) {
          this.declared("dynamic", field.name, field)
          this.expression(field.value, settingIn(dynamicPlace, `dynamic.${field.name.text}`))
        }
        break
      case "agent":
      case "ask":
        this.#step(declaration)
        break
      case "limits":
        this.properties("limits", declaration.body.items, constant)
        break
      case "tests":
        break
      case "test":
        this.#test(declaration)
        break
      case "output":
        for (const field of declaration.body.items) {
          this.name(field.name, { kind: "field", node: field, remote: false })
          this.expression(field.value, settingIn(runPlace, "output"))
        }
        break
    }
  }

  #import(declaration: Syntax.ImportDeclaration): void {
    const { name, naming, source, importKind } = declaration
    if (naming === "from") this.declared(importKind, name, declaration)
    this.words(naming === "from" ? name.end : declaration.keyword.end, source.start, ["from"])
    this.#source(source, naming === "remote" ? declaration : undefined)
    this.#importedAs(declaration, source.end)
    if (declaration.body !== undefined) this.#importBody(declaration, declaration.body.items)
  }

  #importedAs(node: ImportNode, from: number): void {
    if (node.naming !== "as") return
    this.words(from, node.name.start, ["as"])
    this.declared(node.importKind, node.name, node)
  }

  #source(source: Syntax.RemotePath, named: ImportNode | undefined): void {
    this.keyword({ start: source.start, end: source.start + "mcp".length })
    this.name(source.server, { kind: "server-name", source })
    this.name(source.kindWord, { kind: "remote-kind", source })
    if (named !== undefined) this.declared(named.importKind, named.name, named)
    else this.name(source.remote, { kind: "remote-name", source })
  }

  #importBody(node: ImportNode, items: readonly Syntax.Property[]): void {
    const taker = { kind: node.importKind, name: node.name.text }
    this.properties(node.importKind, items, inRequest, taker)
  }

  #batch(declaration: Syntax.BatchDeclaration): void {
    this.#source(declaration.source, undefined)
    const { items } = declaration.body
    const hasPrompt = items.some((item) => item.kind === "batch-item" && item.importKind === "prompt")
    const block: PropertyBlock = { place: "batch", items }
    for (const item of items) {
      if (item.kind === "property") {
        this.property(item, block, hasPrompt ? withoutSecrets(inRequest) : inRequest, undefined)
        continue
      }
      this.keyword(item.keyword)
      if (item.naming === "remote") this.declared(item.importKind, item.name, item)
      else this.name(item.remote, { kind: "remote-name", source: declaration.source })
      this.#importedAs(item, item.remote.end)
      if (item.body !== undefined) this.#importBody(item, item.body.items)
    }
  }

  #step(declaration: Syntax.StepDeclaration): void {
    const { kind, name, loop } = declaration
    const { agents, asks } = this.program
    const known: StepSymbol | undefined = kind === "agent" ? agents.get(name.text) : asks.get(name.text)
    const symbol = known?.declaration === declaration ? known : undefined
    this.declared(kind, name, declaration)
    const node = `${kind}.${name.text}`
    if (loop !== undefined) {
      this.keyword({ start: loop.start, end: loop.start + "for".length })
      this.#pattern(declaration, loop)
      this.words(loop.pattern.end, loop.items.start, ["in"])
      this.expression(loop.items, settingIn(runPlace, node))
    }
    if (declaration.when !== undefined) {
      this.keyword(declaration.when.keyword)
      this.expression(declaration.when.condition, settingIn(runPlace, node, symbol && { ...symbol, locals: new Map() }))
    }
    this.properties(kind, declaration.body.items, settingIn(runPlace, node, symbol))
  }

  #pattern(agent: Syntax.StepDeclaration, loop: Syntax.Loop): void {
    const { pattern } = loop
    if (pattern.kind === "item") {
      this.name(pattern.name, { kind: "variable", agent, name: pattern.name })
      return
    }
    for (const field of pattern.body.items) {
      this.name(field.field, { kind: "pattern-field", agent, loop, field })
      if (field.variable !== field.field) this.name(field.variable, { kind: "variable", agent, name: field.variable })
    }
  }

  #test({ title, rows, body }: Syntax.TestDeclaration): void {
    if (rows !== undefined) this.words(title.end, body.start, ["for", "in"])
    for (const item of body.items) {
      switch (item.kind) {
        case "property":
          this.keyword(item.name)
          if (item.value.kind === "expression") this.expression(item.value.expression, inTest)
          break
        case "test-input":
          this.keyword(item.keyword)
          for (const field of item.body.items) {
            this.name(field.name, { kind: "field", node: field, remote: false })
            this.expression(field.value, inTest)
          }
          break
        case "given":
          this.keyword(item.keyword)
          this.testedStep(item.step)
          if (item.result.kind === "value") this.expression(item.result.value, inTest)
          else if (item.result.kind === "fails") {
            this.words(item.step.end, item.result.errorKind.start, ["fails"])
            this.keyword(item.result.errorKind)
          }
          break
        case "expect":
          this.keyword(item.keyword)
          if (item.judge !== undefined) {
            this.words(item.keyword.end, item.judge.start, ["judge"])
            this.testedStep(item.judge)
          }
          this.expression(item.condition, inTest)
      }
    }
  }
}
