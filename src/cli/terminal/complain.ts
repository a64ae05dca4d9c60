import { standardError } from "./screen.ts"
import { aboutError } from "../../base/about-error.ts"

/** Writes a line (or lines) to standard error. */
export function complain(lines: string): void {
  standardError.print(lines)
}

export function reportBug(error: unknown): void {
  complain(`This is a bug in wireworks:\n${bugReport(error)}`)
}

/** A bug of ours as the terminal shows it: without the error's message, which may quote a secret. */
export function bugReport(error: unknown): string {
  const { type, code, stack } = aboutError(error)
  return [code === undefined ? type : `${type} (${code})`, ...(stack === undefined ? [] : [stack])].join("\n")
}
