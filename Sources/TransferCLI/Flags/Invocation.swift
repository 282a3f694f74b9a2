/// What the command line asks for.
enum Invocation: Sendable {
    /// The help of a command, or the list of commands.
    case help(Command?)
    case version
    /// A command of `Commands.all` other than `help`.
    case run(ParsedArguments)

    /// Reads the arguments that follow the program's name.
    ///
    /// - Parameter environment: Gives the variables that a command's flags name.
    init(_ arguments: [String], environment: (Command) -> [String: String]) throws(UsageError) {
        guard let word = arguments.first else { throw UsageError("no command given") }
        guard !word.hasPrefix("-") else {
            self = try Self.programFlags(arguments)
            return
        }
        let command = try Commands.named(word)
        let parsed = try ArgumentParser.parse(
            Array(arguments.dropFirst()), command: command, environment: environment(command))
        if parsed.isSet("help") {
            self = .help(command)
        } else if command == Commands.help {
            self = try .help(parsed.operands.first.map(Commands.named))
        } else {
            self = .run(parsed)
        }
    }

    private static func programFlags(_ arguments: [String]) throws(UsageError) -> Invocation {
        let parsed = try ArgumentParser.parse(arguments, command: Commands.program, environment: [:])
        if parsed.isSet("help") { return try .help(parsed.operands.first.map(Commands.named)) }
        if parsed.isSet("version") { return .version }
        throw UsageError("the command must come first")
    }
}
