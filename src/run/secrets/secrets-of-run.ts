import type { JsonObject } from "../../base/json-value.ts"
import type { SecretNames } from "../../check/secret-routes.ts"
import type { Plan, SecretRoutePlan } from "../../plan/plan-shape.ts"
import type { ErrorIssue, WireError } from "../../log/events.ts"
import { wireError } from "../../ports/run-failure.ts"
import type { RunRequest } from "../../ports/store.ts"

/** The server's own secrets for a workflow of its folder, by the names that the workflow declares. */
export type ServerSecrets = (workflow: string, declared: readonly string[]) => JsonObject

/** The request of a run, as far as it decides who gets which secrets. */
type Asked = Pick<RunRequest, "secrets" | "workflow">

/**
 * The secrets of a run: those of its request, and, for a workflow of the server's folder, the server's own where the
 * request has none. Source that a caller sent never gets them, nor does a backend that the request steers. They
 * are read anew each time a run is taken up, and never stored with it.
 */
export function secretsOfRun(plan: Plan, { secrets, workflow }: Asked, server: ServerSecrets | undefined): JsonObject {
  if (workflow === undefined || server === undefined) return secrets
  const own = (names: readonly string[]): JsonObject => server(workflow.name, names)
  const declared = declaredIn(plan)
  const lists = steeredRoutes(plan, secrets, own).map(({ route }) => route.sent)
  const withheld = new Set(lists.includes("all") ? declared : lists.flat())
  const wanted = declared.filter((name) => !Object.hasOwn(secrets, name) && !withheld.has(name))
  return wanted.length === 0 ? secrets : { ...own(wanted), ...secrets }
}

function declaredIn(plan: Plan): readonly string[] {
  return plan.secrets.fields.map(({ name }) => name)
}

function namesIn(names: SecretNames, plan: Plan): readonly string[] {
  return names === "all" ? declaredIn(plan) : names
}

/** The server's own secrets that would go where the request says, as an error that names what decides it; null when there are none. */
export function exposedByRequest(
  plan: Plan,
  { secrets, workflow }: Asked,
  server: ServerSecrets | undefined,
): WireError | null {
  if (workflow === undefined || server === undefined) return null
  const own = (names: readonly string[]): JsonObject => server(workflow.name, names)
  const [first, ...rest] = steeredRoutes(plan, secrets, own).flatMap(({ route, deciders }): ErrorIssue[] => {
    const left = Object.keys(own(namesIn(route.sent, plan).filter((name) => !Object.hasOwn(secrets, name))))
    return left.length === 0 ? [] : deciders.map((path) => exposure(route.backend, path, left))
  })
  return first === undefined ? null : wireError("input_error", [first, ...rest])
}

interface SteeredRoute {
  readonly route: SecretRoutePlan
  /** Paths of the request's fields that decide where the backend's calls go. */
  readonly deciders: readonly string[]
}

/** The backends whose address or headers refer to the input, or to a secret that the request supplies. */
function steeredRoutes(plan: Plan, secrets: JsonObject, own: (names: readonly string[]) => JsonObject): SteeredRoute[] {
  // Null says that there is none, which decides something only in the place of one that the server has.
  const supplies = (name: string): boolean =>
    Object.hasOwn(secrets, name) && (secrets[name] !== null || Object.hasOwn(own([name]), name))
  return (plan.secret_routes ?? [])
    .map((route) => ({
      route,
      deciders: [
        ...route.inputs,
        ...namesIn(route.destinationInputs, plan)
          .filter(supplies)
          .map((name) => `secrets.${name}`),
      ],
    }))
    .filter(({ deciders }) => deciders.length > 0)
}

function exposure(backend: string, path: string, secrets: readonly string[]): ErrorIssue {
  const names = secrets.map((name) => `\`secrets.${name}\``).join(", ")
  return {
    path,
    code: "secret-exposed",
    message: `\`${path}\` decides where ${backend} sends its calls, and the server's own ${names} would go there`,
    hint: path.startsWith("secrets.") ? `Leave \`${path}\` out, or send ${names} too.` : `Send ${names}.`,
  }
}
