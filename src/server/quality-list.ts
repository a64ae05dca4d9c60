/**
 * A header such as `Accept` or `Accept-Encoding`: each entry, in lower case and without its parameters, with its quality.
 * Splits instead of matching: the time is linear in the header's length, whatever it holds.
 */
export function readQualityList(header: string | undefined): ReadonlyMap<string, number> {
  if (header === undefined) return nothingAsked
  const qualities = new Map<string, number>()
  for (const entry of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim())
    qualities.set(name, qualityOf(parameters))
  }
  return qualities
}

const nothingAsked: ReadonlyMap<string, number> = new Map([["", 1]])

function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=", 2)
    if (name.trimEnd() !== "q") continue
    const quality = Number(value)
    return Number.isNaN(quality) ? 1 : quality
  }
  return 1
}

/** Whether an `Accept` header prefers the first media type to the second, which is the default. */
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
