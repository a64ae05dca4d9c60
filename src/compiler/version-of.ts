import { createHash } from "node:crypto"

/** The version of a workflow: of the texts of all files that it needs, in the order of their paths. */
export function versionOf(texts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256")
  for (const text of texts) hash.update(text)
  return hash.digest("hex").slice(0, 12)
}

/** The version of a workflow in full, over paths, lengths and texts: no other files have it, whatever stands in them. */
export function fullVersionOf(main: string, texts: Readonly<Record<string, string>>): string {
  const hash = createHash("sha256")
  for (const part of [
    main,
    ...Object.keys(texts)
      .toSorted()
      .flatMap((path) => [path, texts[path] ?? ""]),
  ]) {
    hash.update(`${Buffer.byteLength(part)} `).update(part)
  }
  return hash.digest("hex")
}
