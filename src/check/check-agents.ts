import type * as Syntax from "../syntax/tree.ts"
import { blockOf } from "./block-of.ts"
import { messagesType } from "./chat-types.ts"
import { checkContext } from "./check-agent-context.ts"
import { checkFile } from "./check-file.ts"
import { checkHostedTools } from "./check-hosted-tools.ts"
import { checkPriced } from "./check-limits.ts"
import { checkModelReference, type ModelReference } from "./check-model-reference.ts"
import { checkRepeat } from "./check-repeat.ts"
import { checkRequirements } from "./check-requirements.ts"
import { checkStep, judgedType } from "./check-steps.ts"
import { checkUses } from "./check-uses.ts"
import { instructionPlace } from "./allowance.ts"
import type { CheckContext } from "./check-context.ts"
import { expectProperty, expectType } from "./infer.ts"
import { inferLocals } from "./infer-dynamics.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { declareUnique } from "./repeated-name.ts"
import { checkBatch } from "./rules/invalid-batch.ts"
import { checkCacheBreaking } from "./rules/cache-breaking.ts"
import type { CalledModel } from "./rules/ignored-setting.ts"
import { checkAssetsOfModel } from "./rules/unsupported-asset.ts"
import { checkAgentOutput } from "./rules/unsupported-output.ts"
import { at, type Scope } from "./scope.ts"
import { stringType } from "../types/primitives.ts"

export function checkAgents(checking: CheckContext): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind !== "agent") continue
    checkStep(
      checking,
      declaration,
      checking.agents,
      "an agent",
      (path) => declareLocals(checking, declaration, path),
      (scope) => checkBody(checking, declaration, scope),
    )
  }
}

function checkBody(checking: CheckContext, declaration: Syntax.AgentDeclaration, scope: Scope): void {
  const { path } = scope
  const properties = readProperties(checking, "agent", declaration.body, path, declaration.name)
  inferLocals(checking, scope)
  const models = checkModelReference(checking, properties.get("model"), `${path}.model`, {
    scope,
    loop: declaration.loop,
  })
  checkInstruction(checking, properties.get("instruction"), scope, models)
  expectProperty(checking, properties.get("system"), stringType, path, {
    ...at(scope, "system"),
    place: "a system text",
  })
  checkUses(checking, properties.get("uses"), scope)
  const summarisers = checkContext(checking, properties.get("context"), scope)
  const output = judgedType(checking.agents, declaration)
  if (output?.kind === "record") checkAgentOutput(checking, output, models, `${path}.output`)
  checkMessages(checking, properties.get("messages"), scope)
  checkRepeat(checking, declaration, output, scope)
  for (const item of declaration.body.items) if (item.name.text === "file") checkFile(checking, item, scope)
  checkRequirements(checking, declaration, output, scope)
  checkBatch(checking, declaration, path, models)
  checkHostedTools(checking, properties.get("hosted_tools"), path, calledModels(checking, models))
  checkPriced(checking, declaration, models, summarisers)
  checkCacheBreaking(checking, declaration, path)
}

function calledModels({ providers }: CheckContext, models: readonly ModelReference[]): CalledModel[] {
  return models.flatMap(({ declaration: model }) => {
    const provider = providers.get(model.provider?.text ?? "")
    return provider === undefined ? [] : [{ provider, model }]
  })
}

/** What was said before: a list of messages. */
function checkMessages(checking: CheckContext, property: Syntax.Property | undefined, scope: Scope): void {
  expectProperty(checking, property, messagesType, scope.path, { ...at(scope, "messages"), place: "messages" })
}

function declareLocals(
  checking: CheckContext,
  declaration: Syntax.AgentDeclaration,
  path: string,
): Map<string, Syntax.ValueField> {
  const fields = new Map<string, Syntax.ValueField>()
  const seen = new Set<string>()
  for (const item of declaration.body.items) {
    if (item.name.text !== "dynamic") continue
    const block = blockOf(checking, item, `${path}.dynamic`)
    if (block !== undefined && checking.skipped.hasNameless(block)) checking.skipped.nameless.add("dynamic")
    for (const field of block?.items ?? []) {
      const name = field.name.text
      const fieldPath = `${path}.dynamic.${name}`
      if (declareUnique(checking, seen, field.name, fieldPath)) continue
      if (checking.dynamicFields.has(name)) {
        const message = `dynamic.${name} is declared already at the top level`
        checking.report("duplicate-declaration", fieldPath, field.name, message, "Give one of the two another name.")
      }
      fields.set(name, field)
    }
  }
  return fields
}

function checkInstruction(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  scope: Scope,
  models: readonly ModelReference[],
): void {
  const expression = expressionOf(checking, property, scope.path)
  if (property === undefined || expression === undefined) return
  const path = `${scope.path}.${property.name.text}`
  expectType(checking, expression, stringType, { ...scope, ...instructionPlace, path, place: "an instruction" })
  for (const { declaration } of models) checkAssetsOfModel(checking, expression, declaration, { ...scope, path })
}
