import type { ImportKind, RemotePath } from "./tree.ts"

/** Which properties the block of an import has. */
export function placeOfImport(importKind: ImportKind, { word }: RemotePath): ImportKind | "http-tool" {
  return importKind === "tool" && word === "api" ? "http-tool" : importKind
}
