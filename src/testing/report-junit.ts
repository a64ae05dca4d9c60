import { visibleLines, visibleText } from "../base/visible-text.ts"
import { distinctFailures, totalsOf, type Report } from "./report.ts"
import { nameOf } from "./run-suites.ts"

/** JUnit's XML, as CI systems read it: a suite for each file. */
export function reportJunit({ results, broken, lineOf }: Report): string {
  const files = [...new Set([...results, ...broken].map(({ file }) => file))]
  const seconds = (ms: number): string => (ms / 1000).toFixed(3)
  const suites = files.map((file) => {
    const own = results.filter((result) => result.file === file)
    const problems = broken.filter((one) => one.file === file)
    const { failed, duration_ms } = totalsOf(own)
    const cases = [
      ...own.map((result) => {
        const head = `    <testcase classname="${inAttribute(file)}" name="${inAttribute(nameOf(result))}" file="${inAttribute(file)}" line="${result.line}" time="${seconds(result.duration_ms)}"`
        const found = result.passed ? [] : distinctFailures(result)
        if (found.length === 0) return `${head}/>`
        const text = found.map(({ failure }) =>
          [`${file}:${lineOf(file, failure.at)}: ${failure.text}`, ...failure.details].join("\n"),
        )
        const message = found[0]?.failure.text ?? ""
        return `${head}>\n      <failure message="${inAttribute(message)}">${inElement(text.join("\n\n"))}</failure>\n    </testcase>`
      }),
      ...problems.map(
        ({ problem }) =>
          `    <testcase classname="${inAttribute(file)}" name="${inAttribute(file)}">\n      <error message="${inAttribute(problem.split("\n")[0] ?? "")}">${inElement(problem)}</error>\n    </testcase>`,
      ),
    ]
    const counts = `tests="${own.length + problems.length}" failures="${failed}" errors="${problems.length}"`
    return `  <testsuite name="${inAttribute(file)}" ${counts} time="${seconds(duration_ms)}">\n${cases.join("\n")}\n  </testsuite>`
  })
  const { failed, duration_ms } = totalsOf(results)
  const counts = `tests="${results.length + broken.length}" failures="${failed}" errors="${broken.length}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="wire test" ${counts} time="${seconds(duration_ms)}">\n${suites.join("\n")}\n</testsuites>`
}

/** Lines stay in what an element holds; an attribute is one line. */
const inElement = (text: string): string => escape(visibleLines(text))
const inAttribute = (text: string): string => escape(visibleText(text))

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}
