/** Functions of a step itself, and not of a value: what they take is a reference to it. */
export const stepFunctions = { rounds: "rounds(agent.x)" } as const

export type StepFunctionName = keyof typeof stepFunctions

export const stepFunctionNames = Object.keys(stepFunctions) as readonly StepFunctionName[]

export function isStepFunction(name: string): name is StepFunctionName {
  return Object.hasOwn(stepFunctions, name)
}
