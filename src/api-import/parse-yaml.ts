import { parse, YAMLError } from "yaml"

/** The value of a text in YAML, or what is wrong with it and where. Nesting is bounded before: see `readDocument`. */
export function parseYaml(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    // Aliases can make a gigabyte of a kilobyte: few are followed.
    return { value: parse(text, { maxAliasCount: 100, logLevel: "error" }) }
  } catch (error) {
    // Too many aliases are a ReferenceError, and what nests beyond the stack a RangeError.
    if (error instanceof RangeError) return { problem: "it nests too deep" }
    if (!(error instanceof YAMLError || error instanceof ReferenceError)) throw error
    // The lines after the first show the place.
    return { problem: (error.message.split("\n", 1)[0] ?? "").replace(/:$/, "") }
  }
}
