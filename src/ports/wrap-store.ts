import type { RunStore } from "./store.ts"

export type StoreMethod = (...args: unknown[]) => unknown

/**
 * The same store, with other methods in place of some: `wrap` gives the method to call, or null where it stays as it is. All
 * of them are made now: every run makes several calls through several of these.
 */
export function wrapStore(store: RunStore, wrap: (name: string, method: StoreMethod) => StoreMethod | null): RunStore {
  const wrapped: Record<string, StoreMethod> = {}
  for (const name of memberNames(store)) {
    const member: unknown = Reflect.get(store, name)
    if (typeof member !== "function") continue
    const method = member.bind(store) as StoreMethod
    wrapped[name] = wrap(name, method) ?? method
  }
  return wrapped as unknown as RunStore
}

/** Its own and those of its classes. */
function memberNames(store: RunStore): Set<string> {
  const names = new Set<string>()
  for (let holder: object | null = store; holder !== null && holder !== Object.prototype;) {
    for (const name of Object.getOwnPropertyNames(holder)) names.add(name)
    holder = Reflect.getPrototypeOf(holder)
  }
  names.delete("constructor")
  return names
}
