import { choiceOf } from "../../syntax/model-choice.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type * as Syntax from "../../syntax/tree.ts"
import { apiOf } from "../api-of.ts"
import { blockAs } from "../block-of.ts"
import type { CheckContext } from "../check-context.ts"
import type { ModelReference } from "../check-model-reference.ts"
import { readProperties } from "../properties.ts"
import { batchApis, modelApis } from "../provider-kinds.ts"

/** `batch { within_hours: 24 }`, and whether the agent's calls can be made in batches. */
export function checkBatch(
  checking: CheckContext,
  declaration: Syntax.AgentDeclaration,
  path: string,
  models: readonly ModelReference[],
): void {
  const { body, loop, brokenLoop } = declaration
  const property = propertyOf(body, "batch")
  if (property === undefined) return
  const own = `${path}.batch`
  const block = blockAs(checking, property, own, "properties", "batch { within_hours: 24 }")?.block
  if (block !== undefined) readProperties(checking, "agent-batch", block, own, property.name)
  const refuse = (message: string, hint: string): void =>
    checking.report("invalid-batch", own, property.name, message, hint)
  if (loop === undefined && !brokenLoop) {
    const hint = "Give the agent a list: `agent name for item in input.list { … }`, or remove `batch`."
    return refuse("Only an agent with `for` makes its calls in batches", hint)
  }
  for (const name of ["uses", "context", "hosted_tools"]) {
    if (propertyOf(body, name) === undefined) continue
    return refuse(`An agent with \`${name}\` makes no batches: its model is called turn after turn`, removeOne(name))
  }
  const model = propertyOf(body, "model")?.value
  if (model?.kind === "models" || choiceOf(model, loop) !== undefined) {
    return refuse("An agent with `batch` has one model, not a list or a choice", "Write `model: model.name`.")
  }
  for (const { declaration: called } of models) {
    const name = called.name.text
    if (propertyOf(called.body, "hosted_tools") !== undefined) {
      return refuse(`model.${name} has \`hosted_tools\`, and batches have no tools`, "Use a model without them.")
    }
    const provider = checking.providers.get(called.provider?.text ?? "")
    const api = provider && apiOf(provider, called)
    if (api === undefined || batchApis.includes(api)) continue
    const hint = "Use a model of OpenAI's or Anthropic's API, or remove `batch`."
    return refuse(`model.${name} speaks ${modelApis[api].label}, for which there are no batches here`, hint)
  }
}

function removeOne(name: string): string {
  return `Remove \`batch\` or \`${name}\`.`
}
