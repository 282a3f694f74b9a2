private import TransferModel

/// What the command line says, with what the environment, the configuration and the table's defaults add.
///
/// The command line wins over the environment, that over the remote, that over files, and all over the table. Asking for a
/// flag that the command doesn't have is a mistake in this program and traps.
package struct ParsedArguments: Sendable {
    package let command: Command

    /// What is not a flag, in order.
    let operands: [String]

    /// The remote that the command is about; nothing when the server is no remote.
    package let remote: Remote?

    private let settings: [String: Setting]
    /// What the command line gives, in order.
    private let order: [(flag: String, value: String)]

    init(
        command: Command, operands: [String], settings: [String: Setting], order: [(flag: String, value: String)],
        remote: Remote?
    ) {
        (self.command, self.operands, self.settings, self.remote) = (command, operands, settings, remote)
        self.order = order
    }

    /// What a flag was set to; nothing when nobody has set it.
    func setting(_ name: String) -> Setting? { settings[flag(name).name] }

    /// Whether a switch is on, or anything but the table gives another flag's value.
    func isSet(_ name: String) -> Bool {
        guard let values = setting(name)?.values, !values.isEmpty else { return false }
        return !flag(name).isSwitch || values.last == Setting.on
    }

    /// The value, or nothing when there is neither one given nor a default.
    package func string(_ name: String) -> String? { strings(name).last }

    /// Every value of a repeatable flag in order; the default alone when none is given.
    package func strings(_ name: String) -> [String] {
        if let values = setting(name)?.values, !values.isEmpty { return values }
        return flag(name).defaultValue.map { [$0] } ?? []
    }

    /// The values of several flags: those of the command line in the order in which they stand there, then those of the
    /// flags that it doesn't have, one flag after the other.
    func inOrder(_ names: [String]) -> [(flag: String, value: String)] {
        let given = order.filter { names.contains($0.flag) }
        let others = names.filter { name in !given.contains { $0.flag == name } }
        return given + others.flatMap { name in strings(name).map { (name, $0) } }
    }

    /// The value of a flag that has to have one.
    func requiredString(_ name: String) throws(UsageError) -> String {
        guard let value = string(name) else { throw error("'--\(name)' is required") }
        return value
    }

    /// A number of bytes, at most `Int64.max`; see `SizeNotation`.
    package func size(_ name: String) throws(UsageError) -> UInt64 {
        let text = try requiredString(name)
        do throws(QuantityFault) {
            return try SizeNotation.bytes(text)
        } catch {
            throw rejection(of: text, for: name, error, "a size; \(Flag.sizeForm)")
        }
    }

    /// A time in seconds; see `DurationNotation`.
    package func duration(_ name: String) throws(UsageError) -> Double {
        let text = try requiredString(name)
        do throws(QuantityFault) {
            return try DurationNotation.seconds(text)
        } catch {
            throw rejection(of: text, for: name, error, "a duration; \(Flag.durationForm)")
        }
    }

    /// A whole number within a range.
    package func count(_ name: String, in range: ClosedRange<Int> = 1...Int.max) throws(UsageError) -> Int {
        let text = try requiredString(name)
        guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), !text.isEmpty else {
            throw rejection(of: text, for: name, .malformed, "a whole number")
        }
        guard let number = Int(text), range.contains(number) else {
            let isOpen = range.upperBound == .max
            let bounds = isOpen ? "at least \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw error("\(source(of: name)): '\(text.escapedForDisplay)' is out of range; it must be \(bounds)")
        }
        return number
    }

    /// The case that a value names, or nothing when there is neither a value nor a default. The flag's choices must be
    /// those of the type, or fewer.
    func choice<Choice: FlagChoice>(_ name: String, as type: Choice.Type = Choice.self) -> Choice? {
        string(name).flatMap { value in Choice.allCases.first { $0.flagValue == value } }
    }

    /// An error about this command line, for what only the command can check.
    func error(_ message: String) -> UsageError { UsageError(message, command: command) }

    /// What to call the place where a value stands: the flag, the variable, or the line of a file.
    func source(of name: String) -> String {
        switch setting(name)?.origin {
        case .commandLine, nil: flag(name).spelling
        case .variable(let variable): variable
        case .file(let place), .remote(_, let place): "\(place): \(name)"
        }
    }

    private func rejection(of text: String, for name: String, _ fault: QuantityFault, _ wanted: String) -> UsageError {
        error(Flag.phrase(for: fault, of: text, from: source(of: name), wanted))
    }

    private func flag(_ name: String) -> Flag {
        guard let flag = command.flag(named: name) else {
            // Trap: flags are asked for by names that stand in this program.
            preconditionFailure("the command '\(command.name)' has no flag '\(name)'")
        }
        return flag
    }
}
