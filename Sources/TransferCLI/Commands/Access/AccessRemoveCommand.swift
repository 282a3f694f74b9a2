private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access remove`: takes a key out.
struct AccessRemoveCommand {
    private let folder: AccessFolder
    private let wanted: String

    /// - Throws: `UsageError` unless there is one operand.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = try arguments.accessFolder
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
