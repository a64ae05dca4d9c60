import { didYouMean } from "../base/did-you-mean.ts"
import type { JsonValue } from "../base/json-value.ts"
import type * as Syntax from "../syntax/tree.ts"
import type { Checking } from "./checking.ts"
import { constantProperty, isWhole } from "./constants.ts"
import { assetKind, expectType, wordOrString } from "./infer.ts"
import { inferenceKeys, readProperties } from "./properties.ts"
import { checkHardcodedSecret } from "./rules/hardcoded-secret.ts"
import { checkHeaders } from "./rules/invalid-header.ts"
import type { Scope } from "./scope.ts"
import type { Type } from "./types.ts"

// Providers, models and MCP servers: where calls go, and as whom.

const stringType: Type = { kind: "string" }

export const providerKinds = ["openai", "openai_compatible"] as const

export function checkBackends(checking: Checking): void {
  for (const declaration of checking.tree.declarations) {
    if (declaration.kind === "provider") checkProvider(checking, declaration)
    else if (declaration.kind === "model") checkModel(checking, declaration)
    else if (declaration.kind === "mcp") checkServer(checking, declaration)
  }
}

/** Where a key goes is decided by the request alone. */
function connectionScope(path: string, place: string): Scope {
  return {
    path,
    place,
    node: undefined,
    agent: undefined,
    local: undefined,
    secrets: "allowed",
    roots: "request",
    calls: false,
    assets: "none",
  }
}

function checkProvider(checking: Checking, declaration: Syntax.ProviderDeclaration): void {
  const path = `provider.${declaration.name.text}`
  checkProviderKind(checking, declaration, path)
  const properties = readProperties(checking, "provider", declaration.body.items, path, declaration.name)
  checkEndpoint(checking, properties.get("endpoint"), `${path}.endpoint`, "demo")
  const key = properties.get("api_key")
  if (key?.value.kind === "expression") {
    expectType(checking, key.value.expression, stringType, connectionScope(`${path}.api_key`, "an `api_key`"))
    checkHardcodedSecret(checking, key.value.expression, `${path}.api_key`, "api_key")
  } else {
    mustBeExpression(checking, key, `${path}.api_key`)
  }
  checkHeadersProperty(checking, properties.get("headers"), `${path}.headers`)
  checkInference(checking, properties.get("inference"), `${path}.inference`)
}

function checkProviderKind(checking: Checking, declaration: Syntax.ProviderDeclaration, path: string): void {
  const { name, providerKind } = declaration
  const driver = declaration.body.items.find((property) => property.name.text === "driver")
  if (providerKind === undefined || driver !== undefined) {
    const hint = `Write \`provider ${name.text} from openai { … }\`.`
    const message = "The kind of a provider now stands in its head"
    const at = driver === undefined ? path : `${path}.driver`
    checking.report("obsolete-syntax", at, driver?.name ?? name, message, hint)
    return
  }
  if ((providerKinds as readonly string[]).includes(providerKind.text)) return
  const hint = "Write `from openai` for any backend with an OpenAI-compatible `/responses`."
  checking.report("unknown-provider-kind", path, providerKind, `Unknown kind of provider: ${providerKind.text}`, hint)
}

function mustBeExpression(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined || property.value.kind === "missing" || property.value.kind === "expression") return
  checking.report("type-mismatch", path, property.name, "Expected a string, found a block")
}

