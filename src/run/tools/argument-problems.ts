import type { JsonObject } from "../../base/json-value.ts"
import type { Bound } from "./bind.ts"
import type { HostedTool } from "../../ports/tools.ts"

/** Checks the arguments of a call against the server's schema. A sentence about a secret does not quote it. */
export function argumentProblems(hosted: HostedTool, own: JsonObject, bound: Bound): string[] {
  return hosted.checkArguments(hosted.fit({ ...own, ...bound.values })).map(({ path, message }) => {
    const [key = ""] = path.split(/[.[]/)
    const secret = Object.hasOwn(bound.values, key) && bound.values[key] !== bound.shown[key]
    const said = secret ? "the value does not fit" : message
    return path === "" ? said : `${path}: ${said}`
  })
}
