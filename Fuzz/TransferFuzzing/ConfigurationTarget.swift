import TransferCLI
import TransferClient
import TransferModel

/// Input: the bytes of a configuration file.
enum ConfigurationTarget {
    private static let path = "/etc/config.toml"
    private static let home = "/home/me"

    /// Path of the added table: no other table of the file can have this name.
    private static let added = ["remote", "added-by-fuzzing"]

    static func run(_ bytes: [UInt8]) throws(Finding) {
        switch Result(catching: { () throws(TOMLFault) in try TOMLDocument(bytes) }) {
        case .failure(let fault):
            try require(shown: fault.message)
            try require(fault.line > 0 && fault.column > 0, "A fault is nowhere.")
            try require(fault.line <= bytes.count { $0 == UInt8(ascii: "\n") } + 1, "A fault is behind the end.")
        case .success(let document):
            for table in document.tables { try write(table) }
            try add(to: document, bytes)
            for table in document.tables.dropFirst() { try remove(table, from: document, bytes) }
        }
        try readSettings(bytes)
    }

    /// A written value is read as an equal value.
    private static func write(_ table: TOMLDocument.Table) throws(Finding) {
        for entry in table.entries {
            let again = try? TOMLDocument(Array("key = \(entry.value.text)".utf8))
            try require(
                again?.tables.first?.entries.first?.value == entry.value, "\(entry.value.text) is another value.")
        }
    }

    /// Adding a table changes no other table, and removing it restores the file.
    private static func add(to document: TOMLDocument, _ bytes: [UInt8]) throws(Finding) {
        let changed = TOMLEditing.adding(added, [("address", .string("h"))], to: bytes)
        guard document[added] == nil, let more = try? TOMLDocument(changed) else {
            let isInTheWay = document[added] != nil || document[[]]?.entries.contains { $0.key == "remote" } == true
            let isValue = document[["remote"]]?.entries.contains { $0.key == added[1] } == true
            return try require(isInTheWay || isValue, "A table cannot be added.")
        }
        try require(Array(more.tables.dropLast()) == document.tables, "Adding a table changed another.")
        guard let table = more.tables.last else { return }
        let ended = bytes.isEmpty || bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
        try require(TOMLEditing.removing(table, from: changed) == ended, "Removing a table is not to add none.")
    }

    /// Removing a table leaves all other tables as they are.
    private static func remove(
        _ table: TOMLDocument.Table, from document: TOMLDocument, _ bytes: [UInt8]
    ) throws(Finding) {
        guard let less = try? TOMLDocument(TOMLEditing.removing(table, from: bytes)) else {
            throw Finding("Without \(table.path) nothing can be read.")
        }
        let rest = document.tables.filter { $0.path != table.path }
        try require(less.tables.map(\.path) == rest.map(\.path), "Removing a table moved another.")
        for (table, before) in zip(less.tables, rest) {
            try require(table.entries.map(\.key) == before.entries.map(\.key), "Removing a table changed a key.")
            try require(table.entries.map(\.value) == before.entries.map(\.value), "Removing a table changed a value.")
        }
    }

    /// Messages about a wrong file can be shown, and commands receive the settings of a valid one.
    private static func readSettings(_ bytes: [UInt8]) throws(Finding) {
        switch Result(catching: { () throws(ConfigurationFault) in
            try ConfigurationFile(bytes, path: path, home: home)
        }) {
        case .failure(let fault): try require(shown: fault.message)
        case .success(let file):
            let name = file.remotes.first?.name ?? "none"
            try run(["push", "--to", "\(name):/folder"], bytes, remote: file.remotes.first)
            try run(["serve"], bytes, remote: nil)
        }
    }

    private static func run(_ arguments: [String], _ bytes: [UInt8], remote: Remote?) throws(Finding) {
        let sources = SettingSources(environment: ["HOME": home], file: (path, bytes))
        let invocation: Invocation
        do throws(UsageError) {
            invocation = try Invocation(arguments, sources: sources)
        } catch {
            throw Finding("What was read before is wrong now: \(error.report)")
        }
        guard case .run(let parsed) = invocation else { return }
        let (taken, wanted) = (parsed.remote.debugDescription, remote.debugDescription)
        try require(parsed.remote == remote, "\(arguments) took \(taken), not \(wanted).")
        for flag in parsed.command.flags {
            try require(parsed.values(of: flag).allSatisfy { !$0.utf8.contains(0) }, "A value has a NUL in it.")
        }
        guard let remote else { return }
        let server = remote.server("folder")
        try require(server.server == remote.address.server, "A folder leads to another server.")
    }
}
