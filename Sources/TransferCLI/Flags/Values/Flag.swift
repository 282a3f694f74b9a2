internal import TransferModel
internal import TransferSystem

/// The definition of a flag. Parser, configuration, help, completions and manual pages all use it, so they agree.
package struct Flag: Equatable, Sendable {
    /// Where a flag can be set in addition to the command line.
    enum Reach: Sendable {
        case environmentAndFiles, environment, nowhere
    }

    /// The long name without its dashes.
    package let name: String

    /// The letter of the short form.
    var short: Character?

    /// The placeholder for the value in the help; nil for a switch, which takes no value.
    var placeholder: String?

    /// One sentence for the help, also used by completions.
    let help: String

    /// Further sentences for the help; may be empty.
    var details = ""

    /// The flag's value if the user gives none; nil if there is no default.
    var defaultValue: String?

    /// The flag's value if the flag is given without one; a value can then be given only after `=`. Nil if a value is
    /// required.
    var bareValue: String?

    /// A variable of the environment that several commands share, in addition to the variable that every flag has; see
    /// `Command.variables(of:)`. Not for switches.
    package var environment: String?

    /// A key for configuration files that several commands share. It stands before the first table.
    var sharedKey: String?

    /// Whether the flag can be given several times. If another flag is repeated, its last value is used.
    var isRepeatable = false

    /// The allowed values; nil if they cannot be listed.
    var choices: [String]?

    /// What kind of value the flag has, for checks and completions.
    var value = FlagValue.text

    /// Where the flag can be set besides the command line.
    var reach = Reach.environmentAndFiles

    /// Whether a running server applies a new value of the flag when it rereads its files.
    var isChangeable = false

    var isSwitch: Bool { placeholder == nil }

    /// The long form as typed.
    var spelling: String { "--\(name)" }

    /// All forms as in the help, such as `-q, --quiet` or `--name NAME`.
    var synopsis: String {
        (short.map { "-\($0), " } ?? "") + spelling
            + (placeholder.map { bareValue == nil ? " \($0)" : "[=\($0)]" } ?? "")
    }

    static let help = Flag(name: "help", short: "h", help: "Print this help and exit.", reach: .nowhere)

    static let insecurePermissions = Flag(
        name: FileTrust.flagName, help: "Accept configuration and key files that other users can write.",
        details:
            "By default, the configuration files, known_servers and known_people must belong to this "
            + "user or root, and only their owner may have write access to them and their folder: anyone "
            + "who can write them can run commands and impersonate any server.",
        environment: "TRANSFER_INSECURE_PERMISSIONS", reach: .environment)

    /// A flag for programs that start this program with a separate configuration. A file cannot name another file.
    static let config = Flag(
        name: "config", placeholder: "FILE",
        help: "Read settings from FILE; they take precedence over the user's own file.",
        details: "docs/reference/configuration.md describes both.", value: .file, reach: .environment)
}

extension Flag {
    /// Facts for the help that are not sentences: choices, the default and variables.
    func facts(in command: Command) -> String {
        let variables = command.variables(of: self)
        let environment = variables.isEmpty ? "" : "Environment: \(variables.joined(separator: ", "))."
        return [values, environment].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Choices and defaults for the help; may be empty.
    var values: String {
        let facts = [
            choices.map { "One of: \($0.joined(separator: ", "))." },
            defaultValue.map { "Default: \($0)." }, bareValue.map { "Without a value: \($0)." },
        ]
        return facts.compactMap(\.self).joined(separator: " ")
    }
}

/// The type of the value of a flag or an operand, for checks before the command runs and for completions.
enum FlagValue: Equatable, Sendable {
    case text
    /// A path, usually of a file.
    case file
    case folder
    /// A server: an address, or the name of a remote.
    case server
    /// The name of a remote.
    case remote
    /// A path on a server, optionally preceded by the server; see `ServerPlace`.
    case place
    /// A path on a server, or the path of a local file.
    case placeOrFile
    /// The path of a local file, or a path with its server.
    case fileOrTarget
    /// Names of people with mailboxes, separated by commas.
    case person
    /// The words of a command.
    case command
    /// A number of bytes; see `SizeNotation`.
    case size
    /// A time in seconds; see `DurationNotation`.
    case duration
    /// One of the given words.
    case oneOf([String])

    /// Whether a relative path in a configuration file is relative to the folder of that file.
    var isPath: Bool { self == .file || self == .folder }

    /// Whether the value is a file, a folder or a server, local or remote.
    var isPlace: Bool {
        switch self {
        case .file, .folder, .server, .remote, .place, .placeOrFile, .fileOrTarget: true
        case .text, .person, .command, .size, .duration, .oneOf: false
        }
    }
}

extension Command {
    /// The completions of an operand.
    var operandCompletion: FlagValue {
        switch places {
        case .none: operandValue
        case .server: .server
        case .all: .place
        case .target: .fileOrTarget
        case .sources, .any: .placeOrFile
        }
    }
}

extension Flag {
    /// The completions of the value.
    var completion: FlagValue { choices.map(FlagValue.oneOf) ?? value }

    /// All forms that can be typed.
    var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [spelling] }
}

extension Flag {
    /// The reason why a value is invalid, as far as it can be checked without running the command.
    ///
    /// - Parameter source: the flag, variable or line of a file that contains the value, for the message.
    /// - Returns: a phrase; nil for a value that may be valid.
    func fault(of value: String, from source: String) -> String? {
        switch self.value {
        case _ where choices != nil: choiceFault(of: value, from: source)
        case .size: Self.fault(of: value, source, "a size; \(Self.sizeForm)", SizeNotation.bytes)
        case .duration: Self.fault(of: value, source, "a duration; \(Self.durationForm)", DurationNotation.seconds)
        default: nil
        }
    }

