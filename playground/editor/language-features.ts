import type { Extension } from "@codemirror/state"

/** Completion, hover, definition, rename and the like, from the functions of `src/editor`. */
export function languageFeatures(): Extension {
  return []
}
