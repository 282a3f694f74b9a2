/// A command of the program: what there is to say about it, how it reads its arguments, and what it does.
protocol ProgramCommand: SendableMetatype {
    /// What the parser, the help, completions, manual pages and configuration files know of it.
    static var definition: Command { get }

    /// - Throws: `UsageError` for what it cannot do as it is said.
    init(_ arguments: ParsedArguments) throws(UsageError)

    func run() async -> ExitCode
}
