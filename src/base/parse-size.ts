const units: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

/** `8mb`, `512kb`, `100b`, or bytes without a unit → bytes; undefined for anything else. A kb is 1024 bytes. */
export function parseSize(text: string): number | undefined {
  const [, digits, unit = "b"] = /^(\d{1,9})(b|kb|mb|gb)?$/.exec(text.toLowerCase()) ?? []
  const factor = units[unit]
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}
