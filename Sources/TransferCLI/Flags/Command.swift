/// One command with everything that its parser and its help need.
package struct Command: Equatable, Sendable {
    /// An invocation worth copying.
    struct Example: Equatable, Sendable {
        /// What it does; a phrase.
        let caption: String
        /// The line to type.
        let line: String
    }

    /// One way in which it can end.
    struct Outcome: Equatable, Sendable {
        let code: ExitCode
        /// A phrase.
        let meaning: String

        /// Without a meaning of its own, the code means what it means for the program.
        init(_ code: ExitCode, _ meaning: String? = nil) {
            self.code = code
            self.meaning = meaning ?? code.meaning
        }
    }

    /// The word after `transfer`; empty for the program itself.
    let name: String

    /// Other words for it, which other programs call the same by: `ls`.
    var aliases: [String] = []

    /// One line for the list of commands.
    let summary: String

    /// The operands in the synopsis; without them the command takes none.
    var operands: String?

    /// Paragraphs.
    var description: [String] = []

    package let flags: [Flag]

    var examples: [Example] = []

    /// The exit codes that the command can end with.
    var outcomes: [Outcome] = []

    /// Whether everything from the first operand on belongs to another command.
    var takesCommandLine = false

    /// The switch with which an operand may be empty; nil where it never may. A shell asks so to complete a word that is not begun.
    var flagForEmptyOperands: Flag?

    /// What an operand is.
    var operandValue = FlagValue.text

    /// Which operands may name a server.
    var places = OperandPlaces.none

    /// What the help says of it: `description`, and what is the same for others.
    var paragraphs: [String] {
        description + [serverFlag.flatMap { places.note($0.spelling) }, aliasNote].compactMap(\.self)
    }

    /// The flag that asks for a server.
    var serverFlag: Flag? { flags.first { $0.value == .server } }

    private var aliasNote: String? {
        aliases.isEmpty ? nil : "'transfer \(aliases.joined(separator: "' and 'transfer "))' is the same."
    }

    /// All that it can be called by.
    var names: [String] { [name] + aliases }

    /// As lists of commands have it: `list, ls`.
    var nameWithAliases: String { names.joined(separator: ", ") }

    /// Words of its name.
    var words: Int { name.utf8.count { $0 == UInt8(ascii: " ") } + 1 }

    /// How the command starts on the command line.
    var invocation: String { name.isEmpty ? "transfer" : "transfer \(name)" }

    /// What to type to read about the command.
    var helpInvocation: String { name.isEmpty ? "transfer --help" : "transfer help \(name)" }

    /// The variables of the environment that give a flag's value when the command line doesn't, the first one that is set:
    /// `TRANSFER_`, the words of the command and those of the flag in capitals, and what the flag shares with others.
    package func variables(of flag: Flag) -> [String] {
        guard flag.reach != .nowhere else { return [] }
        let words = ["transfer", name, flag.name].joined(separator: "_").uppercased()
        let own = String(words.map { $0 == " " || $0 == "-" ? "_" : $0 })
        return [own] + [flag.environment].compactMap(\.self)
    }

    /// Whether anything in a configuration file can concern it.
    var hasSettings: Bool {
        !name.isEmpty && !name.utf8.starts(with: "\(Remote.table) ".utf8)
            && flags.contains { $0.reach == .environmentAndFiles }
    }

    /// What its settings stand below in a configuration file.
    var tableHeader: String { "[\(name.split(separator: " ").joined(separator: "."))]" }

    /// Where else its flags may be given; nothing for a command that nobody sets up.
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

/// A command of the program: what there is to say about it, how it reads its arguments, and what it does.
protocol ProgramCommand: SendableMetatype {
    /// What the parser, the help, completions, manual pages and configuration files know of it.
    static var definition: Command { get }

    /// - Throws: `UsageError` for what it cannot do as it is said.
    init(_ arguments: ParsedArguments) throws(UsageError)

    func run() async -> ExitCode
}
