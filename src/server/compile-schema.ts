import { Ajv, type AnySchema, type ValidateFunction } from "ajv"

const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  addUsedSchema: false,
  // The schemas are ours: checking them, and making the code that checks by them as fast as it can be, takes longer than it saves.
  validateSchema: false,
  meta: false,
  code: { optimize: false },
})

/** A function that checks values by a JSON Schema. */
export function compileSchema(schema: AnySchema): ValidateFunction {
  return ajv.compile(schema)
}
