import { bugReport } from "./bug-report.ts"

/** Writes a line (or lines) to standard error. */
export function complain(lines: string): void {
  process.stderr.write(`${lines}\n`)
}

export function reportBug(error: unknown): void {
  complain(`This is a bug in wireworks:\n${bugReport(error)}`)
}
