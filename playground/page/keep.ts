/** A value under a name in local or session storage; where the browser refuses storage, nothing is kept. */
export function readKept(storage: "local" | "session", name: string): unknown {
  try {
    const text = storageOf(storage).getItem(`wireworks.${name}`)
    return text === null ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

export function keep(storage: "local" | "session", name: string, value: unknown): void {
  try {
    if (value === undefined) storageOf(storage).removeItem(`wireworks.${name}`)
    else storageOf(storage).setItem(`wireworks.${name}`, JSON.stringify(value))
  } catch {
    // Full, or switched off: the page works without.
  }
}

function storageOf(storage: "local" | "session"): Storage {
  return storage === "local" ? localStorage : sessionStorage
}
