/**
 * The promise's outcome, or a failure that says what did not come in time. It asserts no speed: a machine that is busy with
 * other things gets four times as long.
 */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not come within ${4 * ms} ms`)), 4 * ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
