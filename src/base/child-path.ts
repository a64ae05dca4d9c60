import { cutText } from "./cut-text.ts"
import { isIdentifier } from "./identifier.ts"

/** The place of a field or element of the value at `path`: `input.files`, `input.files[2]`, `input["X-Trace"]`. */
export function childPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`
  if (!isIdentifier(key)) return `${path}[${JSON.stringify(cutText(key, 64))}]`
  const name = cutText(key, 64)
  return path === "" ? name : `${path}.${name}`
}
