/// One flag of a command. The parser and the help read the same definition, so they cannot disagree.
package struct Flag: Equatable, Sendable {
    /// The long name without its dashes.
    package let name: String

    /// The letter of the short form.
    var short: Character?

    /// What stands for the value in the help; without one the flag is a switch and takes no value.
    var placeholder: String?

    /// One sentence.
    let help: String

    /// What else there is to know; may be empty.
    var details = ""

    /// The value when neither the command line nor the environment gives one.
    var defaultValue: String?

    /// The environment variable that gives the value when the command line doesn't. Not for switches.
    package var environment: String?

    /// Whether every occurrence counts; of other flags the last one wins.
    var isRepeatable = false

    /// The only values allowed, when they can be listed.
    var choices: [String]?

    var isSwitch: Bool { placeholder == nil }

    /// The long form as it is typed.
    var spelling: String { "--\(name)" }

    /// Every form as it stands in the help, such as `-q, --quiet` or `--name NAME`.
    var synopsis: String {
        (short.map { "-\($0), " } ?? "") + spelling + (placeholder.map { " \($0)" } ?? "")
    }

    static let help = Flag(name: "help", short: "h", help: "Print this text and stop.")
}
