// Workflows that start by themselves, for `wire init --schedule` and `--webhook`.

/** A reminder on weekday mornings. */
export const reminder = `// Reminds the team of its stand-up, on weekdays at nine. \`wire schedule workflows/reminder.wire\` prints the next times.

input {
    date: string
}

schedule weekdays {
    cron: "0 9 * * 1-5"
    timezone: "Europe/Berlin"

    input {
        date: due.date
    }
}

output {
    text: "Stand-up of {{ input.date }}"
}
`

export const reminderTest = `test "names the day" {
    input {
        date: "2027-02-01"
    }

    expect output.text == "Stand-up of 2027-02-01"
}
`

/** A reaction to pushes on GitHub. */
export const push = `// Lists the commits of a push to main. GitHub sends it to /hooks/push/pushed; WIRE_SECRET_HOOK_SECRET is the secret of both.

input {
    branch: string
    commits: [string]
}

secrets {
    hook_secret: string
}

webhook pushed {
    verify: github
    secret: secrets.hook_secret

    when: body.ref == "refs/heads/main"

    input {
        branch: "main"
        commits: body.commits.*.id
    }
}

output {
    branch: input.branch
    count: length(input.commits)
}
`

export const pushTest = `test "counts the commits" {
    input {
        branch: "main"
        commits: ["a", "b"]
    }

    expect output.count == 2
}
`
