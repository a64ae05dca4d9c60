import type { JsonObject } from "../../base/json-value.ts"
import type { CalledWorkflow } from "../../plan/plan-shape.ts"

/** The secrets of the calling file under the names that the called file has for them. */
export function calledSecrets(secrets: JsonObject, called: CalledWorkflow): JsonObject {
  const bound = Object.entries(called.secrets).map(([name, of]) => [name, of === null ? null : (secrets[of] ?? null)])
  return Object.fromEntries(bound) as JsonObject
}