    static let sizeForm = "write it like 500, 64K, 1.5G or 10MB"
    static let durationForm = "write it like 500ms, 20s, 5m, 2h or 7d"

    private func choiceFault(of value: String, from source: String) -> String? {
        guard let choices, !choices.contains(value) else { return nil }
        let suggestion = Suggestion.phrase(for: value, among: choices)
        let list = "; choose \(choices.joined(separator: ", "))"
        let place = source == spelling ? "'\(source)'" : source
        return "unknown value '\(value.escapedForDisplay)' for \(place)" + (suggestion.isEmpty ? list : suggestion)
    }

    private static func fault<Quantity>(
        of value: String, _ source: String, _ wanted: String, _ read: (String) throws(QuantityFault) -> Quantity
    ) -> String? {
        do throws(QuantityFault) {
            _ = try read(value)
            return nil
        } catch {
            return phrase(for: error, of: value, from: source, wanted)
        }
    }

    /// - Parameter wanted: what the value should be, with an article.
    static func phrase(
        for fault: QuantityFault, of value: String, from source: String, _ wanted: String
    ) -> String {
        let text = value.escapedForDisplay
        return switch fault {
        case .malformed: "\(source): '\(text)' is not \(wanted)"
        case .tooLarge: "\(source): '\(text)' is too large"
        }
    }
}

/// Keys for the kinds of values. If a flag has a default, its help states the default.
extension Flag {
    // MARK: Switches and words

    /// The key of a switch.
    var isOn: FlagKey<Bool, Never> { FlagKey(self) { arguments, flag in arguments.isSet(flag) } }

    var text: FlagKey<String?, Never> { FlagKey(self) { arguments, flag in arguments.values(of: flag).last } }

    func text(default value: String) -> FlagKey<String, Never> {
        FlagKey(with(default: value)) { arguments, flag in arguments.values(of: flag).last ?? value }
    }

    /// The values of a repeatable flag.
    var texts: FlagKey<[String], Never> {
        var flag = self
        flag.isRepeatable = true
        return FlagKey(flag) { arguments, flag in arguments.values(of: flag) }
    }

    func texts(default value: String) -> FlagKey<[String], Never> {
        let key = texts
        return FlagKey(key.flag.with(default: value)) { arguments, flag in arguments.values(of: flag) }
    }

    // MARK: Choices

    func choice<Choice: FlagChoice>(of type: Choice.Type) -> FlagKey<Choice?, Never> {
        var flag = self
        flag.choices = Choice.flagValues
        // The parser has refused all other values.
        return FlagKey(flag) { arguments, flag in arguments.values(of: flag).last.flatMap(Choice.init(flagValue:)) }
    }

    func choice<Choice: FlagChoice & Sendable>(default value: Choice) -> FlagKey<Choice, Never> {
        let key = choice(of: Choice.self)
        return FlagKey(key.flag.with(default: value.flagValue)) { arguments, flag in
            arguments.values(of: flag).last.flatMap(Choice.init(flagValue:)) ?? value
        }
    }

    // MARK: Numbers

    /// A number of bytes, at most `Int64.max`; see `SizeNotation`.
    var size: FlagKey<UInt64?, UsageError> {
        FlagKey(with(.size)) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.size(text, of: flag)
            }
        }
    }

    func size(default bytes: UInt64) -> FlagKey<UInt64, UsageError> {
        FlagKey(with(.size).with(default: SizeNotation.text(bytes))) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.size(text, of: flag)
            } ?? bytes
        }
    }

    /// A time in seconds; see `DurationNotation`.
    func duration(default seconds: Double) -> FlagKey<Double, UsageError> {
        FlagKey(with(.duration).with(default: DurationNotation.text(seconds))) {
            (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.duration(text, of: flag)
            } ?? seconds
        }
    }

    /// - Parameter isPositive: whether zero is refused.
    func interval(default interval: Interval, isPositive: Bool = true) -> FlagKey<Interval, UsageError> {
        let key = duration(default: interval.seconds)
        return FlagKey(key.flag) { (arguments, flag) throws(UsageError) in
            let seconds = try arguments[key]
            guard seconds > 0 || !isPositive else {
                throw arguments.error("\(arguments.source(of: flag)) must be more than zero")
            }
            return .seconds(seconds)
        }
    }

    /// A whole number within a range.
    func count(in range: ClosedRange<Int> = 1...Int.max, default number: Int) -> FlagKey<Int, UsageError> {
        FlagKey(with(default: "\(number)")) { (arguments, flag) throws(UsageError) in
            try arguments.values(of: flag).last.map { (text) throws(UsageError) in
                try arguments.count(text, of: flag, in: range)
            } ?? number
        }
    }

    // MARK: Definition

    private func with(default value: String) -> Flag {
        var flag = self
        flag.defaultValue = value
        return flag
    }

    private func with(_ value: FlagValue) -> Flag {
        var flag = self
        flag.value = value
        return flag
    }
}

extension FlagChoice {
    /// The case that is typed as the given value.
    init?(flagValue: String) {
        guard let choice = Self.allCases.first(where: { $0.flagValue == flagValue }) else { return nil }
        self = choice
    }
}
