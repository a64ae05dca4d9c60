/** The states of an Aho–Corasick automaton over bytes: finds any number of patterns in one pass over a text. */
export interface Pattern {
  readonly bytes: Uint8Array
}

const noNode = -1

/**
 * A trie of the patterns, in which each node also knows the longest other node that its own bytes end with (`#fallback`).
 * Most nodes have one child, which then is the next node: such an edge costs one byte, and only branches cost a map entry.
 * Time to build it and memory are linear in the length of the patterns, time to search is linear in the text.
 */
export class PatternAutomaton {
  /** By state: how many bytes of a pattern have been read. */
  readonly depth: Int32Array
  /** By state: the longest pattern that ends here, by its position in the list; -1 for none. */
  readonly longest: Int32Array
  readonly #fallback: Int32Array
  /** By state: the byte that leads to the next state by number; `#hasNext` says whether there is one. */
  readonly #nextByte: Uint8Array
  readonly #hasNext: Uint8Array
  /** Further edges, by `state * 256 + byte`, and whether a state has any. */
  readonly #branches = new Map<number, number>()
  readonly #isBranching: Uint8Array
  readonly #root = new Int32Array(256)
  #size = 1

  constructor(patterns: readonly Pattern[]) {
    const most = patterns.reduce((sum, { bytes }) => sum + bytes.length, 1)
    this.depth = new Int32Array(most)
    this.longest = new Int32Array(most).fill(noNode)
    this.#fallback = new Int32Array(most)
    this.#nextByte = new Uint8Array(most)
    this.#hasNext = new Uint8Array(most)
    this.#isBranching = new Uint8Array(most)
    for (const [position, { bytes }] of patterns.entries()) this.#insert(position, bytes)
    this.#linkFallbacks()
  }

  /** The state after one more byte; the first state is 0. */
  next(state: number, byte: number): number {
    let from = state
    while (from !== 0) {
      if (this.#hasNext[from] === 1 && this.#nextByte[from] === byte) return from + 1
      if (this.#isBranching[from] === 1) {
        const child = this.#branches.get(from * 256 + byte)
        if (child !== undefined) return child
      }
      from = this.#fallback[from] ?? 0
    }
    return this.#root[byte] ?? 0
  }

  #insert(position: number, bytes: Uint8Array): void {
    let node = 0
    for (const byte of bytes) {
      const known = this.#child(node, byte)
      node = known === noNode ? this.#addChild(node, byte) : known
    }
    if (this.longest[node] === noNode) this.longest[node] = position
  }

  #child(node: number, byte: number): number {
    if (node === 0) return this.#root[byte] || noNode
    if (this.#hasNext[node] === 1 && this.#nextByte[node] === byte) return node + 1
    return this.#branches.get(node * 256 + byte) ?? noNode
  }

  #addChild(node: number, byte: number): number {
    const child = this.#size++
    this.depth[child] = (this.depth[node] ?? 0) + 1
    if (node === 0) this.#root[byte] = child
    else if (child === node + 1) {
      this.#hasNext[node] = 1
      this.#nextByte[node] = byte
    } else {
      this.#isBranching[node] = 1
      this.#branches.set(node * 256 + byte, child)
    }
    return child
  }

  /** Level by level: a node's fallback is nearer to the root, and so is known already. */
  #linkFallbacks(): void {
    const branchesOf = new Map<number, number[]>()
    for (const key of this.#branches.keys()) {
      const node = Math.floor(key / 256)
      const bytes = branchesOf.get(node)
      if (bytes === undefined) branchesOf.set(node, [key % 256])
      else bytes.push(key % 256)
    }
    const queue = new Int32Array(this.#size)
    let queued = 0
    for (const child of this.#root) if (child !== 0) queue[queued++] = child
    const link = (node: number, byte: number, child: number): void => {
      const fallback = this.next(this.#fallback[node] ?? 0, byte)
      this.#fallback[child] = fallback
      if (this.longest[child] === noNode) this.longest[child] = this.longest[fallback] ?? noNode
      queue[queued++] = child
    }
    for (let at = 0; at < queued; at++) {
      const node = queue[at] ?? 0
      if (this.#hasNext[node] === 1) link(node, this.#nextByte[node] ?? 0, node + 1)
      if (this.#isBranching[node] === 1) {
        for (const byte of branchesOf.get(node) ?? []) link(node, byte, this.#child(node, byte))
      }
    }
  }
}
