import type { JsonObject } from "../../base/json-value.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { RunRequest } from "../../ports/store.ts"

/** The server's own secrets for a workflow of its folder, by the names that the workflow declares. */
export type ServerSecrets = (workflow: string, declared: readonly string[]) => JsonObject

/**
 * The secrets of a run: those of its request, and, for a workflow of the server's folder, the server's own where the
 * request has none. Source that a caller sent never gets them, nor does a backend whose address the input decides. They
 * are read anew each time a run is taken up, and never stored with it.
 */
export function secretsOfRun(
  plan: Plan,
  { secrets, workflow }: Pick<RunRequest, "secrets" | "workflow">,
  server: ServerSecrets | undefined,
): JsonObject {
  if (workflow === undefined || server === undefined) return secrets
  const wanted = plan.secrets.fields
    .map(({ name }) => name)
    .filter((name) => !Object.hasOwn(secrets, name) && plan.request_secrets?.includes(name) !== true)
  return wanted.length === 0 ? secrets : { ...server(workflow.name, wanted), ...secrets }
}
