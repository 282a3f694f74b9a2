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

    /// Words of its name.
    var words: Int { name.utf8.count { $0 == UInt8(ascii: " ") } + 1 }

    /// How the command starts on the command line.
    var invocation: String { name.isEmpty ? "transfer" : "transfer \(name)" }

    /// What to type to read about the command.
    var helpInvocation: String { name.isEmpty ? "transfer --help" : "transfer help \(name)" }

    func flag(named name: some StringProtocol) -> Flag? { flags.first { $0.name == name } }

    func flag(short letter: Character) -> Flag? { flags.first { $0.short == letter } }
}
