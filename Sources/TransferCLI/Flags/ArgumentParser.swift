private import TransferProtocol

/// Reads the arguments of a command by its table of flags, as `getopt_long` would: flags and operands mixed, `--`
/// ends the flags, a lone `-` is an operand, and short switches may be joined.
struct ArgumentParser {
    private let command: Command
    private var remaining: ArraySlice<String>
    private var values: [String: [String]] = [:]
    private var order: [(flag: String, value: String)] = []
    private var operands: [String] = []

    /// Reads the arguments that follow the command's name.
    ///
    /// - Parameter environment: The variables that the command's flags name; empty ones count as absent.
    /// - Throws: `UsageError` for unknown flags and values, missing values, values of switches, and operands where
    ///   none are taken.
    static func parse(
        _ arguments: [String], command: Command, environment: [String: String]
    ) throws(UsageError) -> ParsedArguments {
        var parser = ArgumentParser(command: command, remaining: arguments[...])
        while let argument = parser.remaining.popFirst() { try parser.take(argument) }
        let inherited = try parser.inherit(environment)
        return ParsedArguments(
            command: command, operands: parser.operands, given: parser.values, order: parser.order, inherited: inherited
        )
    }

    private init(command: Command, remaining: ArraySlice<String>) {
        self.command = command
        self.remaining = remaining
    }

    private mutating func take(_ argument: String) throws(UsageError) {
        if argument == "--" {
            while let operand = remaining.popFirst() { try take(operand: operand) }
        } else if argument.hasPrefix("--") {
            try take(long: argument.dropFirst(2))
        } else if argument.hasPrefix("-"), argument != "-" {
            try take(shorts: argument.dropFirst())
        } else {
            try take(operand: argument)
        }
    }

    private mutating func take(operand: String) throws(UsageError) {
        guard command.operands != nil else {
            throw error("unexpected operand '\(operand.escapedForDisplay)'")
        }
        operands.append(operand)
    }

    private mutating func take(long text: Substring) throws(UsageError) {
        // As bytes: an accent at the start of the value would join the sign to one character.
        let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = Substring(parts[0])
        guard let flag = command.flag(named: name) else { throw unknown("--\(name)") }
        guard flag.isSwitch else {
            return try add(parts.count == 2 ? String(Substring(parts[1])) : nextValue(of: flag.spelling), to: flag)
        }
        guard parts.count == 1 else { throw error("'\(flag.spelling)' takes no value") }
        values[flag.name] = [""]
    }

    private mutating func take(shorts text: Substring) throws(UsageError) {
        var letters = text
        while let letter = letters.popFirst() {
            guard let flag = command.flag(short: letter) else { throw unknown("-\(letter)") }
            guard flag.isSwitch else {
                return try add(letters.isEmpty ? nextValue(of: "-\(letter)") : String(letters), to: flag)
            }
            values[flag.name] = [""]
        }
    }

    private mutating func nextValue(of spelling: String) throws(UsageError) -> String {
        guard let value = remaining.popFirst() else { throw error("'\(spelling)' needs a value") }
        return value
    }

    private mutating func add(_ value: String, to flag: Flag) throws(UsageError) {
        try check(value, of: flag, source: "'\(flag.spelling)'")
        values[flag.name] = flag.isRepeatable ? values[flag.name, default: []] + [value] : [value]
        order.append((flag.name, value))
    }

    /// A wrong variable does no harm where its flag is given.
    private func inherit(_ environment: [String: String]) throws(UsageError) -> [String: String] {
        var inherited: [String: String] = [:]
        for flag in command.flags where values[flag.name] == nil {
            guard let variable = flag.environment, let value = environment[variable], !value.isEmpty else { continue }
            try check(value, of: flag, source: variable)
            inherited[flag.name] = value
        }
        return inherited
    }

    private func check(_ value: String, of flag: Flag, source: String) throws(UsageError) {
        guard let choices = flag.choices, !choices.contains(value) else { return }
        let suggestion = Suggestion.phrase(for: value, among: choices)
        let list = "; choose \(choices.joined(separator: ", "))"
        throw error(
            "unknown value '\(value.escapedForDisplay)' for \(source)" + (suggestion.isEmpty ? list : suggestion))
    }

    private func unknown(_ spelling: String) -> UsageError {
        let suggestion = Suggestion.phrase(for: spelling, among: command.flags.map(\.spelling))
        return error("unknown flag '\(spelling.escapedForDisplay)'" + suggestion)
    }

    private func error(_ message: String) -> UsageError { UsageError(message, command: command) }
}
