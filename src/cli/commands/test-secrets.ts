import type { JsonObject } from "../../base/json-value.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { validateRequest } from "../../run/validate-request.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { readSecret } from "./given-values.ts"
import type { LoadedTests } from "./load-tests.ts"

/** Secrets of the command line, for whichever workflow has them. */
export class SecretValues {
  readonly #assignments: readonly string[]
  readonly #known = new Set<string>()

  readonly #file: JsonObject

  constructor(assignments: readonly string[], file: JsonObject) {
    this.#assignments = assignments
    this.#file = file
  }

  of(plan: Plan): JsonObject {
    const own = new Set(plan.secrets.fields.map(({ name }) => name))
    const given = Object.fromEntries(
      this.#assignments.flatMap((assignment) => {
        const [name, value] = readSecret(assignment, plan, process.env)
        if (!own.has(name)) return []
        this.#known.add(name)
        return [[name, value]]
      }),
    )
    const filed = Object.fromEntries(Object.entries(this.#file).filter(([name]) => own.has(name)))
    return { ...filed, ...given }
  }

  refuseUnknown(anyLoaded: boolean): void {
    if (!anyLoaded) return
    for (const assignment of this.#assignments) {
      const name = assignment.slice(0, assignment.indexOf("="))
      if (!this.#known.has(name)) throw new WrongValue(`--secret ${name}: no workflow here has a secret of that name.`)
    }
  }

  /** A placeholder goes to no backend: it would be refused there, far from the cause, or kept in a log. */
  refuseMissing(loaded: readonly LoadedTests[]): void {
    for (const { suite } of loaded) {
      for (const plan of [suite.tested.plan, suite.tested.judges]) {
        const [issue] = validateRequest({ ...plan, input: noInput }, {}, this.of(plan))?.issues ?? []
        if (issue === undefined) continue
        const [, name = "name"] = /^secrets\.(\w+)/.exec(issue.path) ?? []
        throw new WrongValue(
          `${suite.file}: ${issue.message}. Give it with --secret ${name}=env:VARIABLE, or with --secrets-file.`,
        )
      }
    }
  }
}

const noInput = { kind: "record", fields: [] } as const
