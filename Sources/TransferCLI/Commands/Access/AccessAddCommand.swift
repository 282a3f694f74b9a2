private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access add`: lets a client in by its key.
struct AccessAddCommand {
    private let folder: AccessFolder
    private let entry: AuthorizedKey

    /// - Throws: `UsageError` unless there is one key and it can be read.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = try arguments.accessFolder
        let now = UTCTime.now
        var options = try arguments.accessOptions(at: now)
        options.expires = try arguments.expiry(at: now)
        // Without quotes, the shell makes three words or more of the line.
        let line = arguments.operands.joined(separator: " ")
        let name = try arguments.string("name").map { (text) throws(UsageError) in try arguments.accessName(text) }
        do throws(AccessFault) {
            let shown = try AuthorizedKey(line: name.map { "\(line) \($0)" } ?? line)
            guard shown.options == AccessOptions() else {
                throw AccessFault("bounds are given as flags, not by whoever made the line")
            }
            entry = AuthorizedKey(shown.key, name: name ?? shown.name, options: options)
        } catch {
            throw arguments.error("'\(line.escapedForDisplay)' is no line of 'transfer key': \(error.message)")
        }
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            try folder.make()
            try folder.admit(entry)
            StandardStream.error.write("'\(entry.name)' may push: \(AccessOutput.bounds(entry.options, at: .now)).\n")
            return .success
        }
    }
}
