/** One import, re-export or dynamic import of a module, `type` ones included. */
export interface Import {
  readonly specifier: string
  readonly line: number
}

/**
 * The modules that a TypeScript text imports. A scan, not a parse: comments are skipped, and only a specifier that
 * follows `from`, `import` or `import(` outside of a string counts.
 */
export function importsOf(text: string): Import[] {
  const found: Import[] = []
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|`(?:\\[\s\S]|[^`\\])*`|(?:\b(from|import)\s*\(?\s*)?(?:"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)')/g
  for (const match of text.matchAll(token)) {
    const specifier = match[2] ?? match[3]
    if (match[1] === undefined || specifier === undefined) continue
    if (match[1] === "from" && !followsImportClause(text, match.index)) continue
    found.push({ specifier, line: text.slice(0, match.index + match[0].length).split("\n").length })
  }
  return found
}

/** Whether the `from` at this offset ends `import … from` or `export … from`, and is not a mere word of the code. */
function followsImportClause(text: string, at: number): boolean {
  return /(?:^|[\n;])\s*(?:import|export)\s(?:[\w$*,\s]|\{[^{}]*\})*$/.test(text.slice(Math.max(0, at - 4000), at))
}
