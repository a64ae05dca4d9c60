import { removeIt, type Hint } from "../source/hint.ts"
import type * as Syntax from "../syntax/tree.ts"
import { numberType, stringType } from "../types/primitives.ts"
import { membersOf } from "../types/members-of.ts"
import { resolve, withoutNull } from "../types/relations.ts"
import { showType } from "../types/show-type.ts"
import type { RecordType, Type } from "../types/types.ts"
import { instructionPlace, scorePlace } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { checkModelReference } from "./check-model-reference.ts"
import { usageType } from "./usage-type.ts"
import { expectProperty, infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { checkGuarded } from "./guarded.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import type { LoopVariable } from "./program.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { at, nonePresent, type Scope } from "./scope.ts"
import { typesOf } from "./types-of.ts"

// `score`: what a run that has completed is judged by.

const judging = ["judge", "of", "model", "output"] as const

export function checkScores(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "score") new ScoreCheck(checking, declaration).run()
  }
}

class ScoreCheck {
  readonly #checking: CheckContext
  readonly #declaration: Syntax.ScoreDeclaration
  readonly #path: string
  readonly #variables: ReadonlyMap<string, LoopVariable>

  constructor(checking: CheckContext, declaration: Syntax.ScoreDeclaration) {
    this.#checking = checking
    this.#declaration = declaration
    this.#path = `score.${declaration.name.text}`
    const { start, end } = declaration.keyword
    const add = (text: string, type: Type): [string, LoopVariable] => [
      text,
      { name: { kind: "name", text, quoted: false, start, end }, type, isBuiltIn: true },
    ]
    this.#variables = new Map([
      add("output", checking.output ?? { kind: "record", fields: [] }),
      add("usage", usageType),
      add("duration_ms", numberType),
    ])
  }

  run(): void {
    const checking = this.#checking
    const { name, when, start, body } = this.#declaration
    const scope = this.#scope()
    const condition = (): Scope => {
      if (when === undefined) return scope
      inferCondition(checking, when.condition, { ...at(scope, "when"), place: "a condition" }, infer)
      return narrowed(scope, pathsPresent(when.condition, true))
    }
    const isBroken = checking.skipped.hasError({ start, end: body.start })
    checkGuarded(checking, condition, (inner) => this.#body(inner), isBroken)
    if (checking.scoreNodes.get(name.text) !== this.#declaration || checking.scores.has(name.text)) return
    checking.scores.set(name.text, { declaration: this.#declaration, variables: this.#variables, ...unknown })
  }

  #body(scope: Scope): void {
    const checking = this.#checking
    const declaration = this.#declaration
    const { body, name } = declaration
    const properties = readProperties(checking, "score", body, this.#path, name)
    this.#mustBeOneKind(properties)
    const value = this.#value(properties.get("value"), at(scope, "value"))
    this.#shown(properties.get("of"), at(scope, "of"))
    const judge = { ...at(scope, "judge"), ...instructionPlace, assets: "none", isComputed: true } as const
    expectProperty(checking, properties.get("judge"), stringType, this.#path, { ...judge, place: "a criterion" })
    const model = properties.get("model")
    if (model?.value.kind === "models" && model.value.entries.length > 1) {
      this.#refuse(model.name, "A score has one model", "Write `model: model.name`.")
    }
    checkModelReference(checking, model, `${this.#path}.model`)
    const output = this.#output(properties.get("output"))
    if (checking.scoreNodes.get(name.text) !== declaration) return
    checking.scores.set(name.text, { declaration, variables: this.#variables, value, output })
  }

  #scope(): Scope {
    return {
      ...scorePlace,
      path: this.#path,
      place: "a score",
      node: undefined,
      agent: undefined,
      variables: this.#variables,
      hasBrokenLoop: false,
      local: undefined,
      present: nonePresent,
      roots: ["input", "agent", "ask", "wait", "run"],
      withoutCode: true,
    }
  }

  #refuse(span: Syntax.Name, message: string, hint: Hint<never>): void {
    this.#checking.report("invalid-score", this.#path, span, message, hint)
  }

  #mustBeOneKind(properties: ReadonlyMap<string, Syntax.Property>): void {
    const checking = this.#checking
    const { name, body } = this.#declaration
    if (checking.skipped.hasError(body)) return
    if (properties.has("value")) {
      for (const one of judging) {
        const property = properties.get(one)
        if (property === undefined) continue
        const path = `${this.#path}.${one}`
        const message = `A score with \`value\` is computed, and has no \`${one}\``
        checking.report("invalid-score", path, property.name, message, removeIt())
      }
      return
    }
    const missing = judging.filter((one) => !properties.has(one))
    if (missing.length === 0) return
    if (missing.length === judging.length) {
      return this.#refuse(
        name,
        "The score says nothing about the run",
        "Add `value: …`, or `judge`, `of`, `model` and `output`.",
      )
    }
    const names = missing.map((one) => `\`${one}\``).join(", ")
    this.#refuse(name, `A score with a judge needs ${names}`, `Add ${names}.`)
  }

  /** The type of a computed score: a boolean, a number or an enum. */
  #value(property: Syntax.Property | undefined, scope: Scope): Type | undefined {
    const checking = this.#checking
    const expression = expressionOf(checking, property, this.#path)
    if (expression === undefined) return undefined
    const type = infer(checking, expression, scope)
    if (type.kind === "error" || isCounted(checking, type)) return type
    const message = `Expected a boolean, a number or an enum, found ${showType(type)}`
    checking.report("invalid-score", scope.path, expression, message, "Compare it, count it, or choose with `match`.")
    return undefined
  }

  #shown(property: Syntax.Property | undefined, scope: Scope): void {
    const checking = this.#checking
    const expression = expressionOf(checking, property, this.#path)
    if (expression === undefined) return
    const type = resolve(infer(checking, expression, scope), checking.types)
    if (type.kind === "error" || type.kind === "record" || type.kind === "any" || type.kind === "object") return
    const hint = "Name what the judge is shown: `of: { answer: output.answer }`."
    checking.report("invalid-score", scope.path, expression, `Expected an object, found ${showType(type)}`, hint)
  }

  #output(property: Syntax.Property | undefined): RecordType | undefined {
    const checking = this.#checking
    const path = `${this.#path}.output`
    const output = typesOf(checking, property, path)
    if (output === undefined || property === undefined) return undefined
    const block = property.value.kind === "types" ? property.value.block.items : []
    let texts = 0
    for (const { name, type } of output.fields) {
      const span = block.find((item) => item.name.text === name)?.name ?? property.name
      if (type.kind === "error" || isCounted(checking, type)) continue
      const isText = resolve(withoutNull(type, checking.types), checking.types).kind === "string"
      if (isText && ++texts === 1) continue
      const message = isText
        ? "A judge answers with one string at most"
        : `A judge answers with booleans, numbers and enums, not ${showType(type)}`
      checking.report("invalid-score", `${path}.${name}`, span, message, removeIt())
    }
    if (texts < output.fields.length || checking.skipped.hasError(property)) return output
    const hint = "Add a field that is counted, such as `grade: enum { good, bad }`."
    this.#refuse(property.name, "Nothing that the judge answers can be counted", hint)
    return output
  }
}

const unknown = { value: undefined, output: undefined }

function isCounted(checking: CheckContext, type: Type): boolean {
  return membersOf(type, checking.types).every((member) => {
    const { kind } = resolve(member, checking.types)
    return ["boolean", "number", "integer", "enum", "literal", "null"].includes(kind)
  })
}
