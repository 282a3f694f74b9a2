/// What the command line requests.
package enum Invocation: Sendable {
    /// The whole help of a command, or the list of commands.
    case help(Command?)
    /// The commands that begin with these words.
    case helpAbout(String)
    /// The flags of a command.
    case briefHelp(Command)
    case version
    /// A command of `Commands.all` other than `help`.
    case run(ParsedArguments)

    /// Reads the arguments that follow the program's name.
    ///
    /// - Parameter sources: the sources of settings besides the arguments.
    package init(_ arguments: [String], sources: SettingSources) throws(UsageError) {
        guard let word = arguments.first else { throw UsageError("no command given") }
        try ArgumentSecrets.refuse(in: arguments)
        guard !word.hasPrefix("-") else {
            self = try Self.programFlags(arguments)
            return
        }
        if let stem = Self.stem(arguments) {
            self = .helpAbout(stem)
            return
        }
        var rest = arguments[...]
        let command = try Commands.taken(from: &rest)
        let parsed = try ArgumentParser.parse(Array(rest), command: command, sources: sources)
        if parsed.isSet(.help) {
            self = .briefHelp(command)
        } else if command == Commands.help {
            self = try .help(Self.named(parsed.operands))
        } else {
            self = .run(parsed)
        }
    }

    /// The stem for which help is requested, as in `help access` and `access --help`.
    private static func stem(_ arguments: [String]) -> String? {
        let isOperand = arguments.first == Commands.help.name
        let isFlag = [Flag.help.spelling, "-h"].contains(arguments.last)
        guard isOperand != isFlag else { return nil }
        let words = (isOperand ? arguments.dropFirst() : arguments.dropLast()).joined(separator: " ")
        return CommandTree.isStem(words) ? words : nil
    }

    /// - Returns: nil if no command is named.
    private static func named(_ operands: [String]) throws(UsageError) -> Command? {
        operands.isEmpty ? nil : try Commands.named(operands)
    }

    private static func programFlags(_ arguments: [String]) throws(UsageError) -> Invocation {
        let parsed = try ArgumentParser.parse(arguments, command: Commands.program, environment: [:])
        if parsed.isSet(.help) { return try named(parsed.operands).map(Invocation.briefHelp) ?? .help(nil) }
        if parsed.isSet(Commands.version) { return .version }
        throw UsageError("the command must come first")
    }
}
