import type { FastifyInstance } from "fastify"
import { formatBody, noQuery, validateBody } from "../../api/schemas.ts"
import type { FormatAnswer, FormatBody, ValidateAnswer, ValidateBody, ValidateIssue } from "../../api/shapes.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import { validateValue } from "../../types/validate-value.ts"
import { compile } from "../../compile.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { secretsOverLimits } from "../../run/secrets/secret-limits.ts"
import { prepare } from "../../plan/prepare.ts"
import { isError, toIssue } from "../../source/diagnostic.ts"
import { LineMap } from "../../source/line-map.ts"
import { formatText } from "../../syntax/format.ts"
import { HttpError } from "../http-error.ts"
import { prefers } from "../prefers.ts"
import { sourceTypes } from "../read-body.ts"
import { readSource } from "../read-source.ts"
import { sourceError } from "../source-error.ts"

const plain = { schema: { type: "string" } }
const plainOrJson = (schema: object) => ({
  content: { "application/json": { schema }, ...Object.fromEntries(sourceTypes.map((type) => [type, plain])) },
})

/** `POST /validate` and `POST /format`: what can be said of a source without running it. */
export function sourceRoutes(app: FastifyInstance): void {
  app.post(
    "/validate",
    { schema: { body: plainOrJson(validateBody), querystring: noQuery }, config: { body: "source" } },
    (request) => validate(request.body as ValidateBody | string),
  )

  app.post(
    "/format",
    { schema: { body: plainOrJson(formatBody), querystring: noQuery }, config: { body: "source" } },
    (request, reply) => {
      const text = readSource(request.body as FormatBody | string)
      const outcome = formatText(text)
      if ("diagnostics" in outcome) throw new HttpError(sourceError(text, outcome.diagnostics))
      const asText = prefers(request.headers.accept ?? "", "text/plain", "application/json")
      if (asText) return reply.type("text/plain; charset=utf-8").send(outcome.formatted)
      return { formatted_workflow_source: outcome.formatted, changed: outcome.changed } satisfies FormatAnswer
    },
  )
}

function validate(body: ValidateBody | string): ValidateAnswer {
  const text = readSource(body)
  const { program, diagnostics, plan } = compile(text)
  const lines = new LineMap(text)
  const issues: ValidateIssue[] = diagnostics.map((found) => toIssue(found, lines))
  if (typeof body !== "string") {
    const given = [
      { name: "input", value: body.input, type: program.input?.type, values: "shown" },
      { name: "secrets", value: body.secrets, type: program.secrets?.type, values: "hidden" },
    ] as const
    for (const { name, value, type, values } of given) {
      if (value === undefined || value === null) continue
      const misfits = validateValue(value, type ?? { kind: "record", fields: [] }, program.types, name, { values })
      for (const { path, message, hint } of misfits) {
        const issue = { code: "type-mismatch", severity: "error", path, message } as const
        issues.push(hint === undefined ? issue : { ...issue, hint })
      }
    }
    for (const { path, message } of secretsOverLimits(body.secrets ?? {})) {
      issues.push({ code: "type-mismatch", severity: "error", path, message })
    }
  }
  const valid = !issues.some(isError)
  if (!valid || plan === undefined) return { valid: false, issues, plan: null, schemas: null }
  return { valid, issues, plan: planView(plan), schemas: schemasOf(plan) }
}

function planView(plan: Plan): ValidateAnswer["plan"] {
  const nodes = prepare(plan).planned
  return { nodes, edges: nodes.flatMap((node) => node.depends_on.map((from) => ({ from, to: node.id }))) }
}

function schemasOf(plan: Plan): ValidateAnswer["schemas"] {
  return {
    input: toJsonSchema(plan.input, plan.types),
    secrets: toJsonSchema(plan.secrets, plan.types),
    output: toJsonSchema(plan.output, plan.types),
  }
}
