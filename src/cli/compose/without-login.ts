/** An address as it may be shown: without what it carries before its `@`. */
export function withoutLogin(address: string): string {
  return address.replace(/\/\/[^/]*@/g, "//")
}
