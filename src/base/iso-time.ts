let second = Number.NaN
let prefix = ""

/** `new Date(ms).toISOString()`, for callers that ask for nearly the same time again and again. */
export function isoTime(ms: number): string {
  const whole = Math.floor(ms / 1000)
  if (whole !== second) {
    prefix = new Date(whole * 1000).toISOString().slice(0, -4)
    second = whole
  }
  const rest = Math.floor(ms) - whole * 1000
  return `${prefix}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`
}
