/** Pairs of customers whose names and cities are alike. */
export function duplicates(customers, least) {
  const pairs = []
  for (const [at, one] of customers.entries()) {
    for (const other of customers.slice(at + 1)) {
      const likeness = (2 * alike(one.name, other.name) + alike(one.city, other.city)) / 3
      if (likeness >= least) pairs.push({ first: one.id, second: other.id, likeness: Math.round(likeness * 100) / 100 })
    }
  }
  return pairs.sort((a, b) => b.likeness - a.likeness)
}

/** From 0 to 1: how many pairs of letters two texts share. */
function alike(one, other) {
  const [left, right] = [bigrams(one), bigrams(other)]
  const shared = left.filter((pair) => {
    const at = right.indexOf(pair)
    if (at >= 0) right.splice(at, 1)
    return at >= 0
  })
  return (2 * shared.length) / Math.max(1, one.length + other.length - 2)
}

function bigrams(text) {
  const letters = text.toLowerCase()
  return Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2))
}
