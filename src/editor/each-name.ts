import {
  dynamicPlace,
  modelPlace,
  requestPlace,
  runPlace,
  scorePlace,
  withoutCalls,
  withoutSecrets,
} from "../check/allowance.ts"
import type { ImportNode, LoopVariable, Program, StepSymbol } from "../check/program.ts"
import { placeOfImport } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"
import { importedTarget } from "./imported-target.ts"
import type { PropertyBlock, Setting } from "./name-use.ts"
import { NameWalk, type Visit } from "./name-walk.ts"
import { constant, inRequest, settingIn, triggerSetting } from "./property-setting.ts"

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
      case "file-import":
        this.#fileImport(declaration)
        break
      case "workflow":
        this.declared("workflow", declaration.name, declaration)
        this.words(declaration.name.end, declaration.file.start, ["from"])
        if (declaration.body !== undefined) this.properties("workflow", declaration.body.items, inRequest)
        break
      case "function-declaration": {
        const { name, parameters, result, value, file } = declaration
        this.declared("function", name, declaration)
        for (const parameter of parameters) {
          this.name(parameter.name, { kind: "variable", name: parameter.name })
          this.type(parameter.type, false)
        }
        if (result !== undefined) this.type(result, false)
        if (file !== undefined) this.words(result?.end ?? name.end, file.start, ["from"])
        const own = this.program.functions.get(name.text)
        const variables = own?.declaration === declaration ? own.variables : new Map<string, LoopVariable>()
        this.expression(value, { ...settingIn(withoutCalls(runPlace)), variables, isClosed: true })
        break
      }
      case "input": {
        const place = withoutCalls(withoutSecrets(requestPlace))
        const items = declaration.body.items.filter((item) => item.kind === "property")
        for (const item of declaration.body.items) {
          if (item.kind === "type-field") this.typeField(item, false)
          else this.property(item, { place: "input", items }, settingIn(place), undefined)
        }
        break
      }
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
      case "api":
        this.declared(declaration.kind, declaration.name, declaration)
        this.properties(declaration.kind, declaration.body.items, inRequest)
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
      case "wait":
        this.#step(declaration)
        break
      case "limits":
        this.properties("limits", declaration.body.items, constant)
        break
      case "chat":
        this.properties("chat", declaration.body.items, settingIn(modelPlace))
        break
      case "release":
        this.#release(declaration)
        break
      case "score":
        this.#score(declaration)
        break
      case "schedule":
      case "webhook":
        this.#trigger(declaration)
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

  #fileImport({ names, file, body }: Syntax.FileImportDeclaration): void {
    for (const item of names.items) {
      const { word, source, name } = item
      this.keyword(word)
      const node = importedTarget(this.program, item)
      if (source !== name) this.name(source, { kind: "imported-name", item })
      if (source !== name) this.words(source.end, name.start, ["as"])
      if (node === undefined || node.name.start !== name.start) this.name(name, { kind: "imported-name", item })
      else this.declared(node.declares, name, node.node)
    }
    this.words(names.end, file.start, ["from"])
    if (body !== undefined) this.properties("file-import", body.items, inRequest)
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
    this.keyword({ start: source.start, end: source.start + source.word.length })
    this.name(source.server, { kind: "server-name", source })
    this.name(source.kindWord, { kind: "remote-kind", source })
    if (named !== undefined) this.declared(named.importKind, named.name, named)
    else this.name(source.remote, { kind: "remote-name", source })
  }

  #importBody(node: ImportNode, items: readonly Syntax.Property[]): void {
    const taker = { kind: node.importKind, name: node.name.text }
    const place = node.kind === "import" ? placeOfImport(node.importKind, node.source) : node.importKind
    this.properties(place, items, inRequest, taker)
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
    const { agents, asks, waits } = this.program
    const known: StepSymbol | undefined = { agent: agents, ask: asks, wait: waits }[kind].get(name.text)
    const symbol = known?.declaration === declaration ? known : undefined
    this.declared(kind, name, declaration)
    const node = `${kind}.${name.text}`
    if (loop !== undefined) {
      this.loop(loop, settingIn(runPlace, node))
    }
    if (declaration.when !== undefined) {
      this.keyword(declaration.when.keyword)
      const variables = new Map([...(symbol?.variables ?? [])].filter(([, variable]) => variable.isBuiltIn !== true))
      const decided = symbol && { ...symbol, locals: new Map(), variables }
      this.expression(declaration.when.condition, settingIn(runPlace, node, decided))
    }
    this.properties(kind, declaration.body.items, settingIn(runPlace, node, symbol))
  }

  #trigger(declaration: Syntax.TriggerDeclaration): void {
    this.declared(declaration.kind, declaration.name, declaration)
    const symbol = this.program.triggers.get(declaration.name.text)
    const variables = symbol?.declaration === declaration ? symbol.variables : undefined
    const setting: Setting = { ...triggerSetting, ...(variables && { variables }) }
    this.properties(declaration.kind, declaration.body.items, setting)
  }

  #release(declaration: Syntax.ReleaseDeclaration): void {
    const symbol = this.program.release
    const variables = symbol?.declaration === declaration ? symbol.variables : undefined
    const inRelease = settingIn(modelPlace)
    for (const property of declaration.body.items) {
      const setting =
        property.name.text === "stop_when" && variables !== undefined ? { ...triggerSetting, variables } : inRelease
      this.properties("release", [property], setting)
    }
  }

  #score(declaration: Syntax.ScoreDeclaration): void {
    const { name, when, body } = declaration
    this.declared("score", name, declaration)
    const symbol = this.program.scores.get(name.text)
    const variables = symbol?.declaration === declaration ? symbol.variables : undefined
    const setting: Setting = { ...settingIn(scorePlace), ...(variables && { variables }) }
    if (when !== undefined) {
      this.keyword(when.keyword)
      this.expression(when.condition, setting)
    }
    this.properties("score", body.items, setting)
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
