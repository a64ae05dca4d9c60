/** No call uses as many. Sums and costs of what a backend invents stay numbers that way. */
const most = 1_000_000_000

/** A number of tokens as a backend reports it; 0 for what cannot be one. */
export function tokenCount(value: unknown): number {
  return typeof value === "number" && value > 0 && value <= most ? Math.floor(value) : 0
}
