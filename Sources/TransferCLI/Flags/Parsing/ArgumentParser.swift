private import TransferModel

/// Parses the arguments of a command like `getopt_long`: flags and operands can be mixed, `--` ends the flags, a lone
/// `-` is an operand, and short switches can be joined. `--no-FLAG` overrides the environment, files and earlier
/// arguments.
struct ArgumentParser {
    private let command: Command
    private var remaining: ArraySlice<String>
    private var values: [String: [String]] = [:]
    private var order: [(flag: String, value: String)] = []
    private var operands: [String] = []
    /// The positions of the operands among the arguments.
    private var positions: [Int] = []

    /// Parses the arguments after the command's name, and finds the values of flags that are not among them.
    ///
    /// - Throws: `UsageError` for unknown flags and values, missing values, values of switches, unexpected operands,
    ///   and faults of variables and files that are used.
    static func parse(
        _ arguments: [String], command: Command, sources: SettingSources
    ) throws(UsageError) -> ParsedArguments {
        var parser = ArgumentParser(command: command, remaining: arguments[...])
        while let argument = parser.remaining.popFirst() { try parser.take(argument) }
        var given = parser.values.mapValues { Setting(values: $0, origin: .commandLine) }
        let line = CommandLineText(command.invocation, arguments, operandsAt: parser.positions)
        let isHelp = given[Flag.help.name] != nil
        if !isHelp { try parser.refuseEmptyOperands() }
        let reading =
            isHelp
            ? OperandReader.Reading(operands: parser.operands)
            : try OperandReader(command, line, parser.operands, given).read()
        given.merge(reading.settings) { _, operand in operand }
        var resolver = SettingResolver(command, given, sources)
        // Help is available even if the configuration has faults.
        let remote = isHelp ? nil : try resolver.resolve()
        return ParsedArguments(
            command: command, operands: reading.operands, places: reading.places, words: parser.operands,
            settings: resolver.settings, order: parser.order, remote: remote, remotes: resolver.remotes)
    }

    /// Parses without a configuration file.
    static func parse(
        _ arguments: [String], command: Command, environment: [String: String]
    ) throws(UsageError) -> ParsedArguments {
        try parse(arguments, command: command, sources: SettingSources(environment: environment))
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
        positions.append(remaining.startIndex - 1)
        operands.append(operand)
        guard command.takesCommandLine else { return }
        operands += remaining
        remaining = []
    }

    /// Refuses empty operands: in a script, an unset variable leads to one, and it would mean the top folder of the
    /// server.
    private func refuseEmptyOperands() throws(UsageError) {
        if let flag = command.flagForEmptyOperands, values[flag.name] != nil { return }
        guard !command.takesCommandLine, let index = operands.firstIndex(of: "") else { return }
        throw error(
            "operand \(index + 1) is empty; is a script variable unset? For the folder itself write '.'")
    }

    private mutating func take(long text: Substring) throws(UsageError) {
        // The argument is split by bytes: as characters, a combining mark at the start of the value would join with the
        // `=`.
        let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        let name = Substring(parts[0])
        guard let flag = command.flag(named: name) else { return try take(negated: name, hasValue: parts.count == 2) }
        if parts.count == 1, let bare = flag.bareValue { return try add(bare, to: flag) }
        guard flag.isSwitch else {
            return try add(parts.count == 2 ? String(Substring(parts[1])) : nextValue(of: flag.spelling), to: flag)
        }
        guard parts.count == 1 else { throw error("'\(flag.spelling)' takes no value") }
        values[flag.name] = [Setting.on]
    }

    private mutating func take(negated name: Substring, hasValue: Bool) throws(UsageError) {
        guard name.utf8.starts(with: "no-".utf8), let flag = command.flag(named: Substring(name.utf8.dropFirst(3))),
            flag.reach != .nowhere
        else { throw unknown("--\(name)") }
        guard !hasValue else { throw error("'--\(name)' takes no value") }
        values[flag.name] = []
        order.removeAll { $0.flag == flag.name }
    }

    private mutating func take(shorts text: Substring) throws(UsageError) {
        var letters = text
        while let letter = letters.popFirst() {
            guard let flag = command.flag(short: letter) else { throw unknown("-\(letter)") }
            guard flag.isSwitch else {
                return try add(letters.isEmpty ? nextValue(of: "-\(letter)") : String(letters), to: flag)
            }
            values[flag.name] = [Setting.on]
        }
    }

    private mutating func nextValue(of spelling: String) throws(UsageError) -> String {
        guard let value = remaining.popFirst() else { throw error("'\(spelling)' needs a value") }
        return value
    }

    private mutating func add(_ value: String, to flag: Flag) throws(UsageError) {
        if value.isEmpty, flag.value.isPlace {
            throw error("'\(flag.spelling)' has an empty value; is a script variable unset?")
        }
        if let fault = flag.fault(of: value, from: flag.spelling) { throw error(fault) }
        values[flag.name] = flag.isRepeatable ? values[flag.name, default: []] + [value] : [value]
        order.append((flag.name, value))
    }

    private func unknown(_ spelling: String) -> UsageError {
        var spellings = command.flags.map(\.spelling)
        if spelling.hasPrefix("--no-") { spellings += command.flags.map { "--no-\($0.name)" } }
        let suggestion = Suggestion.phrase(for: spelling, among: spellings)
        return error("unknown flag '\(spelling.escapedForDisplay)'" + suggestion)
    }

    private func error(_ message: String) -> UsageError { UsageError(message, command: command) }
}
