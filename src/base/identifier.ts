const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Whether the text can stand as a name without quotes. */
export function isIdentifier(text: string): boolean {
  return identifier.test(text)
}
