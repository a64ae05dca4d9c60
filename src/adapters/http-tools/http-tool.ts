import type { JsonObject } from "../../base/json-value.ts"
import type { HostedTool, ImportedHttp, ImportedTool } from "../../ports/tools.ts"
import { toJsonSchema } from "../../types/json-schema.ts"
import { nullable } from "../../types/relations.ts"
import type { RecordType, TypeTable } from "../../types/types.ts"
import { validateValue } from "../../types/validate-value.ts"

/** Methods that may be repeated: the same request once more changes nothing. */
const repeatable = new Set(["GET", "PUT", "DELETE"])

/** Whether a call that failed or was interrupted may be made again. */
export function mayRepeat({ method, idempotent }: ImportedHttp): boolean {
  return idempotent || repeatable.has(method)
}

/** A tool of an api. All that is known of it is what the workflow declares. */
export function httpTool(imported: ImportedTool, http: ImportedHttp, types: TypeTable): HostedTool {
  const { input, output } = imported
  const record: RecordType = input?.kind === "record" ? input : { kind: "record", fields: [] }
  const schema = toJsonSchema(record, types)
  const required = record.fields.filter(({ type }) => !nullable(type, types)).map(({ name }) => name)
  const parameters: JsonObject = { ...schema, required }
  const { description, ...request } = http
  return {
    definition: {
      name: imported.remote,
      description,
      inputSchema: schema,
      outputSchema: output === null ? null : toJsonSchema(output, types),
      http: request as object as JsonObject,
    },
    description: description ?? "",
    parameters,
    typed: false,
    idempotent: mayRepeat(http),
    retries: true,
    fit: (values) => values,
    checkArguments(values, partial) {
      // An argument that may be null may be left out.
      const expected = record.fields.filter(
        ({ name }) => Object.hasOwn(values, name) || (partial === undefined && required.includes(name)),
      )
      return validateValue(values, { kind: "record", fields: expected }, types, "").map(
        ({ path, expected, found }) => ({
          path,
          message: `expected ${expected}, found ${found}`,
        }),
      )
    },
    checkResult: () => [],
  }
}
