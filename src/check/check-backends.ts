import { meantReference } from "../source/hint.ts"
import { expressionIn } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"
import { blockOf, valueSpan } from "./block-of.ts"
import { modelPlace } from "./allowance.ts"
import { checkApproval } from "./check-approval.ts"
import { checkAuth } from "./check-auth.ts"
import { checkHostedTools } from "./check-hosted-tools.ts"
import type { CheckContext } from "./check-context.ts"
import { expectProperty, expectType, infer } from "./infer.ts"
import { listed, knownNames, nearAnd } from "./known-list.ts"
import { readProperties } from "./properties.ts"
import { meantKind, providerKinds } from "./provider-kinds.ts"
import { checkIgnoredSettings } from "./rules/ignored-setting.ts"
import { checkBareEndpoint, checkDotSegments, checkEndpoint } from "./rules/invalid-endpoint.ts"
import { checkHardcodedSecret } from "./rules/hardcoded-secret.ts"
import { checkListedAudio } from "./rules/unsupported-asset.ts"
import { checkListedOutputs } from "./rules/unsupported-output.ts"
import { checkHeaders } from "./rules/invalid-header.ts"
import { stringType } from "../types/primitives.ts"
import { maybe } from "../types/relations.ts"
import { requestScope } from "./scope.ts"

type Properties = ReadonlyMap<string, Syntax.Property>

// Providers, models, MCP servers and HTTP APIs: where calls go, and as whom.

/** A key or header that is null is not sent. */
const maybeString = maybe(stringType)

export function checkBackends(checking: CheckContext): void {
  const models = Map.groupBy(checking.models.values(), ({ provider }) => provider?.text)
  for (const declaration of checking.declarations) {
    if (declaration.kind === "provider") checkProvider(checking, declaration, models.get(declaration.name.text))
    else if (declaration.kind === "model") checkModel(checking, declaration)
    else if (declaration.kind === "mcp" || declaration.kind === "api") checkServer(checking, declaration)
  }
}

function checkProvider(
  checking: CheckContext,
  declaration: Syntax.ProviderDeclaration,
  models: readonly (Syntax.ModelDeclaration | undefined)[] = [undefined],
): void {
  const path = `provider.${declaration.name.text}`
  checkProviderKind(checking, declaration, path)
  const kind = providerKinds.get(declaration.providerKind?.text ?? "")
  const needed = kind?.endpoint === null ? "endpoint" : undefined
  const properties = readProperties(checking, "provider", declaration.body, path, declaration.name, needed)
  checkAddress(checking, properties, path, "demo model")
  const keyScope = requestScope(`${path}.api_key`, "an `api_key`")
  const key = expectProperty(checking, properties.get("api_key"), maybeString, path, keyScope)
  if (key !== undefined) checkHardcodedSecret(checking, key, keyScope.path)
  const called = models.map((model) => ({ provider: declaration, model }))
  checkIgnoredSettings(checking, properties.get("inference"), `${path}.inference`, called)
  checkWireApi(checking, properties.get("wire_api"), declaration, path)
}

/** Only the kinds that speak one of OpenAI's APIs have a choice. */
function checkWireApi(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  provider: Syntax.ProviderDeclaration | undefined,
  path: string,
): void {
  if (property === undefined) return
  const word = provider?.providerKind?.text ?? ""
  const api = providerKinds.get(word)?.api
  if (api === undefined || api === "responses" || api === "chat") return
  const message = `A provider of the kind ${word} has one API only`
  checking.report("type-mismatch", `${path}.wire_api`, valueSpan(property), message, "Remove `wire_api`.")
}

