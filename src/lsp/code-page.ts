import { existsSync } from "node:fs"

/** The file with the page of a diagnostic's code; undefined in a checkout that is not built. Builds write these files beside the program, from docs/diagnostics.md. */
export function codePage(code: string): URL | undefined {
  const page = new URL(`codes/${code}.md`, import.meta.url)
  return existsSync(page) ? page : undefined
}
