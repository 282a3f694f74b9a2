extension Commands {
    static let verify = Command(
        name: "verify", summary: "Read everything stored again and compare it with the catalog.",
        description: [
            "Prints a line for every file that is not as it was acknowledged: rotten (nobody changed it, and its content "
                + "is another: the disk lost it), missing, unreadable, changed (somebody changed it after it was stored) "
                + "and stranger (the catalog knows nothing of it).",
            "What is rotten, missing or unreadable makes it exit with 1; changed files and strangers don't, because no "
                + "promise was broken. A server may be running meanwhile.",
            "What is rotten is kept in the catalog: a server sends and acknowledges it no more, and pushing the same "
                + "content again puts it in the rotten file's place.",
        ],
        flags: [
            Flag(
                name: "dir", placeholder: "DIR", help: "The directory that a server stores in.",
                defaultValue: "storage", value: .folder),
            Flag(
                name: "repair-catalog", help: "Make the catalog say what is there.",
                details:
                    "Strangers are added, changed files brought up to date and missing ones removed. A catalog that "
                    + "is lost or damaged is made anew from the files. Stored files are never touched. No server may be "
                    + "running."),
            Flag(name: "json", help: "Print one JSON object a line for every finding, and one for the summary."),
            Flag(name: "quiet", short: "q", help: "Show no progress and no summary; findings are still printed."),
            .help,
        ],
        examples: [
            .init(caption: "Look whether everything is still there", line: "transfer verify --dir /srv/in"),
            .init(
                caption: "Keep the findings for a script to read",
                line: "transfer verify --dir /srv/in --json --quiet > findings.jsonl"),
            .init(
                caption: "Let missing and changed files be stored again (stop the server first)",
                line: "transfer verify --dir /srv/in --repair-catalog"),
        ],
        outcomes: [
            .init(.success, "every acknowledgement holds"),
            .init(.uploadsFailed, "something is rotten, missing or unreadable, or there is no catalog"),
            .init(.usage), .init(.fault, "it could not look, or could not repair"),
        ])
}
