import type { Arithmetic, BinaryOperator } from "./tree.ts"

export function isArithmetic(operator: BinaryOperator): operator is Arithmetic {
  return operator === "+" || operator === "-" || operator === "*" || operator === "/" || operator === "%"
}
