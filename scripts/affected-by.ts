import { posix } from "node:path"

/**
 * The files whose types may have changed: the changed ones, and all that import them, directly or not. A quoted relative path counts as
 * an import wherever it stands: in comments too, because JSDoc imports types there. Who adds types to a package (`declare module`) is
 * imported by all who import the package. `files` maps each path to its text; changed files that are gone are not in it.
 */
export function affectedBy(changed: Iterable<string>, files: ReadonlyMap<string, string>): Set<string> {
  const importers = importersOfEach(files)
  const affected = new Set<string>()
  const waiting = [...changed]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (affected.has(path)) continue
    if (declaresForAll(path, files.get(path) ?? "")) return new Set(files.keys())
    affected.add(path)
    waiting.push(...(importers.get(path) ?? []))
  }
  return new Set([...affected].filter((path) => files.has(path)))
}

function importersOfEach(files: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>()
  const add = (target: string, importer: string): void => {
    const known = importers.get(target)
    if (known === undefined) importers.set(target, new Set([importer]))
    else known.add(importer)
  }
  for (const [path, text] of files) {
    for (const [, specifier = ""] of text.matchAll(/["'](\.{1,2}\/[^"'\n]+)["']/g)) {
      add(posix.join(posix.dirname(path), specifier), path)
    }
    for (const [, name = ""] of text.matchAll(/^\s*declare module "([^"]+)"/gm)) {
      for (const [other, content] of files) if (content.includes(`"${name}"`)) add(path, other)
    }
  }
  return importers
}

function declaresForAll(path: string, text: string): boolean {
  return /\.d\.[cm]?ts$/.test(path) || /^\s*declare global\b/m.test(text)
}
