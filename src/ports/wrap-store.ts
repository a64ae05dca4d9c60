import type { RunStore } from "./store.ts"

export type StoreMethod = (...args: unknown[]) => unknown

/**
 * The same store, with other methods in place of some: `wrap` gives the method to call, or null where it stays as it is. Each
 * is made once, because every run makes several calls through several of these.
 */
export function wrapStore(store: RunStore, wrap: (name: string, method: StoreMethod) => StoreMethod | null): RunStore {
  const made = new Map<PropertyKey, StoreMethod>()
  return new Proxy(store, {
    get(target, name) {
      const known = made.get(name)
      if (known !== undefined) return known
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      const method = member.bind(target) as StoreMethod
      const wrapped = (typeof name === "string" ? wrap(name, method) : null) ?? method
      made.set(name, wrapped)
      return wrapped
    },
  })
}
