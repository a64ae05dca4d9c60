import { hasDotSegment } from "../base/has-dot-segment.ts"

export const httpMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const
export type HttpMethod = (typeof httpMethods)[number]

/** `"GET /contacts/{id}"` */
export interface HttpRoute {
  readonly method: HttpMethod
  readonly path: string
  /** The names in braces, each once. */
  readonly names: readonly string[]
}

export interface BadRoute {
  readonly problem: string
  readonly hint: string
}

const example = 'Write a method and a path, such as `"GET /contacts/{id}"`.'

/** Reads what stands in quotes after the name of an api. */
export function readRoute(text: string): HttpRoute | BadRoute {
  const gap = text.indexOf(" ")
  const [word, path] = gap < 0 ? [text, ""] : [text.slice(0, gap), text.slice(gap + 1)]
  const method = httpMethods.find((one) => one === word)
  if (method === undefined) {
    const upper = httpMethods.find((one) => one === word.toUpperCase())
    const hint = upper === undefined ? `It is one of ${httpMethods.join(", ")}.` : `Write \`${upper}\` in capitals.`
    return word === "" || word.startsWith("/")
      ? { problem: "The method is missing", hint: example }
      : { problem: `Unknown method: ${word}`, hint }
  }
  const bad = (problem: string, hint = example): BadRoute => ({ problem, hint })
  if (!path.startsWith("/")) return bad("The path begins with `/`")
  if (path.startsWith("//")) return bad("The path begins with one `/`, not with two")
  if (/[?#]/.test(path)) return bad("A path has no query and no fragment", "Declare the parameters in `input { }`.")
  if (/[\s\\\p{Cc}]/u.test(path)) return bad("A path has no blanks and no backslashes")
  const names = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name)
  const fixed = path.replaceAll(/\{[^{}]+\}/g, "x")
  if (/[{}]/.test(fixed)) return bad("A part of a path is a name in braces", "Write it like `{id}`.")
  if (hasDotSegment(fixed)) return bad("A segment `.` or `..` would lead to another path", "Write the path without it.")
  return { method, path, names: [...new Set(names)] }
}

export function isRoute(route: HttpRoute | BadRoute): route is HttpRoute {
  return "method" in route
}
