/** A loop that is given a thousand items where a page has to hold that many steps. */
export const thousandSteps = `input {
    items: [integer]
}

provider demo from openai {
    endpoint: "demo"
}

model small from demo {
    id: "demo"
}

agent step for item in input.items {
    model: model.small
    instruction: "Say something about the number {{ item }}."

    output {
        text: string
    }
}

output {
    texts: agent.step.*.text
}
`
