import { inSourceOrder } from "./check/check.ts"
import { leavesRoot, resolveModule } from "./base/module-path.ts"
import { checkTests } from "./check/check-tests.ts"
import type { Program } from "./check/program.ts"
import type { FileTexts } from "./compile.ts"
import { plan } from "./plan/plan.ts"
import type { Plan } from "./plan/plan-shape.ts"
import { planTests, type TestPlan } from "./plan/plan-tests.ts"
import { diagnostic, isError, type Diagnostic } from "./source/diagnostic.ts"
import { parseWithTests } from "./syntax/test-parser.ts"
import type { Tree } from "./syntax/tree.ts"

export interface CompiledTests {
  readonly program: Program
  /** Everything that is wrong with the test file, in source order. */
  readonly diagnostics: readonly Diagnostic[]
  /** There are some when no diagnostic is an error, and the workflow was there. */
  readonly tests: readonly TestPlan[] | undefined
  /** Providers, models and secrets of the test file: a plan without steps, for its judges. */
  readonly judges: Plan | undefined
}

/** The workflow of a test file, by its path in the file or by its own name: `triage.test.wire` tests `./triage.wire`. */
export function testedFile(tree: Tree, name: string): string {
  for (const declaration of tree.declarations) {
    if (declaration.kind === "tests") return declaration.file.texts[0] ?? ""
  }
  return `./${name.replace(/\.test\.wire$/, ".wire")}`
}

export function isTestFile(path: string): boolean {
  return path.endsWith(".test.wire")
}

/** Where a test file stands: the files around it, and its path among them. */
export interface TestPlace {
  readonly texts: FileTexts
  readonly file: string
}

/** Text of a test file → tests. `tested` is given the path of the workflow, and gives its program if there is one. */
export function compileTests(
  text: string,
  name: string,
  tested: (path: string) => Program | undefined,
  place: TestPlace | null = null,
): CompiledTests {
  const { tree, diagnostics: syntax } = parseWithTests(text)
  const path = testedFile(tree, name)
  const workflow = tested(path)
  const { program, diagnostics: found } = checkTests(tree, workflow)
  const diagnostics = inSourceOrder([
    ...syntax,
    ...found,
    ...(workflow === undefined ? [missing(tree, path, place)] : []),
  ])
  const isRunnable = workflow !== undefined && !diagnostics.some(isError)
  return {
    program,
    diagnostics,
    tests: isRunnable ? planTests(program, workflow) : undefined,
    judges: isRunnable ? plan({ ...program, input: undefined, agents: new Map(), functions: new Map() }) : undefined,
  }
}

function missing({ declarations }: Tree, path: string, place: TestPlace | null): Diagnostic {
  const named = declarations.find((declaration) => declaration.kind === "tests")
  const span = named?.file ?? { start: 0, end: 0 }
  if (place !== null && leaves(place, path)) {
    const message = `The path ${JSON.stringify(path)} leaves the root folder`
    return diagnostic("unknown-reference", "tests", span, message, place.texts.rootRule)
  }
  const hint = 'Name the workflow at the head of the file: `tests "./other.wire"`.'
  return diagnostic("unknown-reference", "tests", span, `The workflow ${path} cannot be read`, hint)
}

/** By its own parts, or by a link. */
function leaves({ texts, file }: TestPlace, written: string): boolean {
  const path = resolveModule(file, written)
  return path === null ? leavesRoot(file, written) : texts.leaves?.(path) === true
}
