internal import TransferSystem

/// One flag of a command. Parser, configuration, help, completions and manual pages read the same definition, so they cannot
/// disagree.
package struct Flag: Equatable, Sendable {
    /// Where a flag may be given beside the command line.
    enum Reach: Sendable {
        case environmentAndFiles, environment, nowhere
    }

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

    /// The value when nothing gives one.
    var defaultValue: String?

    /// What it says without a value; then a value can only stand behind a `=`. Nothing where it needs one.
    var bareValue: String?

    /// A variable of the environment that several commands share, beside the one that every flag has; see
    /// `Command.variables(of:)`. Not for switches.
    package var environment: String?

    /// A key of configuration files that several commands share, in front of all their tables.
    var sharedKey: String?

    /// Whether every occurrence counts; of other flags the last one wins.
    var isRepeatable = false

    /// The only values allowed, when they can be listed.
    var choices: [String]?

    /// What the value is.
    var value = FlagValue.text

    /// Where it may be given beside the command line.
    var reach = Reach.environmentAndFiles

    /// Whether a command that runs takes another value when it reads its files again.
    var isChangeable = false

    var isSwitch: Bool { placeholder == nil }

    /// The long form as it is typed.
    var spelling: String { "--\(name)" }

    /// Every form as it stands in the help, such as `-q, --quiet` or `--name NAME`.
    var synopsis: String {
        (short.map { "-\($0), " } ?? "") + spelling
            + (placeholder.map { bareValue == nil ? " \($0)" : "[=\($0)]" } ?? "")
    }

    static let help = Flag(name: "help", short: "h", help: "Print this text and stop.", reach: .nowhere)

    static let insecurePermissions = Flag(
        name: FileTrust.flagName, help: "Believe files of settings and keys that others can write.",
        details:
            "Otherwise the configuration files, known_servers and known_people have to belong to this user or to root, and only "
            + "their owner may write them and the folder that they lie in: who can write them can have commands run, and be any server.",
        environment: "TRANSFER_INSECURE_PERMISSIONS", reach: .environment)

    /// For programs that are started with a configuration of their own. A file names no other file.
    static let config = Flag(
        name: "config", placeholder: "FILE", help: "Take settings from FILE, before those of the user's own file.",
        details: "docs/CONFIGURATION.md describes both.", value: .file, reach: .environment)
}

extension Flag {
    /// What there is to know beside sentences: choices, default, variables.
    func facts(in command: Command) -> String {
        let variables = command.variables(of: self)
        let environment = variables.isEmpty ? "" : "Environment: \(variables.joined(separator: ", "))."
        return [values, environment].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// What the value may be, and what it is without; empty where there is nothing to say of that.
    var values: String {
        let facts = [
            choices.map { "One of: \($0.joined(separator: ", "))." },
            defaultValue.map { "Default: \($0)." }, bareValue.map { "Without a value: \($0)." },
        ]
        return facts.compactMap(\.self).joined(separator: " ")
    }
}
