import type { Token } from "./token.ts"

/** How many more brackets of each kind open than close. */
export type Balance = Record<"{" | "[" | "(", number>

export function balanceOf(tokens: readonly Token[]): Balance {
  const balance = { "{": 0, "[": 0, "(": 0 }
  for (const { kind } of tokens) {
    if (kind === "{" || kind === "[" || kind === "(") balance[kind]++
    else if (kind === "}") balance["{"]--
    else if (kind === "]") balance["["]--
    else if (kind === ")") balance["("]--
  }
  return balance
}
