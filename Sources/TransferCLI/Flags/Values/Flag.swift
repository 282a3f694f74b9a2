internal import TransferModel
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

    static let help = Flag(name: "help", short: "h", help: "Print this help and exit.", reach: .nowhere)

    static let insecurePermissions = Flag(
        name: FileTrust.flagName, help: "Accept configuration and key files that other users can write.",
        details:
            "By default, the configuration files, known_servers and known_people must belong to this "
            + "user or root, and only their owner may have write access to them and their folder: anyone "
            + "who can write them can run commands and impersonate any server.",
        environment: "TRANSFER_INSECURE_PERMISSIONS", reach: .environment)

    /// For programs that are started with a configuration of their own. A file names no other file.
    static let config = Flag(
        name: "config", placeholder: "FILE",
        help: "Read settings from FILE; they take precedence over the user's own file.",
        details: "docs/reference/configuration.md describes both.", value: .file, reach: .environment)
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

/// What the value of a flag or an operand is: for checks before the command runs, and for shells that complete it.
enum FlagValue: Equatable, Sendable {
    case text
    /// A path, of a file most often.
    case file
    case folder
    /// A server: an address, or the name of a remote.
    case server
    /// The name of a remote.
    case remote
    /// A path on a server that it may name, as `ServerPlace` reads it.
    case place
    /// The same, or a file here.
    case placeOrFile
    /// A file here, or a place on a server that is named.
    case fileOrTarget
    /// The names of people who can be sent something, with commas between them.
    case person
    /// The words of a command.
    case command
    /// See `SizeNotation`.
    case size
    /// See `DurationNotation`.
    case duration
    /// One of these words.
    case oneOf([String])

    /// Whether a relative path in a file counts from the folder of that file.
    var isPath: Bool { self == .file || self == .folder }

    /// Whether it names a file, a folder or a server, here or there.
    var isPlace: Bool {
        switch self {
        case .file, .folder, .server, .remote, .place, .placeOrFile, .fileOrTarget: true
        case .text, .person, .command, .size, .duration, .oneOf: false
        }
    }
}

extension Command {
    /// What a shell offers for an operand.
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
    /// What a shell offers for its value.
    var completion: FlagValue { choices.map(FlagValue.oneOf) ?? value }

    /// Every form that can be typed.
    var spellings: [String] { (short.map { ["-\($0)"] } ?? []) + [spelling] }
}

extension Flag {
    /// What is wrong with a value, as far as that can be said without running the command.
    ///
    /// - Parameter source: what to call the place where the value stands.
    /// - Returns: a phrase, or nothing for a value that may be right.
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

/// What flags say, by the kinds of their values. A flag that has a value without being set says so in its help.
extension Flag {
    // MARK: Switches and words

    /// Of a flag without a placeholder.
    var isOn: FlagKey<Bool, Never> { FlagKey(self) { arguments, flag in arguments.isSet(flag) } }

    var text: FlagKey<String?, Never> { FlagKey(self) { arguments, flag in arguments.values(of: flag).last } }

    func text(default value: String) -> FlagKey<String, Never> {
        FlagKey(with(default: value)) { arguments, flag in arguments.values(of: flag).last ?? value }
    }

    /// Every occurrence counts.
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
        // The parser lets no other value pass.
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

    /// - Parameter isPositive: whether none is too short.
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

    /// A whole number.
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
    /// The case that is typed so.
    init?(flagValue: String) {
        guard let choice = Self.allCases.first(where: { $0.flagValue == flagValue }) else { return nil }
        self = choice
    }
}