function checkProviderKind(checking: CheckContext, declaration: Syntax.ProviderDeclaration, path: string): void {
  const { name, providerKind, body } = declaration
  const hint = `Write \`provider ${name.text} from openai { … }\`.`
  const driver = body.items.find((property) => property.name.text === "driver")
  if (driver !== undefined) {
    const message = "`driver:` is now written in the head of the provider"
    checking.report("obsolete-syntax", `${path}.driver`, driver.name, message, hint)
  } else if (providerKind === undefined) {
    // Where something else stands in place of the kind, the parser has reported it.
    if (checking.textOf({ start: name.end, end: body.start }).trim() !== "") return
    checking.report("syntax-error", path, name, `Expected \`from openai\` after \`provider ${name.text}\``, hint)
  } else if (!providerKinds.has(providerKind.text)) {
    const message = `Unknown kind of provider: ${providerKind.text}`
    const meant = meantKind(providerKind.text, (word, known) => checking.suggest(word, known))
    const near = meant === undefined || providerKinds.has(meant) ? meant : meantKind(meant, () => undefined)
    const hint = nearAnd(near, `Known are ${listed(providerKinds.keys(), providerKinds.size)}.`)
    checking.report("unknown-provider-kind", path, providerKind, message, hint)
  }
}

/** `endpoint` and `headers`: where to, and with what. */
function checkAddress(checking: CheckContext, properties: Properties, path: string, demo: string): void {
  const scope = requestScope(`${path}.endpoint`, "an `endpoint`")
  const endpoint = expectProperty(checking, properties.get("endpoint"), stringType, path, scope)
  if (endpoint !== undefined) checkEndpoint(checking, endpoint, scope.path, demo)
  const fields = blockOf(checking, properties.get("headers"), `${path}.headers`)?.items ?? []
  for (const { name, value } of fields) {
    const fieldPath = `${path}.headers.${name.text}`
    expectType(checking, value, maybeString, requestScope(fieldPath, "a header"))
    checkHardcodedSecret(checking, value, fieldPath, name.text)
  }
  checkHeaders(checking, fields, `${path}.headers`)
}

function checkServer(checking: CheckContext, declaration: Syntax.McpDeclaration | Syntax.ApiDeclaration): void {
  const { kind } = declaration
  const path = `${kind}.${declaration.name.text}`
  const properties = readProperties(checking, kind, declaration.body, path, declaration.name)
  checkAddress(checking, properties, path, kind === "mcp" ? "demo server" : "demo CRM")
  checkAuth(checking, declaration.body, properties.get("auth"), path)
  checkApproval(checking, properties.get("elicitation"), requestScope(path, "an elicitation"), infer)
  const endpoint = expressionIn(declaration.body, "endpoint")
  if (kind === "api" && endpoint !== undefined) checkBareEndpoint(checking, endpoint, `${path}.endpoint`)
}

function checkModel(checking: CheckContext, declaration: Syntax.ModelDeclaration): void {
  const path = `model.${declaration.name.text}`
  const { provider } = declaration
  if (provider !== undefined) {
    if (checking.providers.has(provider.text)) checking.refer(`provider.${provider.text}`, provider)
    else if (!checking.skipped.isSwallowed("provider", provider.text)) {
      const near = checking.suggest(provider.text, checking.providers.keys())
      const hint = near === undefined ? knownNames(checking.providers.keys()) : meantReference(near, provider)
      checking.report("unknown-reference", path, provider, `Unknown reference: provider.${provider.text}`, hint)
    }
  }
  const properties = readProperties(checking, "model", declaration.body, path, declaration.name)
  for (const name of ["id", "system"]) {
    const scope = requestScope(`${path}.${name}`, `a model's \`${name}\``, modelPlace)
    const expression = expectProperty(checking, properties.get(name), stringType, path, scope)
    if (name === "id" && expression !== undefined) checkDotSegments(checking, expression, scope.path)
  }
  const backend = checking.providers.get(provider?.text ?? "")
  const called = backend === undefined ? [] : [{ provider: backend, model: declaration }]
  checkIgnoredSettings(checking, properties.get("inference"), `${path}.inference`, called)
  checkHostedTools(checking, properties.get("hosted_tools"), path, called)
  checkWireApi(checking, properties.get("wire_api"), backend, path)
  checkListedAudio(checking, declaration, path)
  checkListedOutputs(checking, declaration, path)
}
