/**
 * A header such as `Accept` or `Accept-Encoding`: each entry, in lower case and without its parameters, with its quality.
 * Splits instead of matching: the time is linear in the header's length, whatever it holds.
 */
export function readQualityList(header: string | undefined): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>()
  for (const entry of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = entry.split(";").map((part) => part.trim())
    qualities.set(name, qualityOf(parameters))
  }
  return qualities
}

function qualityOf(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=", 2)
    if (name.trimEnd() !== "q") continue
    const quality = Number(value)
    return Number.isNaN(quality) ? 1 : quality
  }
  return 1
}
