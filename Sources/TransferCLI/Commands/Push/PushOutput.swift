private import Glibc

/// What a push prints, and where.
struct PushOutput: Sendable {
    /// One JSON object a line on standard output instead of lines for people.
    let isJSON: Bool

    /// No lines for uploads that went well, no progress, no summary.
    let isQuiet: Bool

    /// Whether standard error is a terminal that a live line can be drawn on.
    let showsProgress: Bool

    init(_ arguments: ParsedArguments) {
        isJSON = arguments.isSet("json")
        isQuiet = arguments.isSet("quiet")
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        showsProgress = !isQuiet && isatty(STDERR_FILENO) == 1 && !isDumb
    }
}