function checkEndpoint(checking: Checking, property: Syntax.Property | undefined, path: string, also?: string): void {
  if (property?.value.kind !== "expression") return mustBeExpression(checking, property, path)
  const { expression } = property.value
  expectType(checking, expression, stringType, connectionScope(path, "an `endpoint`"))
  if (expression.kind !== "string") return
  const [text = ""] = expression.texts
  if (
    expression.interpolations.length > 0 ? /^https?:\/\//.test(text) || text === "" : text === also || isHttpUrl(text)
  ) {
    if (/^https?:\/\/[^/?#]*:[^/?#]*@/.test(text)) {
      const message = "A password is written into the endpoint"
      checking.report(
        "hardcoded-secret",
        path,
        expression,
        message,
        "Declare it in `secrets { }` and send it in `headers { }`.",
      )
    }
    return
  }
  const message = "An endpoint is an address that begins with `http://` or `https://`"
  checking.report(
    "invalid-value",
    path,
    expression,
    message,
    also && `Or \`"${also}"\`, this service's own demo model.`,
  )
}

/** Portable code has no URL class: enough of its grammar to catch a slip; the door that connects judges it whole. */
function isHttpUrl(text: string): boolean {
  return /^https?:\/\/(?:[^\s/?#@]*@)?(?:\[[0-9a-fA-F:.]+\]|[^\s/?#@:[\]]+)(?::\d{1,5})?(?:[/?#]\S*)?$/.test(text)
}

function checkHeadersProperty(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined || property.value.kind === "missing") return
  if (property.value.kind !== "values") {
    checking.report("type-mismatch", path, property.name, 'Expected a block: `headers { Name: "value" }`')
    return
  }
  const fields = property.value.block.items
  for (const field of fields) {
    const fieldPath = `${path}.${field.name.text}`
    expectType(checking, field.value, stringType, connectionScope(fieldPath, "a header"))
    checkHardcodedSecret(checking, field.value, fieldPath, "header")
  }
  checkHeaders(checking, fields, path)
}

function checkServer(checking: Checking, declaration: Syntax.McpDeclaration): void {
  const path = `mcp.${declaration.name.text}`
  const properties = readProperties(checking, "mcp", declaration.body.items, path, declaration.name)
  checkEndpoint(checking, properties.get("endpoint"), `${path}.endpoint`)
  checkHeadersProperty(checking, properties.get("headers"), `${path}.headers`)
}

function checkModel(checking: Checking, declaration: Syntax.ModelDeclaration): void {
  const path = `model.${declaration.name.text}`
  const { provider } = declaration
  if (provider !== undefined) {
    if (checking.providers.has(provider.text)) checking.refer(`provider.${provider.text}`, provider)
    else {
      const near = didYouMean(provider.text, checking.providers.keys())
      const hint = near === undefined ? undefined : `Did you mean ${near}?`
      checking.report("unknown-reference", path, provider, `Unknown reference: provider.${provider.text}`, hint)
    }
  }
  const properties = readProperties(checking, "model", declaration.body.items, path, declaration.name)
  const id = properties.get("id")
  if (id?.value.kind === "expression") {
    const scope = { ...connectionScope(`${path}.id`, "a model's `id`"), secrets: "exposed" as const }
    expectType(checking, id.value.expression, stringType, scope)
  } else {
    mustBeExpression(checking, id, `${path}.id`)
  }
  checkInference(checking, properties.get("inference"), `${path}.inference`)
  checkAssets(checking, properties.get("assets"), `${path}.assets`)
  checkResponseFormat(checking, properties.get("response_format"), `${path}.response_format`)
}

function checkAssets(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined || property.value.kind === "missing") return
  if (property.value.kind !== "expression" || property.value.expression.kind !== "array") {
    checking.report("type-mismatch", path, property.name, 'Expected an array such as `["image"]`')
    return
  }
  for (const item of property.value.expression.items) assetKind(checking, item, path)
}

const responseFormats = ["auto", "json_schema", "json_object", "instruction_only"]

export function checkResponseFormat(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined || property.value.kind === "missing") return
  const written = property.value.kind === "expression" ? wordOrString(property.value.expression) : undefined
  if (written !== undefined && responseFormats.includes(written)) return
  const near = written === undefined ? undefined : didYouMean(written, responseFormats)
  const list = `Known are ${responseFormats.map((one) => `\`${one}\``).join(", ")}.`
  const hint = near === undefined ? list : `Did you mean \`${near}\`? ${list}`
  const span = property.value.kind === "expression" ? property.value.expression : property.name
  checking.report("invalid-value", path, span, `Unknown response format: ${checking.textOf(span)}`, hint)
}

interface InferenceRule {
  readonly expected: string
  readonly fits: (value: JsonValue) => boolean
}

const number = (least: number, most: number, expected: string): InferenceRule => ({
  expected,
  fits: (value) => typeof value === "number" && value >= least && value <= most,
})
const whole = (least: number): InferenceRule => ({
  expected: `a whole number from ${least}`,
  fits: (value) => isWhole(value, least),
})
const text: InferenceRule = { expected: "a string", fits: (value) => typeof value === "string" && value !== "" }

const inferenceRules: Readonly<Record<(typeof inferenceKeys)[number], InferenceRule>> = {
  temperature: number(0, Number.MAX_VALUE, "a number from 0"),
  top_p: number(0, 1, "a number from 0 to 1"),
  max_tokens: whole(1),
  reasoning_effort: text,
  verbosity: text,
  seed: { expected: "a whole number", fits: (value) => Number.isSafeInteger(value) },
  stop: {
    expected: "a string or an array of strings",
    fits: (value) =>
      typeof value === "string" ||
      (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")),
  },
  timeout_seconds: { expected: "a number over 0", fits: (value) => typeof value === "number" && value > 0 },
  max_retries: whole(0),
  retry_base_delay_ms: whole(0),
  output_retries: whole(0),
  extra: {
    expected: "an object",
    fits: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  },
}

export function checkInference(checking: Checking, property: Syntax.Property | undefined, path: string): void {
  if (property === undefined || property.value.kind === "missing") return
  if (property.value.kind !== "properties") {
    checking.report("type-mismatch", path, property.name, "Expected a block: `inference { temperature: 0.2 }`")
    return
  }
  const properties = readProperties(checking, "inference", property.value.block.items, path, property.name)
  for (const [name, item] of properties) {
    const key = inferenceKeys.find((one) => one === name)
    if (key === undefined) continue
    const { expected, fits } = inferenceRules[key]
    constantProperty(checking, item, `${path}.${name}`, expected, fits)
  }
}
