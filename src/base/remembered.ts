/** What a map holds for a key: made and stored when it is first asked for. */
export function remembered<Key, Value>(map: Table<Key, Value>, key: Key, make: (key: Key) => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = make(key)))
  return value
}

/** A Map or a WeakMap. */
interface Table<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}
