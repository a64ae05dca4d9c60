export interface RandomSource {
  /** At least 128 random bits, URL-safe. */
  id(): string
  /** Uniform in [0, 1). */
  fraction(): number
}
