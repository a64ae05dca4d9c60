/** A workflow with a doc comment, a reference and an optional field. */
export const greeter = `input {
    /// Who is greeted
    name: string
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent greeter {
    model: model.small
    instruction: "Greet {{ input.name }}."

    output {
        greeting: string
        mood: maybe string
    }
}

output {
    greeting: agent.greeter.greeting
}
`
