import { readdirSync, realpathSync } from "node:fs"
import { join, relative, resolve, sep } from "node:path"

/** Where a path of a project leads: to a real path; out of the root, by its own parts or by a link; or to nothing of this very name. */
export type ProjectPath = { readonly real: string } | { readonly problem: "outside" | "missing" }

/**
 * The one rule for every path that a file of a project names, and for every file that is found in it: imports, tested workflows, tables of
 * tests, recordings, what is formatted, what an editor asks for. Names are compared to the letter, also where the file system is not so strict.
 */
export function findInProject(
  root: string,
  path: string,
  namesIn: (folder: string) => ReadonlySet<string> = listNames,
): ProjectPath {
  const above = resolve(root)
  const file = resolve(above, path)
  if (!isInside(above, file)) return { problem: "outside" }
  try {
    const real = realpathSync(file)
    if (!isInside(realpathSync(above), real)) return { problem: "outside" }
    const names = relative(above, file).split(sep)
    const isThere = names.every((name, at) => namesIn(join(above, ...names.slice(0, at))).has(name))
    return isThere ? { real } : { problem: "missing" }
  } catch {
    return { problem: "missing" }
  }
}

/** Why such a path is not used, as a clause after the path. */
export function whyNotInProject(root: string, problem: "outside" | "missing"): string {
  return problem === "missing"
    ? "does not exist"
    : `is outside of ${resolve(root)}: give the command a folder above it, or mark one with \`wireworks.json\``
}

export function listNames(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder))
  } catch {
    return new Set<string>()
  }
}

export function isInside(root: string, path: string): boolean {
  return path.startsWith(root.endsWith(sep) ? root : root + sep)
}
