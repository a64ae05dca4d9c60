import { currentOf, isCandidatePath } from "../../src/base/candidate-path.ts"
import { compile, type Compiled } from "../../src/compile.ts"
import { compiledBeside } from "../../src/diff/check-candidate.ts"
import { sampleModules, sampleRules } from "./sample-modules.ts"

/** Compiles a workflow of a case or of the documentation, with the files that those use. That of a candidate says so in its first line. */
export function compileSample(source: string, others: Readonly<Record<string, string>> = {}, saved?: string): Compiled {
  const modules = { ...sampleModules, ...others }
  const [, file = saved] = /^\/\/ file: (\S+)/.exec(source) ?? []
  const compiled = compile(source, { modules, file }, undefined, undefined, sampleRules(source))
  if (file === undefined || !isCandidatePath(file)) return compiled
  const current = modules[currentOf(file)]
  return compiledBeside(compiled, current === undefined ? undefined : compile(current, { modules }))
}
