import type { Diagnostic } from "../source/diagnostic.ts"
import { layOutTree } from "./format/declaration-layout.ts"
import { importsFirst } from "./format/imports-first.ts"
import { printLayout } from "./format/print.ts"
import { parseWithTests } from "./test-parser.ts"
import type { Tree } from "./tree.ts"

/** Tree → canonical text. The tree must be without syntax errors. */
export function format(tree: Tree): string {
  const sorted = importsFirst(tree)
  return printLayout(layOutTree(sorted === undefined ? tree : parseWithTests(sorted).tree))
}

export type Formatted =
  | { readonly formatted: string; readonly changed: boolean }
  /** The text is broken: it is left alone. */
  | { readonly diagnostics: readonly Diagnostic[] }

export function formatText(text: string): Formatted {
  const { tree, diagnostics } = parseWithTests(text)
  if (diagnostics.length > 0) return { diagnostics }
  const formatted = format(tree)
  return { formatted, changed: formatted !== text }
}
