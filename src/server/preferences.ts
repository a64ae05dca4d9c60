/**
 * The names of the preferences in a `Prefer` header (RFC 7240), in lower case and without values. Quoted strings are removed
 * first: they may contain commas.
 */
export function preferencesOf(header: string | string[] | undefined): ReadonlySet<string> {
  if (header === undefined) return none
  const text = Array.isArray(header) ? header.join(",") : header
  const names = text
    .replace(/"(?:[^"\\]|\\.)*"/g, "")
    .toLowerCase()
    .split(",")
    .map((preference) => (preference.split(/[;=]/, 1)[0] ?? "").trim())
  return new Set(names)
}

const none: ReadonlySet<string> = new Set()
