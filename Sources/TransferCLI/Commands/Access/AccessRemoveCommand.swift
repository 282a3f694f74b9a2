private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access remove`: removes a key from the list, or ends the session of a browser.
struct AccessRemoveCommand {
    private let place: AccessPlace
    private let wanted: String

    /// - Throws: `UsageError` unless there is exactly one operand.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        place = AccessPlace(arguments)
        wanted = try arguments.onlyOperand("one name, fingerprint, key or id")
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.requireUsed()
            let pattern = KeyPattern(wanted)
            let matches = { (key: AuthorizedKey) in pattern?.matches(key.key) ?? (key.name == wanted) }
            let found = try lists.keys.get().entries.filter(matches)
            let sessions = try lists.tokens.get().entries.filter {
                $0.kind == .session && ($0.id.hasSameBytes(as: wanted) || $0.name.hasSameBytes(as: wanted))
            }
            guard found.count + sessions.count <= 1 else {
                let ids = (found.map(\.key.fingerprint) + sessions.map(\.id)).joined(separator: ", ")
                throw AccessFault("Several have that name; give one of these: \(ids)")
            }
            if let session = sessions.first { return try end(session, in: lists) }
            guard let key = found.first, try !lists.expel(where: { $0.key == key.key }).isEmpty else {
                throw AccessFault("There is no key and no session '\(wanted.escapedForDisplay)' in the list.")
            }
            StandardStream.error.write("The key of '\(key.name)' was removed.\n")
            return .success
        }
    }

    private func end(_ session: AccessToken, in lists: any AccessLists) throws(AccessFault) -> ExitCode {
        guard try !lists.revoke(where: { $0.id == session.id }).isEmpty else {
            throw AccessFault("The session '\(session.name)' has ended already.")
        }
        StandardStream.error.write("The session '\(session.name)' (\(session.id)) has ended.\n")
        return .success
    }
}

extension AccessRemoveCommand: ProgramCommand {
    static let definition = Command(
        name: "access remove", summary: "Revoke a client's key, or end a browser's session.",
        operands: "NAME|KEY|ID",
        description: [
            "Removes a key by its name, its fingerprint or the key itself, or a session by its name or "
                + "ID. If its client is connected, its next upload is refused, and downloads break off."
        ],
        flags: AccessPlace.flags + [.insecurePermissions, .help],
        examples: [.init(caption: "Revoke the access of a laptop", line: "transfer access remove laptop")],
        outcomes: AccessFlags.outcomes)
}
