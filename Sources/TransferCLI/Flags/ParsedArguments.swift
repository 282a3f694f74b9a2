private import TransferAccess
private import TransferProtocol

/// What the command line says, with the environment's and the table's defaults filled in.
///
/// The command line wins over the environment, and both win over the table. Asking for a flag that the command doesn't
/// have is a mistake in this program and traps.
package struct ParsedArguments: Sendable {
    package let command: Command

    /// What is not a flag, in order.
    let operands: [String]

    private let given: [String: [String]]
    private let order: [(flag: String, value: String)]
    private let inherited: [String: String]

    init(
        command: Command, operands: [String], given: [String: [String]],
        order: [(flag: String, value: String)], inherited: [String: String]
    ) {
        self.command = command
        self.operands = operands
        self.given = given
        self.order = order
        self.inherited = inherited
    }

    /// Whether the command line or the environment gives the flag.
    func isSet(_ name: String) -> Bool {
        let flag = flag(name)
        return given[flag.name] != nil || inherited[flag.name] != nil
    }

    /// The value, or nothing when there is neither one given nor a default.
    package func string(_ name: String) -> String? { strings(name).last }

    /// Every value of a repeatable flag in order; the default alone when none is given.
    package func strings(_ name: String) -> [String] {
        let flag = flag(name)
        return given[flag.name] ?? (inherited[flag.name] ?? flag.defaultValue).map { [$0] } ?? []
    }

    /// The values of several flags that the command line gives, in the order in which they stand there.
    func inOrder(_ names: [String]) -> [(flag: String, value: String)] {
        let names = names.map { flag($0).name }
        return order.filter { names.contains($0.flag) }
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
            throw rejection(of: text, for: name, error, "a size; write it like 500, 64K, 1.5G or 10MB")
        }
    }

    /// A time in seconds; see `DurationNotation`.
    package func duration(_ name: String) throws(UsageError) -> Double {
        let text = try requiredString(name)
        do throws(QuantityFault) {
            return try DurationNotation.seconds(text)
        } catch {
            throw rejection(of: text, for: name, error, "a duration; write it like 500ms, 20s, 5m, 2h or 7d")
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

    /// What to call the place where a value stands: the flag, or the variable that it was taken from.
    func source(of name: String) -> String {
        let flag = flag(name)
        guard inherited[flag.name] != nil, let variable = flag.environment else { return flag.spelling }
        return variable
    }

    private func rejection(of text: String, for name: String, _ fault: QuantityFault, _ wanted: String) -> UsageError {
        let text = text.escapedForDisplay
        return switch fault {
        case .malformed: error("\(source(of: name)): '\(text)' is not \(wanted)")
        case .tooLarge: error("\(source(of: name)): '\(text)' is too large")
        }
    }

    private func flag(_ name: String) -> Flag {
        guard let flag = command.flag(named: name) else {
            preconditionFailure("the command '\(command.name)' has no flag '\(name)'")
        }
        return flag
    }
}
