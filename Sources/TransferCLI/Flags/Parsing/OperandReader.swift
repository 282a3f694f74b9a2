private import TransferAccess
private import TransferClient
private import TransferModel

/// Finds the operands that name a server. If such an operand is in the wrong place, suggests a correct command line.
struct OperandReader {
    /// The result of reading the operands.
    struct Reading {
        /// The operands for the command; an operand that names a server is reduced to its path.
        var operands: [String]

        /// The indices of operands that name a server.
        var places: Set<Int> = []

        /// Settings that operands make in place of flags.
        var settings: [String: Setting] = [:]
    }

    private let command: Command
    private let line: CommandLineText
    private let operands: [String]
    private let places: [ServerPlace?]

    /// The settings of the command line.
    private let given: [String: Setting]

    init(_ command: Command, _ line: CommandLineText, _ operands: [String], _ given: [String: Setting]) {
        (self.command, self.line, self.operands, self.given) = (command, line, operands, given)
        places = command.places == .none ? [] : operands.map { ServerPlace($0) }
    }

    func read() throws(UsageError) -> Reading {
        try checkUsers()
        if command.places == .server { try checkServer() }
        guard let server = command.serverFlag, let first = named.first else {
            return Reading(operands: operands)
        }
        try checkForm()
        guard named.allSatisfy({ $0.serverName.hasSameBytes(as: first.serverName) }) else {
            throw error("the operands name several servers; give one")
        }
        guard !isGiven(server) else { throw doubled(server) }
        var reading = Reading(
            operands: zip(operands, places).map { $1?.path ?? $0 },
            places: Set(places.indices.filter { places[$0] != nil }),
            settings: [server.name: Setting(values: [first.server], origin: .operand)])
        switch command.places {
        case .none, .all, .any: break
        case .server, .target:
            reading.operands.removeLast()
            reading.places = []
            reading.settings[server.name] = Setting(values: [first.target], origin: .operand)
        case .sources(let flag):
            guard places.last == .some(nil), let place = reading.operands.popLast() else { break }
            guard !isGiven(flag) else {
                throw error(
                    "both '\(place.escapedForDisplay)' and \(flag.spelling) name the target; give one of them"
                )
            }
            reading.settings[flag.name] = Setting(values: [place], origin: .operand)
        }
        return reading
    }

    private var named: [ServerPlace] { places.compactMap(\.self) }

    private func isGiven(_ flag: Flag) -> Bool { !(given[flag.name]?.values.isEmpty ?? true) }

    /// Refuses `USER@HOST`, which scp accepts, because servers identify users by their keys.
    private func checkUsers() throws(UsageError) {
        for index in places.indices where places[index] == nil {
            let user = operands[index].utf8.prefix { !"@:/".utf8.contains($0) }
            let rest = operands[index].utf8[user.endIndex...]
            guard rest.first == UInt8(ascii: "@") else { continue }
            let text = String(Substring(rest.dropFirst()))
            guard ServerPlace(text) != nil else { continue }
            let what =
                "'\(operands[index].escapedForDisplay)' contains a user name, but servers identify users by "
                + "their keys"
            throw error(what, write: line.replacing(index, with: text))
        }
    }

    /// Checks that at most one operand is given, and that it is a server.
    private func checkServer() throws(UsageError) {
        if let index = places.firstIndex(of: nil) {
            let text = operands[index]
            let what = "unexpected operand '\(text.escapedForDisplay)'"
            guard operands.count == 1, Remote.isName(text), !Self.mayHaveSecret(text) else { throw error(what) }
            throw error(what, write: line.replacing(index, with: "\(text):"), to: "ask a server of that name")
        }
        guard operands.count <= 1 else { throw error("\(command.name) takes one server") }
    }

    /// Checks that operands with servers are only where the command allows them.
    private func checkForm() throws(UsageError) {
        let names = operands.indices.filter { places[$0] == nil }
        switch command.places {
        case .none, .any, .server: break
        case .target:
            guard let source = places.dropLast().firstIndex(where: { $0 != nil }) else { return }
            throw notHere(source)
        case .sources:
            let isLast = places.last.flatMap(\.self) != nil
            guard !isLast || names.count != operands.count - 1 || names.isEmpty else {
                throw error("pull cannot send", write: CommandLineText(PushCommand.definition, operands), to: "send")
            }
            try checkAll(isLast ? names : names.filter { $0 != operands.count - 1 })
        case .all: try checkAll(names)
        }
    }

    /// - Parameter names: the indices of operands that should name a server, but do not.
    private func checkAll(_ names: [Int]) throws(UsageError) {
        guard let first = names.first, let place = named.first else { return }
        let mended = names.reduce(line) { $0.replacing($1, with: place.beside(operands[$1])) }
        throw error("'\(operands[first].escapedForDisplay)' names no server, but other operands do", write: mended)
    }

    /// The error for a source of a push that is on a server.
    private func notHere(_ index: Int) -> UsageError {
        let text = operands[index]
        let what = "'\(text.escapedForDisplay)' is on a server, but \(command.name) sends local files"
        if places.last.flatMap(\.self) == nil, places.dropLast().allSatisfy({ $0 != nil }), Self.isPath(text) {
            return error(what, write: CommandLineText(PullCommand.definition, operands), to: "fetch")
        }
        guard named.count > 1 || !Self.isPath(text) else {
            return error("the target must be the last operand", write: line.moving(index))
        }
        return error(what, write: line.replacing(index, with: "./\(text)"), to: "send a file of that name")
    }

    /// The error if both an operand and the flag name a server.
    private func doubled(_ flag: Flag) -> UsageError {
        let index = places.firstIndex { $0 != nil } ?? 0
        let what = "both '\(operands[index].escapedForDisplay)' and \(flag.spelling) name a server"
        guard command.places == .target, !Self.isPath(operands[index]) else {
            return error(what, write: line.without(flag))
        }
        return error(what, write: line.replacing(index, with: "./\(operands[index])"), to: "send a file of that name")
    }

    /// Whether a text can contain a pairing code or a password, even a cut or mistyped one. Such texts are not printed.
    static func mayHaveSecret(_ text: String) -> Bool {
        let isLink = text.utf8.starts(with: TransferLink.scheme.utf8) && text.utf8.contains(UInt8(ascii: "#"))
        return isLink || ArgumentSecrets.isSecret(in: text) || ServerAddress.isURL(text)
    }

    /// Whether the text is more likely a path on a server than a local file with a colon in its name.
    private static func isPath(_ text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: "/")) || text.utf8.last == UInt8(ascii: ":")
    }

    private func error(_ what: String) -> UsageError { UsageError(what, command: command) }

    /// - Parameter purpose: the purpose of the suggested command line, for the message.
    private func error(_ what: String, write line: CommandLineText, to purpose: String? = nil) -> UsageError {
        guard !operands.contains(where: Self.mayHaveSecret) else {
            return error("an operand names a server where none is allowed, or lacks one where it is required")
        }
        return error("\(what); \(purpose.map { "to \($0), " } ?? "")write: \(line.text)")
    }
}
