private import TransferModel

/// The arguments of a command, completed by the environment, the configuration and the defaults.
///
/// The command line takes precedence over the environment. Then come the remote, the files and the defaults. Requesting
/// a flag that the command does not have is a programming error and traps.
package struct ParsedArguments: Sendable {
    package let command: Command

    /// The operands in order; an operand that names a server is reduced to its path.
    let operands: [String]

    /// The indices in `operands` of those that name a server.
    let places: Set<Int>

    /// The operands in the form in which they were typed.
    let words: [String]

    /// The remote that the command uses; nil if the server is not a remote.
    package let remote: Remote?

    /// The names of all remotes.
    let remotes: [String]

    private let settings: [String: Setting]
    /// The flags of the command line with their values, in order.
    private let order: [(flag: String, value: String)]

    init(
        command: Command, operands: [String], places: Set<Int>, words: [String], settings: [String: Setting],
        order: [(flag: String, value: String)], remote: Remote?, remotes: [String]
    ) {
        (self.command, self.operands, self.settings, self.remote) = (command, operands, settings, remote)
        (self.places, self.words, self.order, self.remotes) = (places, words, order, remotes)
    }

    /// Whether the command has a flag of that name.
    func takes(_ flag: Flag) -> Bool { command.flag(named: flag.name) != nil }

    /// The setting of a flag; nil if it is not set.
    func setting(of flag: Flag) -> Setting? {
        // Trap: a command requests only flags that its definition lists.
        precondition(takes(flag), "the command '\(command.name)' has no flag '\(flag.name)'")
        return settings[flag.name]
    }

    /// Whether a switch is on, or another flag has a value that is not its default.
    func isSet(_ flag: Flag) -> Bool {
        guard let values = setting(of: flag)?.values, !values.isEmpty else { return false }
        return !flag.isSwitch || values.last == Setting.on
    }

    /// The values of a flag in order, at most one unless it is repeatable; the default if none is given.
    package func values(of flag: Flag) -> [String] {
        if let values = setting(of: flag)?.values, !values.isEmpty { return values }
        return flag.defaultValue.map { [$0] } ?? []
    }

    /// The values of several flags. Those on the command line come first, in their order there; then come those of the
    /// other flags, one flag after the other.
    func inOrder(_ flags: [Flag]) -> [(flag: String, value: String)] {
        let names = flags.map(\.name)
        let given = order.filter { names.contains($0.flag) }
        let others = flags.filter { flag in !given.contains { $0.flag == flag.name } }
        return given + others.flatMap { flag in values(of: flag).map { (flag.name, $0) } }
    }

    /// The only operand.
    ///
    /// - Parameter wanted: what the operand should be, for the message.
    func onlyOperand(_ wanted: String) throws(UsageError) -> String {
        guard operands.count == 1 else { throw error("give \(wanted)") }
        return operands[0]
    }

    /// A usage error that only the command can detect.
    func error(_ message: String) -> UsageError { UsageError(message, command: command) }

    /// An error about something that the command line names, although its syntax is right.
    ///
    /// - Parameter sentence: a whole sentence, with a capital and a full stop.
    func failure(_ sentence: String, _ code: ExitCode) -> UsageError {
        var failure = error(sentence)
        failure.code = code
        return failure
    }

    /// The source of a flag's value, for messages: the flag, the variable, or the line of a file.
    func source(of flag: Flag) -> String {
        switch setting(of: flag)?.origin {
        case .commandLine, nil: flag.spelling
        case .operand: "the operand"
        case .variable(let variable): variable
        case .file(let place), .remote(_, let place): "\(place): \(flag.name)"
        }
    }
}

/// Numbers in the values of flags.
extension ParsedArguments {
    /// A number of bytes, at most `Int64.max`; see `SizeNotation`.
    package func size(_ text: String, of flag: Flag) throws(UsageError) -> UInt64 {
        do throws(QuantityFault) {
            return try SizeNotation.bytes(text)
        } catch {
            throw rejection(of: text, for: flag, error, "a size; \(Flag.sizeForm)")
        }
    }

    /// A time in seconds; see `DurationNotation`.
    package func duration(_ text: String, of flag: Flag) throws(UsageError) -> Double {
        do throws(QuantityFault) {
            return try DurationNotation.seconds(text)
        } catch {
            throw rejection(of: text, for: flag, error, "a duration; \(Flag.durationForm)")
        }
    }

    /// A whole number within a range.
    package func count(_ text: String, of flag: Flag, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), !text.isEmpty else {
            throw rejection(of: text, for: flag, .malformed, "a whole number")
        }
        guard let number = Int(text), range.contains(number) else {
            let isOpen = range.upperBound == .max
            let bounds = isOpen ? "at least \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw error("\(source(of: flag)): '\(text.escapedForDisplay)' is out of range; it must be \(bounds)")
        }
        return number
    }

    private func rejection(of text: String, for flag: Flag, _ fault: QuantityFault, _ wanted: String) -> UsageError {
        error(Flag.phrase(for: fault, of: text, from: source(of: flag), wanted))
    }
}
