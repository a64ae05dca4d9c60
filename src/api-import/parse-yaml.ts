import { parse, YAMLError } from "yaml"

/** The value of a text in YAML; undefined for a text that is none. Nesting is bounded before: see `readDocument`. */
export function parseYaml(text: string): unknown {
  try {
    // Aliases can make a gigabyte of a kilobyte: few are followed.
    return parse(text, { maxAliasCount: 100, logLevel: "error" })
  } catch (error) {
    // Too many aliases are a ReferenceError, and what nests beyond the stack a RangeError.
    if (error instanceof YAMLError || error instanceof ReferenceError || error instanceof RangeError) return undefined
    throw error
  }
}
