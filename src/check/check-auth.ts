import type * as Syntax from "../syntax/tree.ts"
import { propertyOf } from "../syntax/property-of.ts"
import { signingAlgorithms } from "../syntax/property-table.ts"
import { stringType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { constantOf } from "./constants.ts"
import { expectProperty } from "./infer.ts"
import { readProperties } from "./properties.ts"
import { checkHardcodedSecret } from "./rules/hardcoded-secret.ts"
import { isHttpUrl } from "./rules/invalid-endpoint.ts"
import { requestScope } from "./scope.ts"

const stringsType: Type = { kind: "array", element: stringType }
const addresses = ["issuer", "token_endpoint"]
const credentials = ["client_secret", "private_key"]

/** `auth { issuer, client_id, client_secret }`: how an `mcp` or `api` signs in. */
export function checkAuth(
  checking: CheckContext,
  body: Syntax.Block<Syntax.Property>,
  property: Syntax.Property | undefined,
  serverPath: string,
): void {
  const path = `${serverPath}.auth`
  const block = blockAs(checking, property, path, "properties", 'auth { issuer: "https://…" }')?.block
  if (property === undefined || block === undefined) return
  const properties = readProperties(checking, "auth", block, path, property.name)
  for (const [name, one] of properties) {
    if (name === "client_auth") continue
    const own = `${path}.${name}`
    const type = name === "scopes" ? stringsType : stringType
    const value = expectProperty(checking, one, type, path, requestScope(own, "an `auth`"))
    if (value === undefined) continue
    if (credentials.includes(name)) checkHardcodedSecret(checking, value, own)
    const constant = constantOf(value)
    if (addresses.includes(name) && typeof constant === "string" && !isSafeAddress(constant)) {
      const message =
        "The address of an authorization server is a URL that begins with `https://`, unless it is on this machine"
      checking.report("type-mismatch", own, value, message, "Write one such as `https://login.example.com`.")
    }
    if (name === "algorithm" && typeof constant === "string" && !signingAlgorithms.includes(constant)) {
      const hint = `Known are ${signingAlgorithms.map((one) => `"${one}"`).join(", ")}.`
      checking.report("type-mismatch", own, value, `Unknown algorithm: ${constant}`, hint)
    }
  }
  checkTogether(checking, properties, property.name, path)
  const headers = propertyOf(body, "headers")?.value
  const header =
    headers?.kind === "values"
      ? headers.block.items.find(({ name }) => name.text.toLowerCase() === "authorization")
      : undefined
  if (header !== undefined) {
    const message = "`auth` sets the header `Authorization`, and so does this"
    const headerPath = `${serverPath}.headers.${header.name.text}`
    checking.report("conflicting-properties", headerPath, header.name, message, "Remove one of the two.")
  }
}

/** One address, one credential, and what goes with it. */
function checkTogether(
  checking: CheckContext,
  properties: ReadonlyMap<string, Syntax.Property>,
  owner: Syntax.Name,
  path: string,
): void {
  if (!addresses.some((name) => properties.has(name))) {
    const hint =
      'Add `issuer: "https://…"` or `token_endpoint: "https://…"`: a server must not choose where a secret goes.'
    checking.report("missing-property", `${path}.issuer`, owner, "`issuer` or `token_endpoint` is missing", hint)
  }
  const secret = properties.get("client_secret")
  const key = properties.get("private_key")
  if (secret === undefined && key === undefined) {
    const hint = "Add `client_secret: secrets.name`, or `private_key: secrets.name`."
    checking.report(
      "missing-property",
      `${path}.client_secret`,
      owner,
      "`client_secret` or `private_key` is missing",
      hint,
    )
  }
  if (secret !== undefined && key !== undefined) {
    const message = "A client has a `client_secret` or a `private_key`, not both"
    checking.report("type-mismatch", `${path}.private_key`, key.name, message, "Remove one of the two.")
  }
  const misplaced = key === undefined ? ["key_id", "algorithm"] : ["client_auth"]
  for (const name of misplaced) {
    const one = properties.get(name)
    if (one === undefined) continue
    const message = `\`${name}\` belongs to a ${key === undefined ? "`private_key`" : "`client_secret`"}`
    checking.report("type-mismatch", `${path}.${name}`, one.name, message, "Remove it.")
  }
}

/** Without a user name; http only on this machine. */
function isSafeAddress(text: string): boolean {
  const isSafe = /^https:\/\/[^/?#@]+(?:[/?#]|$)|^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/i
  return isHttpUrl(text) && isSafe.test(text)
}
