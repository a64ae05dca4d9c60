import { createHash } from "node:crypto"

/** The version of a workflow: of the texts of all files that it needs, in the order of their paths. */
export function versionOf(texts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256")
  for (const text of texts) hash.update(text)
  return hash.digest("hex").slice(0, 12)
}
