import { check } from "../../src/check/check.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"
import { fitsStrict, toStrictSchema } from "../../src/types/strict-schema.ts"
import type { Type } from "../../src/types/types.ts"
import { LineMap } from "../../src/source/line-map.ts"
import { parse } from "../../src/syntax/parser.ts"
import { prettyJson } from "./pretty-json.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/**
 * The JSON Schemas of the workflow's blocks: `input`, `secrets`, what agents, questions and tools take and give, `output`. Of an
 * agent's output also how a strict backend would get it. A workflow with errors has its errors instead.
 */
export function render(source: string): string {
  const { tree, diagnostics: syntaxErrors } = parse(source)
  const { program, diagnostics } = check(tree)
  const errors = [...syntaxErrors, ...diagnostics].filter(({ severity }) => severity === "error")
  if (errors.length > 0) return renderDiagnostics(errors, new LineMap(source))

  const { types } = program
  const plain = (title: string, type: Type): string => `${title}\n${prettyJson(toJsonSchema(type, types))}`
  const out: string[] = []
  if (program.input !== undefined) out.push(plain("input", program.input.type))
  if (program.secrets !== undefined) out.push(plain("secrets", program.secrets.type))
  for (const [name, tool] of program.tools) {
    if (tool.input !== undefined) out.push(plain(`tool.${name}.input`, tool.input))
    if (tool.output !== undefined) out.push(plain(`tool.${name}.output`, tool.output))
  }
  for (const [name, { output }] of program.agents) {
    out.push(plain(`agent.${name}.output`, output))
    const fit = fitsStrict(output, types)
    if (!fit.fits) out.push(`not strict: ${fit.reason}`)
    else if (prettyJson(toStrictSchema(output, types)) === prettyJson(toJsonSchema(output, types)))
      out.push("strict: the same")
    else out.push(`strict:\n${prettyJson(toStrictSchema(output, types))}`)
  }
  for (const [name, { output }] of program.asks) out.push(plain(`ask.${name}.output`, output))
  if (program.output !== undefined) out.push(plain("output", program.output.type))
  return out.length === 0 ? "(nothing)" : out.join("\n\n")
}
