import { Questions } from "./question-store.ts"
import { StoreFailure, type RunStore } from "./store.ts"

export type StoreMethod = (...args: unknown[]) => unknown

const parts = [
  "waits",
  "outbox",
  "cache",
  "triggers",
  "ledger",
  "sentEvents",
  "versions",
  "files",
  "actions",
  "erasure",
  "scores",
] as const

/**
 * The same store, with other methods in place of some: `wrap` gives the method to call, or null where it stays as it is. A method
 * of a part is named with it (`cache.get`). All of them are made now: every run makes several calls through several of these.
 */
export function wrapStore(store: RunStore, wrap: (name: string, method: StoreMethod) => StoreMethod | null): RunStore {
  const wrapped: Record<string, unknown> = wrapMethods(store, "", wrap)
  for (const part of parts) wrapped[part] = wrapMethods(store[part], `${part}.`, wrap)
  return withQuestions(wrapped as unknown as RunStore)
}

/** The same store, with these methods in place of its own. */
export function overlayStore(
  store: RunStore,
  over: Partial<Omit<RunStore, "waits" | "questions">> & { readonly waits?: Partial<RunStore["waits"]> },
): RunStore {
  const plain = wrapStore(store, () => null)
  return withQuestions({ ...plain, ...over, waits: { ...plain.waits, ...over.waits } })
}

function withQuestions(store: RunStore): RunStore {
  return { ...store, questions: new Questions(store.waits) }
}

/** The same store, which is closed once, and then refuses everything with a `StoreFailure`; listeners hear nothing more. */
export function untilClosed(store: RunStore): RunStore {
  let closing: Promise<void> | null = null
  return wrapStore(store, (name, method) => {
    if (name === "close") return () => (closing ??= store.close())
    if (name === "follow") return null
    const refuse = /^(\w+\.)?on[A-Z]/.test(name)
      ? () => () => {}
      : () => Promise.reject(new StoreFailure("The store is closed"))
    return (...args) => (closing === null ? method(...args) : refuse())
  })
}

function wrapMethods(
  holder: object,
  prefix: string,
  wrap: (name: string, method: StoreMethod) => StoreMethod | null,
): Record<string, StoreMethod> {
  const wrapped: Record<string, StoreMethod> = {}
  for (const name of memberNames(holder)) {
    const member: unknown = Reflect.get(holder, name)
    if (typeof member !== "function") continue
    const method = member.bind(holder) as StoreMethod
    wrapped[name] = wrap(prefix + name, method) ?? method
  }
  return wrapped
}

/** Its own and those of its classes. */
function memberNames(object: object): Set<string> {
  const names = new Set<string>()
  for (let holder: object | null = object; holder !== null && holder !== Object.prototype;) {
    for (const name of Object.getOwnPropertyNames(holder)) names.add(name)
    holder = Reflect.getPrototypeOf(holder)
  }
  names.delete("constructor")
  return names
}
