import type { Program } from "../../src/check/program.ts"
import { showType } from "../../src/types/show-type.ts"
import type { Type } from "../../src/types/types.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"
import { compileSample } from "../support/compile-sample.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/**
 * Everything that is wrong, one diagnostic a line, syntax errors included; `ok` if nothing is. Of a workflow without
 * errors also the types of its dynamic values and of its result.
 */
export function render(source: string): string {
  const { diagnostics, program } = compileSample(source)
  const problems = diagnostics.length === 0 ? "ok" : renderDiagnostics(diagnostics, new LineMap(source))
  const types = diagnostics.some(isError) ? [] : typesOf(program)
  return types.length === 0 ? problems : [problems, "", ...types].join("\n")
}

function typesOf({ dynamics, agents, asks, output }: Program): string[] {
  const line = (name: string, type: Type): string => `${name}: ${showType(type, 400)}`
  return [
    ...[...dynamics].map(([name, { type }]) => line(`dynamic.${name}`, type)),
    ...[...agents].flatMap(([agent, { variables, locals }]) => [
      ...[...variables].map(([name, { type }]) => line(`agent.${agent} for ${name}`, type)),
      ...[...locals].map(([name, { type }]) => line(`agent.${agent}.dynamic.${name}`, type)),
    ]),
    ...[...asks].flatMap(([ask, { type, variables }]) => [
      line(`ask.${ask}`, type),
      ...[...variables].map(([name, variable]) => line(`ask.${ask} for ${name}`, variable.type)),
    ]),
    ...(output?.type.fields ?? []).map(({ name, type }) => line(`output.${name}`, type)),
  ]
}
