/// An error in the command line, or about something that it names.
package struct UsageError: Error, Equatable, Sendable {
    /// The message, without a capital and a full stop, because it follows `transfer:`.
    let message: String

    /// The command line that prints the help.
    let helpInvocation: String

    /// The exit code of the program.
    var code = ExitCode.usage

    init(_ message: String, command: Command = Commands.program) {
        self.init(message, helpInvocation: command.helpInvocation)
    }

    init(_ message: String, helpInvocation: String) {
        (self.message, self.helpInvocation) = (message, helpInvocation)
    }

    /// The lines for standard error, each with its end.
    package var report: String {
        "transfer: \(message)\n" + (code == .usage ? "Try '\(helpInvocation)'.\n" : "")
    }
}
