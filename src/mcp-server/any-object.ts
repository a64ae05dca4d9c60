import type { StandardSchemaV1 } from "@modelcontextprotocol/server"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject } from "../base/json-value.ts"

/** For methods whose handlers judge their parameters themselves. */
export const anyObject: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "wireworks",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "expected an object" }] }),
  },
}
