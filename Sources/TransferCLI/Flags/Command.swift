/// The definition of a command: everything that its parser and its help need.
package struct Command: Equatable, Sendable {
    /// An example for the help.
    struct Example: Equatable, Sendable {
        /// What the example does, as a phrase.
        let caption: String
        /// The command line to type for it.
        let line: String
    }

    /// An exit code that the command can end with.
    struct Outcome: Equatable, Sendable {
        let code: ExitCode
        /// The meaning, as a phrase.
        let meaning: String

        /// If `meaning` is nil, the general meaning of the code is used.
        init(_ code: ExitCode, _ meaning: String? = nil) {
            self.code = code
            self.meaning = meaning ?? code.meaning
        }
    }

    /// The word after `transfer`; empty for the program itself.
    let name: String

    /// Other names of the command, such as `ls`.
    var aliases: [String] = []

    /// One line for the list of commands.
    let summary: String

    /// The operands in the synopsis; nil if the command takes none.
    var operands: String?

    /// The paragraphs of the help.
    var description: [String] = []

    package let flags: [Flag]

    var examples: [Example] = []

    /// The exit codes that the command can end with.
    var outcomes: [Outcome] = []

    /// Whether everything from the first operand on is the command line of another command.
    var takesCommandLine = false

    /// The switch that allows empty operands; nil if there is no such switch. A shell passes an empty operand to
    /// complete a word that is not begun.
    var flagForEmptyOperands: Flag?

    /// What kind of value an operand is, for completions.
    var operandValue = FlagValue.text

    /// Which of the operands may name a server.
    var places = OperandPlaces.none

    /// The paragraphs of the help: `description`, and texts that several commands share.
    var paragraphs: [String] {
        description + [serverFlag.flatMap { places.note($0.spelling) }, aliasNote].compactMap(\.self)
    }

    /// The flag whose value is the server; nil for a command that has no such flag.
    var serverFlag: Flag? { flags.first { $0.value == .server } }

    private var aliasNote: String? {
        aliases.isEmpty ? nil : "'transfer \(aliases.joined(separator: "' and 'transfer "))' is the same."
    }

    /// The name and the aliases.
    var names: [String] { [name] + aliases }

    /// The names for lists of commands: `list, ls`.
    var nameWithAliases: String { names.joined(separator: ", ") }

    /// The number of words in the name.
    var words: Int { name.utf8.count { $0 == UInt8(ascii: " ") } + 1 }

    /// The program and the command, as typed.
    var invocation: String { name.isEmpty ? "transfer" : "transfer \(name)" }

    /// The command line that prints the help.
    var helpInvocation: String { name.isEmpty ? "transfer --help" : "transfer help \(name)" }

    /// The environment variables of a flag, in order of precedence. The first consists of `TRANSFER_` and the words of
    /// the command and of the flag in capitals. A second one may be shared with other flags.
    package func variables(of flag: Flag) -> [String] {
        guard flag.reach != .nowhere else { return [] }
        let words = ["transfer", name, flag.name].joined(separator: "_").uppercased()
        let own = String(words.map { $0 == " " || $0 == "-" ? "_" : $0 })
        return [own] + [flag.environment].compactMap(\.self)
    }

    /// Whether a configuration file can set flags of the command.
    var hasSettings: Bool {
        !name.isEmpty && !name.utf8.starts(with: "\(Remote.table) ".utf8)
            && flags.contains { $0.reach == .environmentAndFiles }
    }

    /// The header of the command's table in a configuration file.
    var tableHeader: String { "[\(name.split(separator: " ").joined(separator: "."))]" }

    /// The paragraph about environment and configuration; nil for a command without settings.
    var settingsNote: String? {
        guard hasSettings else { return nil }
        return "Flags can also be set by their environment variables, or below \(tableHeader) in "
            + "~/.config/transfer/config.toml. The command line takes precedence over the environment, and the "
            + "environment over the file; --no-FLAG overrides both. 'transfer config show \(name)' shows what "
            + "is set where."
    }

    func flag(named name: some StringProtocol) -> Flag? { flags.first { $0.name == name } }

    func flag(short letter: Character) -> Flag? { flags.first { $0.short == letter } }
}

/// A command of the program: its definition, how it reads arguments, and its work.
protocol ProgramCommand: SendableMetatype {
    /// The definition that parser, help, completions, manual pages and configuration files use.
    static var definition: Command { get }

    /// - Throws: `UsageError` for invalid arguments.
    init(_ arguments: ParsedArguments) throws(UsageError)

    func run() async -> ExitCode
}
