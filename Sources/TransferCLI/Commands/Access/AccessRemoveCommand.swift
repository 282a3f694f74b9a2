private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access remove`: takes a key out.
struct AccessRemoveCommand {
    private let folder: AccessFolder
    private let wanted: String

    /// - Throws: `UsageError` unless there is one operand.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = AccessFlags.folder(arguments)
        wanted = try arguments.onlyOperand("one name, fingerprint or key")
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let pattern = KeyPattern(wanted)
            let matches = { (key: AuthorizedKey) in pattern?.matches(key.key) ?? (key.name == wanted) }
            let list = try folder.list(AccessFolder.keysName, of: AuthorizedKey.self)
            let found = list.entries.filter(matches)
            guard found.count <= 1 else {
                let keys = found.map(\.key.fingerprint).joined(separator: ", ")
                throw AccessFault("There are several keys of that name; give one of these: \(keys)")
            }
            guard let key = found.first, try !folder.expel(where: { $0.key == key.key }).isEmpty else {
                throw AccessFault("There is no key '\(wanted.escapedForDisplay)' in the list.")
            }
            StandardStream.error.write("'\(key.name)' may push no longer.\n")
            return .success
        }
    }
}

extension AccessRemoveCommand: ProgramCommand {
    static let definition = Command(
        name: "access remove", summary: "Let a client push no longer.", operands: "NAME|KEY",
        description: [
            "Takes a key out by its name, its fingerprint or the key itself. If its client is connected, its next upload is "
                + "refused."
        ],
        flags: [AccessFlags.directory.flag, .help],
        examples: [.init(caption: "Shut a laptop out", line: "transfer access remove laptop")],
        outcomes: AccessFlags.outcomes)
}
