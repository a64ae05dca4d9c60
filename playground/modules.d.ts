declare module "*.wire" {
  const text: string
  export default text
}

declare module "*.css"

/** Trusted types, which not every browser has. */
interface TrustedTypePolicy {
  createScriptURL(address: string): object
}

interface Window {
  readonly trustedTypes?: {
    createPolicy(name: string, rules: { createScriptURL(address: string): string }): TrustedTypePolicy
  }
}
