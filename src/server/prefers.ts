import { readQualityList } from "./quality-list.ts"

/** Whether an `Accept` header would rather have the first media type than the second, which is the usual one. */
export function prefers(accept: string, wanted: string, usual: string): boolean {
  const given = readQualityList(accept)
  const [a, b] = [match(given, wanted), match(given, usual)]
  return a.quality === b.quality ? a.quality > 0 && a.named && !b.named : a.quality > b.quality
}

/** The most specific entry counts. */
function match(
  given: ReadonlyMap<string, number>,
  type: string,
): { readonly quality: number; readonly named: boolean } {
  const named = given.get(type)
  if (named !== undefined) return { quality: named, named: true }
  return { quality: given.get(type.replace(/\/.*/, "/*")) ?? given.get("*/*") ?? 0, named: false }
}
