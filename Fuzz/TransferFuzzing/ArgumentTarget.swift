import TransferAccess
import TransferCLI
import TransferClient
import TransferModel

/// Input: task (1 byte), texts with a NUL after each.
enum ArgumentTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let task = input.byte() % 4
        let texts = input.texts()
        switch task {
        case 0: try readArguments(texts)
        case 1: for text in texts { try readQuantities(text) }
        case 2: for text in texts { try readAddress(text) }
        default: for text in texts { try show(text) }
        }
    }

    /// Messages about wrong arguments can be shown, and every flag of valid arguments can be read in every way.
    private static func readArguments(_ texts: [String]) throws(Finding) {
        let environment = texts.last ?? ""
        let sources = SettingSources(
            variable: { _ in environment.isEmpty ? nil : environment }, userFile: nil, content: { _ in nil })
        do throws(UsageError) {
            let invocation = try Invocation(texts, sources: sources)
            guard case .run(let arguments) = invocation else { return }
            for flag in arguments.command.flags { ask(arguments, flag) }
        } catch {
            try require(shown: String(error.report.dropLast()), isOneLine: false)
        }
    }

    private static func ask(_ arguments: ParsedArguments, _ flag: Flag) {
        for value in arguments.values(of: flag) {
            _ = try? arguments.size(value, of: flag)
            _ = try? arguments.duration(value, of: flag)
            _ = try? arguments.count(value, of: flag, in: 1...16)
        }
    }

    private static func readQuantities(_ text: String) throws(Finding) {
        if let size = try? SizeNotation.bytes(text) {
            try require(size <= SizeNotation.largest, "'\(text)' is \(size) bytes.")
            try require((try? SizeNotation.bytes("\(size)")) == size, "\(size) bytes are not read again.")
        }
        if let seconds = try? DurationNotation.seconds(text) {
            try require(seconds >= 0 && seconds <= DurationNotation.longest, "'\(text)' is \(seconds) s.")
        }
    }

    private static func readAddress(_ text: String) throws(Finding) {
        if let place = ServerPlace(text) {
            let again = ServerPlace(place.target)
            try require(again?.path == place.path, "'\(text)' is '\(place.target)', which is another place.")
        }
        guard let address = ServerAddress(text) else { return }
        try require(ServerAddress(address.description) == address, "'\(text)' is '\(address)', which is another.")
    }

    private static func show(_ text: String) throws(Finding) {
        try require(shown: text.escapedForDisplay)
        try require(shown: JSONValue.string(text).text)
        if let path = try? RelativePath(text) { try require(shown: path.description) }
    }
}
