private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access add`: lets a client in by its key.
struct AccessAddCommand {
    private let place: AccessPlace
    private let entry: AuthorizedKey

    /// - Throws: `UsageError` unless there is exactly one key and it can be read.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        place = AccessPlace(arguments)
        var options = try AccessFlags.options(arguments)
        options.expires = try arguments[AccessFlags.expires]
        // If the user does not quote the line, the shell splits it into three words or more.
        let line = arguments.operands.joined(separator: " ")
        let name = try arguments[Self.name]
        do throws(AccessFault) {
            let shown = try AuthorizedKey(line: name.map { "\(line) \($0)" } ?? line)
            guard shown.options == AccessOptions() else {
                throw AccessFault("limits are set with flags, not in the line")
            }
            entry = AuthorizedKey(shown.key, name: name ?? shown.name, options: options)
        } catch {
            throw arguments.error("'\(line.escapedForDisplay)' is not a line of 'transfer key': \(error.message)")
        }
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.make()
            try lists.admit(entry)
            StandardStream.error.write("'\(entry.name)' may push: \(AccessOutput.bounds(entry.options, at: .now)).\n")
            return .success
        }
    }
}

extension AccessAddCommand: ProgramCommand {
    private static let name = AccessFlags.name("Use NAME instead of the name in the line.")

    static let definition = Command(
        name: "access add", summary: "Authorise a client by its key.", operands: "KEY",
        description: [
            "KEY is the line that 'transfer key' prints on the client: ed25519, the key and a name. A "
                + "running server applies it at once."
        ],
        flags: AccessPlace.flags + [name.flag] + AccessFlags.bounds + [
            AccessFlags.noRemove.flag, AccessFlags.expires.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(
                caption: "Allow a camera to push to one folder, 20 GiB in all",
                line: "transfer access add --folder camera --quota 20G 'ed25519 AAAA...= camera'")
        ],
        outcomes: AccessFlags.outcomes)
}
