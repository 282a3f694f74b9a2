/// What is wrong with the command line, or with what it names.
package struct UsageError: Error, Equatable, Sendable {
    /// For people; no capital at the start and no full stop, because it follows `transfer:`.
    let message: String

    /// Where the help is: the words to type.
    let helpInvocation: String

    /// What the program exits with.
    var code = ExitCode.usage

    init(_ message: String, command: Command = Commands.program) {
        self.init(message, helpInvocation: command.helpInvocation)
    }

    init(_ message: String, helpInvocation: String) {
        (self.message, self.helpInvocation) = (message, helpInvocation)
    }

    /// The lines for standard error, each ended.
    package var report: String {
        "transfer: \(message)\n" + (code == .usage ? "Try '\(helpInvocation)'.\n" : "")
    }
}
