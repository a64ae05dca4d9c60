import { aboutError } from "../base/about-error.ts"

/** A bug of ours as the terminal shows it: without the error's message, which may quote a secret. */
export function bugReport(error: unknown): string {
  const { type, code, stack } = aboutError(error)
  return [code === undefined ? type : `${type} (${code})`, ...(stack === undefined ? [] : [stack])].join("\n")
}
