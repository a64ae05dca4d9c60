import { parseInOrder } from "../../base/ordered-object.ts"
import { basename, dirname, join } from "node:path"
import { safeFileName } from "../../base/file-name.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { isLie, mediaTypeOfName, telltaleBytes } from "../../base/media-type.ts"
import { fixtureOf, type Fixture } from "../../testing/fixtures.ts"
import { compileFile, rootFor } from "../../compiler/folder-texts.ts"
import { testedFile } from "../../compile-tests.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import type { TestPlan } from "../../plan/plan-tests.ts"
import { LineMap } from "../../source/line-map.ts"
import { placeholderSecrets } from "../../testing/placeholder-secrets.ts"
import type { Suite } from "../../testing/run-suites.ts"
import type { Row } from "../../testing/run-test.ts"
import { compileTestFile, diagnosisOf } from "./diagnose.ts"
import type { FoundSource } from "./find-sources.ts"
import { readFoundBytes, readFoundFile } from "./read-file.ts"
import { readFoundSource, readSource } from "./read-source.ts"
import { showIssue, showProblem } from "../terminal/show-issue.ts"
import type { Palette } from "../terminal/terminal.ts"

/** Of a file that a test gives to a run: what a service takes unless it is told otherwise. */
const fixtureBytes = 64 * 1024 * 1024

/** Why a test file cannot run: lines for people. */
export class CannotTest extends Error {}

export interface LoadedTests {
  readonly suite: Suite
  /** Everything that the tests are made of: a change of one of them is a reason to run them again. */
  readonly files: readonly string[]
}

/** A test file with its workflow, as `change` has it, and its data. Throws `CannotTest`. */
export function loadTests(
  { file, root: given }: FoundSource,
  secretsOf: (plan: Plan) => JsonObject,
  palette: Palette,
  change: (source: string) => string = (source) => source,
): LoadedTests {
  const root = rootFor(file, given)
  const source = readSource(file)
  if (source.text === null) throw new CannotTest(showProblem(file, source.problem, palette))
  const compiled = compileTestFile(file, source.text, root)
  refuseErrors(file, source.text, compiled.diagnostics, palette)
  const workflow = join(dirname(file), testedFile(compiled.program.tree, basename(file)))
  const tested = readFoundSource(workflow, root)
  if (tested.text === null) throw new CannotTest(showProblem(workflow, tested.problem, palette))
  const changed = change(tested.text)
  const { plan, diagnostics, text, paths: modulePaths } = compileFile(workflow, changed, root)
  refuseErrors(workflow, changed, diagnostics, palette)
  const { tests, judges } = compiled
  if (plan === undefined || tests === undefined || judges === undefined) {
    throw new Error(`${file} has no errors, and cannot run`)
  }
  const lines = new LineMap(source.text)
  const data = new Map<string, readonly Row[]>()
  const rowsOf = ({ rows }: TestPlan): readonly Row[] | null => {
    if (rows === null) return null
    const path = join(dirname(file), rows.file)
    const known = data.get(path) ?? readRows(path, root, file, lines.position(rows.span.start).line, palette)
    data.set(path, known)
    return known
  }
  const fixtures = new Map<string, Fixture>()
  const paths = new Set<string>()
  for (const { path, span } of tests.flatMap((test) => test.fixtures)) {
    const found = join(dirname(file), path)
    paths.add(found)
    if (!fixtures.has(path)) {
      fixtures.set(path, readFixture(found, root, `${file}:${lines.position(span.start).line}`, palette))
    }
  }
  return {
    suite: {
      file,
      lines,
      tested: {
        ...text,
        fixtures,
        plan,
        secrets: withPlaceholders(plan, secretsOf(plan)),
        judges,
        judgeSecrets: withPlaceholders(judges, secretsOf(judges)),
      },
      tests: tests.map((test) => ({ plan: test, rows: rowsOf(test) })),
    },
    files: [file, ...modulePaths, ...data.keys(), ...paths],
  }
}

/** Keeps given values that the workflow declares, and fills the rest with placeholders of the right type. */
function withPlaceholders(plan: Plan, given: JsonObject): JsonObject {
  const all = placeholderSecrets(plan.secrets, plan.types)
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, given[name] ?? value]))
}

function refuseErrors(file: string, text: string, found: Parameters<typeof diagnosisOf>[1], palette: Palette): void {
  const { lines, issues } = diagnosisOf(text, found)
  const errors = issues.filter(({ severity }) => severity === "error")
  if (errors.length === 0) return
  throw new CannotTest(errors.map((issue) => showIssue(file, text, lines, issue, palette)).join("\n\n"))
}

/** The rows of a `.jsonl` file, or of an array in a `.json` file, with the lines that they begin on. */
function readRows(path: string, root: string, by: string, line: number, palette: Palette): readonly Row[] {
  const refuse = (problem: string): CannotTest =>
    new CannotTest(showProblem(path, `${problem} (data of ${by}:${line})`, palette))
  const read = readFoundFile(path, root)
  if (read.text === null) throw refuse(read.problem)
  const text = read.text.replace(/^\uFEFF/, "")
  const parse = (json: string, at: number): JsonValue => {
    try {
      return parseInOrder(json) as JsonValue
    } catch {
      throw refuse(`line ${at} is not JSON`)
    }
  }
  const rows: Row[] = []
  if (path.endsWith(".json")) {
    const value = parse(text, 1)
    if (!Array.isArray(value)) throw refuse("it does not hold an array")
    const starts = elementLines(text)
    for (const [index, item] of value.entries())
      rows.push({ file: path, line: starts[index] ?? 1, position: index, value: item })
  } else {
    for (const [index, json] of text.split(/\r?\n/).entries()) {
      if (json.trim() !== "")
        rows.push({ file: path, line: index + 1, position: rows.length, value: parse(json, index + 1) })
    }
  }
  if (rows.length === 0) throw refuse("it holds no rows")
  return rows
}

/** The lines that the elements of an array begin on, in a text that is valid JSON. */
function elementLines(text: string): number[] {
  const lines = new LineMap(text)
  const found: number[] = []
  let depth = 0
  let expects = false
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},:]+/g)) {
    const closes = token === "]" || token === "}"
    if (depth === 1 && expects && !closes && token !== ",") {
      found.push(lines.position(index).line)
      expects = false
    }
    if (token === "[" || token === "{") depth++
    else if (closes) depth--
    if (depth === 1 && (token === "," || (token === "[" && found.length === 0))) expects = true
  }
  return found
}

/** A file that a test gives to a run. Its name decides its media type. */
function readFixture(path: string, root: string, by: string, palette: Palette): Fixture {
  const refuse = (why: string): CannotTest => new CannotTest(showProblem(path, `${why} (file of ${by})`, palette))
  const read = readFoundBytes(path, root, fixtureBytes)
  if (read.bytes === null) throw refuse(read.problem)
  const name = safeFileName(basename(path))
  const mediaType = mediaTypeOfName(name) ?? "application/octet-stream"
  if (isLie(mediaType, read.bytes.subarray(0, telltaleBytes))) throw refuse(`its contents are not ${mediaType}`)
  return fixtureOf(name, mediaType, read.bytes)
}
