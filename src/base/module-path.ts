/** The path from the root that a path as it is written leads to; null where it is not one, or leaves the root. */
export function resolveModule(from: string, written: string): string | null {
  const path = follow(from, written)
  return path === "outside" ? null : (path?.join("/") ?? null)
}

/** The same for a code file, as code and the function that is taken from it name one. */
export function resolveCode(from: string, written: string): string | null {
  const path = follow(from, written, codeFile)
  return path === "outside" ? null : (path?.join("/") ?? null)
}

/** Whether a path is well written, and leads out of the root. */
export function leavesRoot(from: string, written: string): boolean {
  return follow(from, written) === "outside"
}

function follow(from: string, written: string, ending = wireFile): string[] | "outside" | null {
  if (!/^\.\.?\//.test(written) || !isSpelledWell(written, ending)) return null
  const names = written.split("/")
  if (names.includes("")) return null
  const parts = from.split("/").slice(0, -1)
  for (const part of names) {
    if (part === "..") {
      if (parts.pop() === undefined) return "outside"
    } else if (part !== ".") parts.push(part)
  }
  return parts
}

/** Whether a text is the path of a file from the root: no `.`, `..`, backslash or leading `/`. */
export function isModulePath(path: string): boolean {
  return isSpelledWell(path, wireFile) && path.split("/").every((part) => part !== "" && part !== "." && part !== "..")
}

/** The same for a code file. */
export function isCodeModulePath(path: string): boolean {
  return isSpelledWell(path, codeFile) && path.split("/").every((part) => part !== "" && part !== "." && part !== "..")
}

/** The path as the file `from` writes it. */
export function writtenPath(from: string, path: string): string {
  const [here, there] = [from.split("/").slice(0, -1), path.split("/")]
  while (here.length > 0 && there.length > 1 && here[0] === there[0]) {
    here.shift()
    there.shift()
  }
  return [...(here.length === 0 ? ["."] : here.map(() => "..")), ...there].join("/")
}

// Control characters would make one path look like another in a message.
// oxlint-disable-next-line no-control-regex
const strange = /[\\\u0000-\u001f\u007f]/

const wireFile = /\.wire$/
const codeFile = /\.(?:js|ts)$/

function isSpelledWell(path: string, ending: RegExp): boolean {
  return ending.test(path) && path.length <= 1000 && !strange.test(path)
}
