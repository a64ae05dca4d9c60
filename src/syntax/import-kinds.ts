import type { Chain, ImportKind, InvokeNode, RemotePath } from "./tree.ts"

/** The kinds of things that a workflow imports from MCP servers. */
export const importKinds: readonly ImportKind[] = ["tool", "resource", "prompt"]

/** The word that invokes each. */
export const verbs: Readonly<Record<ImportKind, Exclude<InvokeNode["kind"], "repeat">>> = {
  tool: "call",
  resource: "read",
  prompt: "render",
}

export function importKindOf(word: string): ImportKind | undefined {
  return importKinds.find((kind) => kind === word)
}

/** Whether a reference names another file: `workflow.triage`. */
export function isWorkflow({ base }: Chain): boolean {
  return base.kind === "name" && base.text === "workflow"
}

/** Which properties the block of an import has. */
export function placeOfImport(importKind: ImportKind, { word }: RemotePath): ImportKind | "http-tool" {
  return importKind === "tool" && word === "api" ? "http-tool" : importKind
}
