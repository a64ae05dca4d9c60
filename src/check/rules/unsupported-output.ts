import { holdsFile } from "../../types/holds-file.ts"
import type { RecordType } from "../../types/types.ts"
import type { CheckContext } from "../check-context.ts"

const nobody = {
  agent: {
    code: "unsupported-output",
    message: "The model of this agent makes no files",
    hint: "Let the agent write text, and make the file of it: `make_file(name, text)`.",
  },
  ask: {
    code: "type-mismatch",
    message: "An answer to a question has no files",
    hint: "Take the file as an `input` of the workflow.",
  },
  wait: {
    code: "type-mismatch",
    message: "An event has no files",
    hint: "Take the file as an `input` of the workflow.",
  },
  secrets: { code: "type-mismatch", message: "A file is not a secret", hint: "Declare it in `input { }`." },
} as const

/** Reports fields of files where nobody gives any. */
export function refuseFileFields(
  checking: CheckContext,
  fields: RecordType,
  where: keyof typeof nobody,
  path: string,
): void {
  for (const field of fields.fields) {
    const node = checking.fieldNodes.get(field)
    if (node?.kind !== "type-field" || !holdsFile(field.type, checking.types)) continue
    const { code, message, hint } = nobody[where]
    checking.report(code, `${path}.${field.name}`, node.type, message, hint)
  }
}
